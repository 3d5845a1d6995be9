"""``nn.Keras``: Keras layers in the pure lifecycle.

The layer is called through its own ``__call__``, so masks, autocasting, losses and training modes
behave as in Keras. The call runs in a ``keras.StatelessScope`` that redirects the layer's
variables: reading one reads the module's scope, assigning one writes it, and the state of a seed
generator is a new draw from a random stream.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Hashable
from typing import Any

import keras
import tensorflow as tf

from nbfn._tensorflow import constrain
from nbfn.errors import NbfnError, NbfnWarning
from nbfn.modules.errors import ArgumentError
from nbfn.modules.layers.flax_names import in_keras
from nbfn.modules.layers.keras_template import (
    LayerTemplate,
    Slot,
    build,
    cached_template,
    has_own_state,
    is_seed_state,
    remember,
    symbol,
    unbuilt_copy,
)
from nbfn.modules.lifecycle import binding
from nbfn.modules.lifecycle.methods import nowrap, wrap
from nbfn.modules.lifecycle.naming import configuration, same_configuration
from nbfn.modules.module.module import Module
from nbfn.modules.variables.keys import as_number
from nbfn.modules.variables.scope import Scope
from nbfn.modules.variables.tree import leaves, map_leaves


class Redirect(keras.StatelessScope):  # type: ignore[misc]
    """A ``keras.StatelessScope`` in which a layer's variables live in a module's scope.

    Attributes:
      error: the first error of nbfn that was raised here; Keras re-raises errors with a longer
        message, and some as another class (Keras 3.15, `inject_argument_info_in_traceback`).
    """

    def __init__(self, template: LayerTemplate, scope: Scope, stream: str) -> None:
        """Redirects the template's variables; seed generators draw from the stream."""
        # With `initialize_variables=True`, the end of the scope would initialise all variables that
        # were created in it (Keras 3.15); those of the template have no memory.
        super().__init__(collect_losses=True, initialize_variables=False)
        self.error: NbfnError | None = None
        self._template = template
        self._scope = scope
        self._stream = stream
        # One key for each generator and call: Keras reads the state several times in one draw, and
        # writes it after that.
        self._seeds: dict[int, Any] = {}

    def get_current_value(self, variable: Any) -> Any:
        """Returns the value of a Keras variable; None makes Keras use the variable's own."""
        slot = self._template.slots.get(id(variable))
        if slot is not None:
            value = place(self._scope, slot).live(slot.collection, slot.path[-1])
            # A Keras variable's dtype is a string, which a tf.DType compares with its name.
            same = value.dtype == variable.dtype
            return value if same else tf.cast(value, variable.dtype)
        if is_seed_state(variable):
            if id(variable) not in self._seeds:
                key = self._keep_error(lambda: self._scope.draw(self._stream))
                self._seeds[id(variable)] = tf.cast(key, variable.dtype)
            return self._seeds[id(variable)]
        return super().get_current_value(variable)

    def add_update(self, update: tuple[Any, Any]) -> None:
        """Writes a Keras variable; ``init`` does not change initial values."""
        variable, value = update
        slot = self._template.slots.get(id(variable))
        if slot is not None:
            where = place(self._scope, slot)
            if not where.store.initializing:
                self._keep_error(lambda: where.write(slot.collection, slot.path[-1], value))
        elif is_seed_state(variable):
            self._seeds[id(variable)] = value  # for further draws of this call
        else:
            super().add_update(update)

    def _keep_error(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except NbfnError as error:
            # Kept, because Keras raises another error in place of one from a layer's call (Keras
            # 3.15, `inject_argument_info_in_traceback`).
            self.error = self.error or error
            raise


class KerasModule(Module):
    """A module around a Keras layer; subclasses create the layer in ``make_layer``.

    Attributes:
      collection: the collection of weights that are not trainable.
      rng: the random stream that the layer's seed generators draw from.
    """

    collection = "state"
    rng = "dropout"
    takes_vectors = False  # whether one example without a batch is an input too

    @nowrap
    def make_layer(self) -> Any:
        """Returns a new Keras layer without weights, or one with the initial values as weights."""
        raise NotImplementedError

    @wrap
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the layer.

        Args:
          *args: the layer's inputs.
          **kwargs: the layer's call arguments, such as ``training=`` and ``mask=``.

        Raises:
          ParamNotFoundError, CollectionNotFoundError: a weight is missing.
          ParamShapeError: the weights were made for another input shape or configuration.
          ImmutableCollectionError: the layer updates a weight, and its collection is not mutable.
          RngError: the layer draws random numbers, and there is no stream for them.
        """
        return call_layer(self, args, kwargs)


class Keras(KerasModule):
    """Any Keras layer or model as a module.

    Trainable weights are ``params``; other weights go to ``collection``, metrics to ``metrics``;
    losses are sown into ``losses``. Names follow the layer's structure, never Keras's numbering.

    Attributes:
      layer: a layer or model, or a function without arguments that makes one. If it has weights,
        they are the initial values; otherwise these are drawn from the stream ``params``.
      collection: the collection of weights that are not trainable.
      rng: the random stream that the layer's seed generators draw from.
    """

    layer: Any
    collection: str = "state"
    rng: str = "dropout"

    @nowrap
    def make_layer(self) -> Any:
        """Returns a copy of the layer from its config, or the layer itself if it has weights."""
        if not isinstance(self.layer, keras.Layer):
            return self.layer()
        return unbuilt_copy(self.layer)

    @nowrap
    def _kind(self) -> str:
        return getattr(self.layer, "__name__", None) or type(self.layer).__name__


def place(scope: Scope, slot: Slot) -> Scope:
    """Returns the scope of the slot's variable."""
    return scope.child(*slot.path[:-1]) if len(slot.path) > 1 else scope


def call_layer(module: KerasModule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the Keras layer of a module, see `KerasModule.__call__`."""
    if module.takes_vectors and len(args) == 1:
        shape = getattr(args[0], "shape", None)
        if shape is not None and len(shape) == 1:
            return tf.squeeze(call_layer(module, (tf.expand_dims(args[0], 0),), kwargs), 0)
    scope = module._scope("__call__")
    try:
        template = _template(module, scope, args, kwargs)
    except TypeError as error:
        _raise_for_flax_names(module, scope, kwargs, error)
        raise
    store = scope.store
    with Redirect(template, scope, module.rng) as redirect:
        try:
            output = template.layer(*args, **kwargs)
        except Exception as error:
            if redirect.error is not None:
                raise redirect.error from None
            if isinstance(error, ValueError):
                _raise_for_shapes(module, scope, args, kwargs)
            _raise_for_flax_names(module, scope, kwargs, error)
            raise
        # Reading `losses` computes them, so it is done only if they are collected.
        wanted = store.sown is not None if store.bound else not store.initializing
        if wanted and "losses" in store.mutable:
            for loss in template.layer.losses:
                module.sow("losses", "loss", loss)
    return output


def _template(module: KerasModule, scope: Scope, args: Any, kwargs: Any) -> LayerTemplate:
    """Returns the layer for this call; makes missing weights if allowed."""
    defaults = (keras.config.dtype_policy().name, keras.config.image_data_format())
    memo = scope.store.memo
    # The settings of Keras are part of it: a layer takes them when it is made.
    last = memo.get(scope.path)
    if last is not None and last[0] == defaults and same_configuration(last[1], module, exact=True):
        return last[2]  # type: ignore[no-any-return]
    config = (configuration(module), defaults)
    layer = module.__dict__.get("layer")
    has_weights = isinstance(layer, keras.Layer) and has_own_state(layer)

    def make(seed: int = 0) -> LayerTemplate:
        return build(module.make_layer, module.collection, seed, args, kwargs)

    # A layer with weights is not cached, so that it is freed when the user deletes it.
    template = make() if has_weights else cached_template((config, _stored_shapes(scope)), make)
    slots = template.slots.values()
    missing = [s for s in slots if not place(scope, s).has(s.collection, s.path[-1])]
    seed: Any = None
    if missing and not has_weights and all(s.collection in scope.store.mutable for s in missing):
        seed = scope.draw_number("params")
        template = make(0 if tf.is_tensor(seed) else seed)
    _check_shapes(template, scope)
    if missing:
        if tf.is_tensor(seed):
            initial = _initial_in_graph(module, template, seed, args, kwargs)
        else:
            initial = [_outside_trace(slot.initial) for slot in template.slots.values()]
        for slot, value in zip(template.slots.values(), initial, strict=True):
            place(scope, slot).ensure(slot.collection, slot.path[-1], value)
        if not has_weights:
            remember((config, _stored_shapes(scope)), template)
    if scope.store.bound:
        _constrain(template, scope)
    if scope.store.bound and template.lookups:
        binding.hold(module, {f"lookup_{i}": each for i, each in enumerate(template.lookups)})
    # A clone, so that the store does not keep the module alive.
    memo[scope.path] = (defaults, module.clone(), template)
    return template


def _constrain(template: LayerTemplate, scope: Scope) -> None:
    """Sets the constraints of the layer on the variables, for optimizers to apply."""
    for slot in template.slots.values():
        if slot.variable.constraint is not None:
            variable = place(scope, slot).live(slot.collection, slot.path[-1])
            if not constrain(variable, slot.variable.constraint):
                warnings.warn(
                    f"{scope} has a constraint for {slot.path[-1]!r} that this version of "
                    "TensorFlow cannot keep, so optimizers will not apply it.",
                    NbfnWarning,
                    stacklevel=2,
                )


def _stored_shapes(scope: Scope) -> Hashable:
    found = [
        (collection, path, tuple(tf.TensorShape(leaf.shape)))
        for collection, tree in scope.tree().items()
        for path, leaf in leaves(tree)
    ]
    return tuple(sorted(found))


def _check_shapes(template: LayerTemplate, scope: Scope) -> None:
    for slot in template.slots.values():
        where, name = place(scope, slot), slot.path[-1]
        if where.has(slot.collection, name):
            where.compare_shape(name, slot.variable.shape, where.live(slot.collection, name))


def _raise_for_shapes(module: KerasModule, scope: Scope, args: Any, kwargs: Any) -> None:
    """Raises a better error if a call failed because the weights were made for other inputs."""
    try:
        wanted = build(module.make_layer, module.collection, 0, args, kwargs)
    except Exception:  # the inputs are invalid anyway, which the layer's error says
        return
    _check_shapes(wanted, scope)


def _raise_for_flax_names(module: KerasModule, scope: Scope, kwargs: Any, error: Exception) -> None:
    """Raises a better error if a call failed because an argument has Flax's name."""
    meant = in_keras(kwargs, ()) if isinstance(error, TypeError) else ""
    if meant and not isinstance(error, NbfnError):
        reason = str(error).splitlines()[0]
        raise ArgumentError(f"{scope.label(module)}: {reason}.{meant}") from error


def _initial_in_graph(
    module: KerasModule, template: LayerTemplate, key: Any, args: Any, kwargs: Any
) -> list[Callable[[], Any]]:
    """Returns the initial values for a key that is known only when the graph runs.

    Keras seeds its initializers with Python numbers, so the layer is built again in Python then.
    """
    inputs, options = map_leaves(symbol, list(args)), map_leaves(symbol, dict(kwargs))
    slots = template.slots.values()

    def make(key: Any) -> list[Any]:
        template = build(module.make_layer, module.collection, as_number(key), inputs, options)
        return [tf.cast(s.initial(), s.variable.dtype) for s in template.slots.values()]

    values = tf.py_function(make, [key], [slot.variable.dtype for slot in slots])
    for value, slot in zip(values, slots, strict=True):
        value.set_shape(slot.variable.shape)
    return [functools.partial(tf.identity, value) for value in values]


def _outside_trace(make: Callable[[], Any]) -> Callable[[], Any]:
    def value() -> Any:
        with tf.init_scope():
            return make()

    return value
