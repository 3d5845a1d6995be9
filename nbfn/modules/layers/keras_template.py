"""Keras layers as templates: built once without storage, with a description of their variables.

A Keras layer owns its variables. Here they are created in graphs that never run, so they have
names, shapes and initial-value functions but no memory. One such layer serves every module with the
same configuration. The values come from the module's scope, see ``keras_layer``.
"""

from __future__ import annotations

import random
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from nbfn.modules.errors import PartError
from nbfn.modules.variables.tree import map_leaves

_CACHE_SIZE = 512
_VARIABLE_OPTIONS = ("initial_value", "trainable", "name", "dtype", "shape")
_LOOKUPS = (
    keras.layers.TextVectorization,
    keras.layers.StringLookup,
    keras.layers.IntegerLookup,
)
# Reentrant: `cached_template` builds under it, and building takes it for `random`.
_lock = threading.RLock()
_cache: OrderedDict[Hashable, LayerTemplate] = OrderedDict()


@dataclass(frozen=True)
class Slot:
    """A variable of a layer, and its place below the module.

    Attributes:
      variable: the Keras variable.
      collection: ``"params"`` if trainable; else the module's choice, or ``"metrics"``.
      path: names from the module to the variable, such as ``("query", "kernel")``.
      initial: returns its initial value.
    """

    variable: Any
    collection: str
    path: tuple[str, ...]
    initial: Callable[[], Any]


@dataclass(frozen=True)
class LayerTemplate:
    """A built layer whose variables' values are stored elsewhere.

    Attributes:
      layer: the Keras layer or model.
      slots: each variable except the states of seed generators, by ``id(variable)``.
      lookups: the layers inside that have lookup tables.
    """

    layer: Any
    slots: dict[int, Slot]
    lookups: tuple[Any, ...]

    def __deepcopy__(self, _: Any) -> LayerTemplate:
        """Returns itself: it holds no values, and identifies its variables by identity."""
        return self


def is_seed_state(variable: Any) -> bool:
    """Returns whether a Keras variable is the state of a seed generator."""
    # The name that `keras.random.SeedGenerator` gives; nothing else marks it (Keras 3.15).
    return bool(variable.name == "seed_generator_state")


def has_own_state(layer: Any) -> bool:
    """Returns whether a layer has state beyond its config: weights, or an adapted vocabulary."""
    return bool(layer.built or layer.weights or isinstance(layer, _LOOKUPS))


def unbuilt_copy(layer: Any) -> Any:
    """Returns a copy of a layer from its config, to be built; or the layer itself if it has state.

    Raises:
      PartError: parts of it have weights and others have none yet.
    """
    if isinstance(layer, keras.Sequential) and not layer.built:
        return keras.models.clone_model(layer, clone_function=unbuilt_copy)
    if layer.weights and not layer.built:
        raise PartError(
            f"{type(layer).__name__} has weights in some of its layers only, so it can neither be "
            "copied nor built in its place. Build it first: call it once with an input."
        )
    if has_own_state(layer):
        return layer
    # `safe_mode` would refuse a Lambda's function, which here comes from the user's own layer.
    unsafe = {"safe_mode": False} if isinstance(layer, keras.layers.Lambda) else {}
    return type(layer).from_config(layer.get_config(), **unsafe)


def build(
    factory: Callable[[], Any], collection: str, seed: int, args: Sequence[Any], kwargs: Any
) -> LayerTemplate:
    """Constructs a layer and builds it for the inputs.

    Args:
      factory: makes the layer; initial values are drawn from ``seed`` alone.
      collection: the collection of variables that are not trainable.
      seed: a non-negative integer.
      args: the inputs, of which only shapes and dtypes matter.
      kwargs: likewise; anything but tensors is passed on.
    """
    with _lock:
        # Keras draws the default seed of each initializer from Python's `random` (Keras 3.15).
        state = random.getstate()
        try:
            random.seed(seed)
            try:
                layer, initial_values = _build(factory, args, kwargs, stored=False)
            except TypeError:
                # Some layers compute with their variables in `build`, which needs real variables: a
                # tensor of another graph is "out of scope" (TypeError, TensorFlow 2.21).
                random.seed(seed)
                layer, initial_values = _build(factory, args, kwargs, stored=True)
        finally:
            random.setstate(state)
    return _template_of(layer, collection, initial_values)


def _template_of(layer: Any, collection: str, initial_values: dict[int, Any]) -> LayerTemplate:
    slots, names = dict[int, Slot](), _Names(layer)
    variables = (*layer.variables, *_recurrent_states(layer))
    kinds = [(v, "params" if v.trainable else collection) for v in variables]
    for variable, kind in (*kinds, *((v, "metrics") for v in layer.metrics_variables)):
        if not is_seed_state(variable) and id(variable) not in slots:
            initial = _initial(variable, initial_values)
            slots[id(variable)] = Slot(variable, kind, names.place(variable), initial)
    # Keras has no public list of all layers within a layer (Keras 3.15).
    lookups = tuple(each for each in layer._flatten_layers() if isinstance(each, _LOOKUPS))
    return LayerTemplate(layer, slots, lookups)


