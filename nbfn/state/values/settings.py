"""Finds the attributes of modules that a trace bakes in because their library's code reads them.

Modules are Keras objects and what other libraries derive from ``tf.Module``. The attributes are
settings such as ``trainable``, ``rate`` or ``clipnorm``, the layers of a model and the variables of
a layer. They are determined once for each class. Attributes of user subclasses are guarded like
those of any object: if user code names them.
"""

from __future__ import annotations

import itertools
import operator
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import tensorflow as tf

from nbfn.code import PLAIN, is_user_module, names_in_code, package_of
from nbfn.state.values.fingerprints import is_immutable
from nbfn.state.values.introspection import with_decorated
from nbfn.state.values.unwrapping import unwrapped

_CONFIG = ("floatx", "epsilon", "image_data_format")
_INTERNAL = frozenset(
    {
        *("build", "built", "name", "seed", "backend", "generator", "optimizer", "compiled"),
        *("train_function", "test_function", "predict_function", "call_signature_parameters"),
        *("_name", "_path", "_parent_path", "_called", "_tracker", "_tracked", "_lock", "_built"),
        *("_metrics", "_seed_generators", "_losses", "_loss_ids", "_losses_override", "_variables"),
        *("_trainable_variables", "_non_trainable_variables", "_trainable_variables_indices"),
        *("_inbound_nodes", "_operations", "_nodes_by_depth", "_functional", "_input_spec"),
        *("_inputs", "_outputs", "_inputs_struct", "_outputs_struct", "_saved_model_inputs_spec"),
        *("_saved_model_arg_spec", "_call_signature", "_build_shapes_dict", "_build_input_shape"),
        *("_call_has_training_arg", "_call_has_mask_arg", "_call_context_args", "_already_warned"),
        *("_call_has_context_arg", "_allow_non_tensor_positional_args", "_convert_input_args"),
        *("_distribution_strategy", "_initial_seed", "_self_setattr_tracking", "_value"),
        *("_initializer", "_aggregation", "_synchronization", "_shape", "_ndim", "_layout"),
    }
)
"""Attributes that describe how an object was made, or Keras's records of calls.

No call depends on them, and Keras changes them while it traces.
"""

_COMPILED = (
    *("_compile_loss", "_compile_metrics", "_loss_tracker", "_metrics"),
    *("_user_loss", "_user_loss_weights", "_user_metrics", "_user_weighted_metrics"),
)
_STEPS = ("compute_loss", "compute_metrics", "train_step", "test_step")
_BEHIND = {
    # What `compile` sets, and the steps of `fit` use.
    **dict.fromkeys((*_STEPS, "metrics", "metrics_variables"), _COMPILED),
    # The losses of the last call, besides which there are those of regularizers.
    "losses": ("_losses", "_losses_override"),
}
"""Internal attributes that matter to code that names what returns them (Keras 3.15)."""

_NOT_CALLS = (
    *("__init__", "__new__", "__repr__", "summary", "quantize", "compute_output_shape"),
    *("build", "config", "lora", "save", "load", "export", "awq", "gptq"),
)
"""Parts of the names of methods that do not run in calls: they create, save or show an object."""

# The optimizers of Keras 2 are no `tf.Module`, but track their variables as one does.
_TRACKED = tf.Module.__bases__[0]
_names: weakref.WeakKeyDictionary[type, tuple[str, ...]] = weakref.WeakKeyDictionary()


def setting_names(cls: type) -> tuple[str, ...]:
    """Returns the attributes that a library's code reads of a module, or of a Keras object.

    There are none for other classes.
    """
    if cls not in _names:
        bases = [base for base in cls.__mro__ if _is_read(base)]
        if not (issubclass(cls, _TRACKED) or any(map(_is_keras, bases))):
            bases = []
        found = {name for base in bases for name in _read_by(base)}
        names = found - _INTERNAL
        _names[cls] = tuple(sorted(n for n in names if not _is_bookkeeping(n)))
    return _names[cls]


def hooks(cls: type) -> set[str]:
    """Returns the attributes of a user's class that its library's code reads in calls.

    Such are the methods that a user's kernel, distribution or optimizer implements.
    """
    return {name for name in setting_names(cls) if not any(part in name for part in _NOT_CALLS)}


def internal_names(wanted: Iterable[str]) -> list[str]:
    """Returns the internal attributes that matter to code that names these attributes."""
    found = [_BEHIND[name] for name in wanted if name in _BEHIND]
    return list(dict.fromkeys(itertools.chain.from_iterable(found)))


