"""Finds the Keras object that creates variables during a trace, and advises how to build it before.

An optimizer creates its slots in its first step, a layer its weights in its first call. Both can be
built before the function is called. They are recognized by the names of Keras's classes; see
``tests/functions/traces/test_created_variables.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import tensorflow as tf

from nbfn.code import is_user_module

_MAX_FRAMES = 400
_KERAS = ("keras.", "tf_keras.")
_OPTIMIZERS = frozenset({"BaseOptimizer", "_BaseOptimizer"})  # of Keras 3, of tf_keras
_VARIABLES = ("trainable_variables", "var_list", "variables")
"""Names of the optimizers' parameters for variables."""


@dataclass(frozen=True)
class LateBuild:
    """A Keras object that is creating its variables.

    Attributes:
        value: The object.
        name: The name that user code has for it; None if there is none.
        arguments: For an optimizer: the expression in user code for the variables that it is built
            for.
    """

    value: Any
    name: str | None
    arguments: str | None

    @property
    def advice(self) -> str:
        """The advice: how to create its variables before the call."""
        if not _is_optimizer(self.value):
            called = "the layer" if self.name is None else f"`{self.name}`"
            return f"Call {called} once before, so that its variables are there"
        if self.name is None or self.arguments is None:
            named = "the optimizer" if self.name is None else f"`{self.name}`"
            return f"Build {named} before, for the variables that it trains"
        where = "in `__init__`" if self.name.startswith("self.") else "before"
        return f"Make its variables {where}: {self.name}.build({self.arguments})"


def late_build() -> LateBuild | None:
    """Returns the Keras object that creates a variable on this thread now.

    It is the outermost object that user code calls: the model, not the layer in it.
    """
    found: LateBuild | None = None
    candidate: Any = None
    variables: list[Any] = []
    for frame in _frames():
        module = frame.f_globals.get("__name__", "")
        if not (module.startswith(_KERAS) or (candidate is not None and is_user_module(module))):
            continue  # reading `f_locals` makes the frame keep a copy
        own = frame.f_locals.get("self")
        if module.startswith(_KERAS):
            if _is_builder(own):
                candidate = own
                variables = next(
                    (v for n in _VARIABLES if isinstance(v := frame.f_locals.get(n), list)),
                    variables,
                )
        else:
            name = _name_of(candidate, frame)
            if found is None or name is not None:
                found = LateBuild(candidate, name, _name_of_variables(variables, frame))
            if own is None or not _is_builder(own):
                candidate = None
    return found


def undo_builds() -> None:
    """Lets optimizers whose build fails now be built again later.

    Keras marks an optimizer as built before its variables are created: `BaseOptimizer.build` does,
    which each optimizer calls first in its own (Keras 3.15).
    """
    for frame in _frames():
        if frame.f_code.co_name == "build":
            own: Any = frame.f_locals.get("self")
            if _is_optimizer(own) and getattr(own, "built", False):
                own.built = False


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _bases(value: Any) -> list[str]:
    return [c.__name__ for c in type(value).__mro__ if c.__module__.startswith(_KERAS)]


def _is_optimizer(value: Any) -> bool:
    return not _OPTIMIZERS.isdisjoint(_bases(value))


def _is_builder(value: Any) -> bool:
    return not {*_OPTIMIZERS, "Layer"}.isdisjoint(_bases(value))


def _name_of(value: Any, frame: FrameType) -> str | None:
    """Returns an object's global name, else its name in the function."""
    return next((name for name, each in _named(frame) if each is value), None)


def _name_of_variables(variables: list[Any], frame: FrameType) -> str | None:
    """Returns the expression for the trainable variables of the model that has these."""
    wanted = set(map(_identity, variables))
    for name, each in _named(frame):
        own = getattr(each, "trainable_variables", None) if _is_builder(each) else None
        if own and set(map(_identity, own)) == wanted:
            return f"{name}.trainable_variables"
    return None


def _identity(variable: Any) -> int:
    """Returns the identity of a TensorFlow variable, or of the one that a Keras variable holds."""
    inner = getattr(variable, "value", None)
    return id(inner if isinstance(inner, tf.Variable) else variable)


def _named(frame: FrameType) -> Iterator[tuple[str, Any]]:
    own = dict(frame.f_locals)
    owner = own.pop("self", None)
    yield from ((n, each) for n, each in list(frame.f_globals.items()) if n[:1] != "_")
    for name, each in list(getattr(owner, "__dict__", {}).items()):
        yield f"self.{name}", each
    yield from own.items()
