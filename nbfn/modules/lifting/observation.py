"""Reports calls of ``nn.jit`` and eager ``nn.vmap`` to observers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn.code import PLAIN, plain_function
from nbfn.errors import reporting
from nbfn.modules.lifecycle.fields import is_module
from nbfn.modules.lifting.axes import flatten, is_array
from nbfn.modules.variables.tree import as_tensor
from nbfn.state.guarded import GuardedState


@dataclass(frozen=True)
class TransformationCall:
    """One call of a transformed method.

    Attributes:
      label: the transformation, such as ``"nn.jit"``.
      function: the transformed function.
      owner: the class name of its module; empty if it is not a method.
      concrete: the trace that served the call.
      leaves: returns the arguments by name: a spec for a tensor, the value itself if plain, a text
        for a module or another object.
      state: the Python state that the trace read.
      seconds: duration of tracing; None if the trace existed.
    """

    label: str
    function: Callable[..., Any]
    owner: str
    concrete: Any
    leaves: Callable[[], Mapping[str, Any]]
    state: GuardedState
    seconds: float | None = None


observers: list[Callable[[TransformationCall], None]] = []
"""Functions that are called with each observation."""


def notify(observation: TransformationCall) -> None:
    """Notifies the observers of a call; their failures are only reported."""
    for observer in observers:
        with reporting(f"could not record a call of {observation.label}"):
            observer(observation)


def owner_of(function: Callable[..., Any], module: Any) -> str:
    """Returns the name of the class whose method a function is; empty for other functions."""
    name = getattr(function, "__name__", "")
    for cls in type(module).__mro__:
        if plain_function(vars(cls).get(name)) is plain_function(function):
            return _class_name(cls)
    return ""


class ModuleText(str):
    """A module shown by its class and fields, such as ``Net(units=2)``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


ModuleText.__name__ = "Module"  # signatures show it: `Module Net(units=2)`


def leaves_of(
    function: Callable[..., Any], module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns what distinguishes calls of a transformed method, by parameter names.

    Variables are omitted: modules and arguments determine which exist and their shapes.
    """
    found: dict[str, Any] = {}
    try:
        bound = inspect.signature(plain_function(function)).bind(module, *args, **kwargs)
        bound.apply_defaults()
        named: Mapping[str, Any] = bound.arguments
    except (TypeError, ValueError):  # functions implemented in C have no signature
        named = {"module": module, **{f"argument {i + 1}": v for i, v in enumerate(args)}, **kwargs}
    for name, value in named.items():
        leaves = flatten([value])
        for i, leaf in enumerate(leaves):
            found[name if len(leaves) == 1 else f"{name}[{i}]"] = _describe(leaf)
    return found


def _describe(leaf: Any) -> Any:
    if is_array(leaf):
        return tf.type_spec_from_value(as_tensor(leaf))
    if is_module(leaf):
        fields = ((name, leaf.__dict__.get(name)) for name in type(leaf).__field_names__)
        text = ", ".join(f"{name}={value!r}" for name, value in fields if type(value) in PLAIN)
        return ModuleText(f"{_class_name(type(leaf))}({text})")
    return leaf if type(leaf) in PLAIN else type(leaf).__name__


def _class_name(cls: type) -> str:
    """Returns the name of a module class before it was transformed."""
    return str(getattr(cls, "__untransformed__", cls).__name__)
