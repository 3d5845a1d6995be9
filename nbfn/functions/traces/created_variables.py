"""Checks variables that a function creates: on its first trace only, kept alive by the user.

RFC "Functions, not Sessions", section "Functions that create state".
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.traces.late_builds import build_advice, undo_builds
from nbfn.site import site_of

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace


class LateVariableError(NbfnError, ValueError):
    """A function created variables on a trace that is not its first."""


class DeadStateError(NbfnError, ReferenceError):
    """A call needs a trace whose variable, or a method whose object, no longer exists."""


_MAX_NAMED = 3
"""Maximum number of earlier variables that an error names."""


class Creations:
    """The variables that one function has created.

    Attributes:
        first: Name and place of the first variables that the newest first trace created.
        refusal: The error for a variable that TensorFlow will refuse when the trace has run; None
            if none.
    """

    def __init__(self) -> None:
        self.first: list[tuple[str, str]] = []
        self.refusal: str | None = None

    @contextmanager
    def watched(self, name: str, is_first: bool) -> Iterator[None]:
        """Records the variables created on the first trace of a state; refuses later ones.

        Raises:
            LateVariableError: If a variable is created on a later trace.
        """
        if is_first:
            self.first = []

        def create(next_creator: Callable[..., Any], **options: Any) -> Any:
            label = str(options.get("name") or "Variable")
            if is_first:
                if len(self.first) < _MAX_NAMED:  # finding the place takes a millisecond
                    self.first.append((label, _place()))
                return next_creator(**options)
            try:
                variable = next_creator(**options)
            except ValueError as error:
                # "tf.function only supports singleton tf.Variables" (TensorFlow 2.21), if the first
                # trace has created some. If it has not, TensorFlow raises after the trace.
                if "singleton" not in str(error):
                    raise
                refusal = self._refusal(name, label)
                undo_builds()
                raise LateVariableError(refusal) from None
            if self.refusal is None:
                self.refusal = self._refusal(name, label)
            return variable

        with tf.variable_creator_scope(create):
            yield

    def _refusal(self, name: str, label: str) -> str:
        before = "; ".join(f"`{each}` at {place}" for each, place in self.first) or "none"
        return (
            f"`{name}` creates the variable `{label}` at {_place()}, but this is "
            f"not its first trace. On the first it created {before}. "
            f"{build_advice() or _advice(name)}"
        )


def _advice(name: str) -> str:
    how = "Create it above the function, and use it in the function by its name"
    if "." in name:
        how = "Create it in `__init__`, or once: `if self.v is None: self.v = tf.Variable(...)`"
    return f"{how}; for variables that live for one call, use local_state=True"


def _place() -> str:
    """Returns the position in user code that runs now, as text."""
    found = _tensorflow.current_user_line()
    return "an unknown place" if found is None else str(site_of(*found))


def watch_variables(trace: Trace, invalidate: Callable[[], None]) -> None:
    """Marks a trace, and calls `invalidate`, when a variable that it captured is garbage-collected.

    The next call is then looked up in the trace cache again.
    """
    own = weakref.ref(trace)
    for capture in trace.captures:
        if capture.kind == "variable":
            lost = partial(_on_variable_deleted, own, capture.name, invalidate)
            # The reference must be kept: a weak reference that is freed calls nothing.
            trace.watched.append(weakref.ref(capture.value, lost))


def _on_variable_deleted(
    trace: weakref.ReferenceType[Trace], name: str, invalidate: Callable[[], None], _: Any
) -> None:
    alive = trace()
    if alive is not None:
        alive.lost.append(name)
        invalidate()


def check_variables(name: str, trace: Trace) -> None:
    """Raises DeadStateError if a variable of the trace no longer exists."""
    if trace.lost:
        names = ", ".join(f"`{each}`" for each in trace.lost)
        raise DeadStateError(
            f"trace {trace.number} of `{name}` reads and writes {names}, which no longer exists: "
            "a function keeps only weak references to variables. Keep the variable in an "
            "attribute, a global or a closure as long as the function is used"
        )