def _recurrent_states(layer: Any) -> Iterator[Any]:
    """Yields the states of stateful recurrent layers, which Keras does not list as variables."""
    for each in layer._flatten_layers():
        # `RNN._create_state_variables` is excluded from tracking (Keras 3.15).
        for state in keras.tree.flatten(getattr(each, "states", None)):
            if isinstance(state, keras.Variable):
                yield state


def cached_template(key: Hashable, make: Callable[[], LayerTemplate]) -> LayerTemplate:
    """Returns the template for a key; drops the least recently used ones."""
    with _lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
        template = make()
        remember(key, template)
        return template


def remember(key: Hashable, template: LayerTemplate) -> None:
    """Stores a template for a key."""
    with _lock:
        _cache[key] = template
        if len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)


def _build(
    factory: Callable[[], Any], args: Sequence[Any], kwargs: Any, stored: bool
) -> tuple[Any, dict[int, Any]]:
    initial_values: dict[int, Any] = {}

    def create(next_creator: Callable[..., Any], **options: Any) -> Any:
        if stored:
            variable = next_creator(**options)
        else:
            # In its own graph a variable has no storage, and the function that may be being traced
            # does not refuse to create it.
            chosen = {k: v for k, v in options.items() if k in _VARIABLE_OPTIONS}
            value = options["initial_value"]
            if tf.is_tensor(value) and not tf.is_symbolic_tensor(value):
                chosen["initial_value"] = lambda: tf.zeros(value.shape, value.dtype)
            with tf.Graph().as_default():
                variable = tf.Variable(**chosen)
        initial_values[id(variable)] = (variable, options["initial_value"])
        return variable

    # Everything that the layer keeps must outlive a trace, if one is being made.
    with tf.init_scope(), tf.variable_creator_scope(create):
        layer = factory()
        if not layer.built:
            inputs = map_leaves(symbol, list(args)), map_leaves(symbol, dict(kwargs))
            layer(*inputs[0], **inputs[1])
    return layer, initial_values


def symbol(value: Any, _: Any) -> Any:
    """Returns a symbolic tensor for a tensor or array; other values unchanged."""
    if tf.is_tensor(value) or hasattr(value, "__array__"):
        dtype = tf.as_dtype(value.dtype)
        return keras.KerasTensor(tuple(tf.TensorShape(value.shape)), dtype.name)
    return value


def _initial(variable: Any, initial_values: dict[int, Any]) -> Callable[[], Any]:
    tensor = variable.value
    if id(tensor) in initial_values:
        value = initial_values[id(tensor)][1]
        if callable(value):
            return value  # type: ignore[no-any-return]
        if not tf.is_symbolic_tensor(value):
            return lambda: tf.cast(value, variable.dtype)
    return lambda: tf.convert_to_tensor(tensor)


def has_automatic_name(layer: Any) -> bool:
    """Returns whether a layer has the name that Keras makes of its class (Keras 3.15)."""
    words = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", type(layer).__name__))
    base = re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()
    return re.fullmatch(rf"{base}(_\d+)?", layer.name) is not None


class _Names:
    """Names for a layer's variables that depend only on its structure.

    Keras numbers automatic names through the whole process (``dense_4``), so they change when a
    cell runs again. Here siblings with the same base name are numbered in order. Names that the
    user has chosen stay.
    """

    def __init__(self, layer: Any) -> None:
        self._root = layer.name
        self._chosen = {
            each.name for each in layer._flatten_layers() if not has_automatic_name(each)
        }
        self._numbers: dict[tuple[tuple[str, ...], str], dict[str, int]] = {}
        self._used: set[tuple[str, ...]] = set()

    def place(self, variable: Any) -> tuple[str, ...]:
        parts = variable.path.split("/")
        if len(parts) > 1 and parts[0] == self._root:
            parts = parts[1:]
        *modules, name = parts
        # `keras.Variable` calls `auto_name` for a variable without a name (Keras 3.15).
        if re.fullmatch(r"variable_\d+", name):  # Keras's own count of variables without a name
            name = "variable"
        path: tuple[str, ...] = ()
        for part in modules:
            base = part if part in self._chosen else re.sub(r"_\d+$", "", part)
            seen = self._numbers.setdefault((path, base), {})
            number = seen.setdefault(part, len(seen))
            path = (*path, f"{base}_{number}" if number else base)
        candidate, number = (*path, name), 0
        while candidate in self._used:
            number += 1
            candidate = (*path, f"{name}_{number}")
        self._used.add(candidate)
        return candidate