def _is_bookkeeping(name: str) -> bool:
    """Returns whether an attribute only says how a variable is made, or is TensorFlow's own."""
    return name.endswith("_initializer") or name.startswith("_self_")


def _is_read(base: type) -> bool:
    """Returns whether a class is a library's, except containers and classes only used by ``fit``.

    What TensorFlow and nbfn read of their modules is no setting.
    """
    package, _, module = base.__module__.partition(".")
    if _is_keras(base):
        return "trainer" not in module and not module.startswith("src.utils")
    return package not in ("tensorflow", "nbfn") and not is_user_module(base.__module__)


def _is_keras(base: type) -> bool:
    return package_of(base.__module__) == "keras"


def _read_by(base: type) -> Iterator[str]:
    for name, value in vars(base).items():
        if not any(part in name for part in _NOT_CALLS):
            for function in with_decorated(value.fget if isinstance(value, property) else value):
                yield from names_in_code(function.__code__)


class Settings:
    """The current settings of one object.

    Attributes:
        plain: Plain values and library functions, by attribute.
        parts: Modules, or lists of them, by attribute.
        others: Everything else, by attribute.
    """

    def __init__(self, value: Any, names: tuple[str, ...]) -> None:
        own = vars(value)
        self.plain: dict[str, Any] = {}
        self.parts: dict[str, list[Any]] = {}
        self.others: dict[str, Any] = {}
        for name in names:
            if name in own:
                setting = own[name]
                if _is_plain(setting):
                    self.plain[name] = setting
                elif isinstance(setting, list) and all(map(_is_part, setting)):
                    self.parts[name] = list(setting)
                elif _is_part(setting):
                    self.parts[name] = [setting]
                else:
                    self.others[name] = setting

    def check(self, value: Any) -> SettingsCheck:
        """Returns what `settings_hold` checks; it keeps nothing of the object alive.

        Parts are compared by address. A reused address cannot go unnoticed: each part has a check
        of its own, which fails once the part is dead.
        """
        names = list(self.plain)
        if len(names) == 1:  # for one name, itemgetter returns no tuple
            names *= 2
        get = operator.itemgetter(*names) if names else tuple
        values = tuple(self.plain[name] for name in names)
        ids = [(name, list(map(id, parts))) for name, parts in self.parts.items()]
        return weakref.ref(value), len(vars(value)), get, values, ids


SettingsCheck = tuple[
    weakref.ReferenceType[Any], int, Callable[[Any], Any], tuple[Any, ...], list[Any]
]
"""An object, the number of its attributes, a getter of the plain settings, their values, and the
addresses of its parts by attribute."""


def settings_hold(checks: Iterable[SettingsCheck]) -> bool:
    """Returns whether the settings of all objects are unchanged."""
    for reference, number, get, values, parts in checks:
        value = reference()
        if value is None:
            return False
        own = value.__dict__
        if len(own) != number:  # the first step of an optimizer adds its momentums
            return False
        try:
            if values and get(own) != values:
                return False
            for name, ids in parts:
                setting = own[name]
                if (list(map(id, setting)) if isinstance(setting, list) else [id(setting)]) != ids:
                    return False
        except KeyError:
            return False
    return True


def _is_plain(value: Any) -> bool:
    if type(value) in PLAIN or is_immutable(value):
        return True
    return isinstance(value, FunctionType) and not any(True for _ in unwrapped(value))


def _is_part(value: Any) -> bool:
    return bool(setting_names(type(value)))


def part_name(owner: Any, attribute: str, part: Any, index: int) -> str:
    """Returns the expression for a part of a module, such as ``.layers[2]``."""
    if isinstance(vars(owner).get(attribute), list):
        for name, value in vars(owner).items():
            if value is part and not name.startswith("_"):
                return f".{name}"
        shown = shown_parts(owner, attribute)
        found = [i for i, each in enumerate(shown) if each is part]
        public = attribute.lstrip("_") if found else attribute
        return f".{public}[{found[0] if found else index}]"
    return f".{attribute.lstrip('_')}"


def shown_parts(owner: Any, attribute: str) -> list[Any]:
    """Returns the parts in a list as users see them: ``layers`` may omit the input layer."""
    try:
        public = getattr(owner, attribute.lstrip("_"), None)
    except Exception:  # Keras 2 refuses to list the weights of a model before it is built
        public = None
    return public if isinstance(public, list) else vars(owner)[attribute]


def config_checks() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields Keras's global settings that layers and losses read while traced."""
    # Not imported: a function that does not use Keras must not pay for its import.
    keras: Any = sys.modules.get("keras")
    for name in () if keras is None else _CONFIG:
        yield f"keras.config.{name}()", getattr(keras.config, name)
