"""What is told of the traces of ``nn.jit`` and eager ``nn.vmap``, to whoever shows them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn.code import PLAIN, plain_function
from nbfn.errors import tell_failure
from nbfn.modules.lifecycle.fields import is_module
from nbfn.modules.lifting.axes import as_tensor, flatten, is_array
from nbfn.state.guarded import GuardedState


@dataclass(frozen=True)
class Observation:
    """One call of a transformed method.

    Attributes:
      label: the transformation, such as ``"nn.jit"``.
      function: the user's function.
      owner: the name of the class of its module; empty if it is no method of it.
      concrete: the trace that served it.
      leaves: gives the arguments by name: a specification for a tensor, the value itself for a
        plain one, a text for a module or another object.
      state: the Python state that the trace has read.
      seconds: what the trace has cost; None if it was there.
    """

    label: str
    function: Callable[..., Any]
    owner: str
    concrete: Any
    leaves: Callable[[], Mapping[str, Any]]
    state: GuardedState
    seconds: float | None = None


observers: list[Callable[[Observation], None]] = []
"""Functions that are told of each call."""


def tell(observation: Observation) -> None:
    """Tells the observers of a call, which no failure of theirs breaks."""
    for observer in observers:
        try:
            observer(observation)
        except Exception as error:
            tell_failure(f"could not note a call of {observation.label}", error)


def owner_of(function: Callable[..., Any], module: Any) -> str:
    """The name of the class whose method a function is; empty if it is a function of modules."""
    name = getattr(function, "__name__", "")
    for cls in type(module).__mro__:
        if plain_function(vars(cls).get(name)) is plain_function(function):
            return _class_name(cls)
    return ""


class Module(str):
    """A module by its class and fields, such as ``Net(units=2)``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def leaves_of(
    function: Callable[..., Any], module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """What tells calls of a transformed method apart, by the names of its parameters.

    Variables are left out: which there are, and their shapes, follow from modules and arguments.
    """
    found: dict[str, Any] = {}
    try:
        bound = inspect.signature(plain_function(function)).bind(module, *args, **kwargs)
        bound.apply_defaults()
        given: Mapping[str, Any] = bound.arguments
    except (TypeError, ValueError):  # a function of C has no signature
        given = {"module": module, **{f"argument {i + 1}": v for i, v in enumerate(args)}, **kwargs}
    for name, value in given.items():
        leaves = flatten([value])
        for i, leaf in enumerate(leaves):
            found[name if len(leaves) == 1 else f"{name}[{i}]"] = _described(leaf)
    return found


def _described(leaf: Any) -> Any:
    if is_array(leaf):
        return tf.type_spec_from_value(as_tensor(leaf))
    if is_module(leaf):
        fields = ((name, leaf.__dict__.get(name)) for name in type(leaf).__field_names__)
        text = ", ".join(f"{name}={value!r}" for name, value in fields if type(value) in PLAIN)
        return Module(f"{_class_name(type(leaf))}({text})")
    return leaf if type(leaf) in PLAIN else type(leaf).__name__


def _class_name(cls: type) -> str:
    """The name of a class of modules as the user wrote it, without what transforms it."""
    return str(getattr(cls, "__untransformed__", cls).__name__)
