"""What may be asked of a traced function without calling it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from nbfn.functions.calls.record import Answers
from nbfn.functions.guards.guards import changes
from nbfn.functions.recording.recorder import Recorder
from nbfn.functions.retraces.trace_causes import VARIABLE_CREATION
from nbfn.functions.traces.trace import Trace
from nbfn.text import count, parameters_text

if TYPE_CHECKING:
    from collections.abc import Callable


class Inspection(Answers):
    """The record of a function, as its user reads it.

    Attributes:
        recorder: What is known of its calls and traces.
        known_as: The name it is supposed to have, where no name is found that leads to it.
    """

    recorder: Recorder  # type: ignore[assignment]
    known_as: str | None
    name: str
    python_function: Callable[..., Any]
    _owner: weakref.ReferenceType[Any] | None

    @property
    def owner(self) -> Any | None:
        """The instance whose method it is; None if it is no method, or the instance is gone."""
        return self._owner() if self._owner is not None else None

    @property
    def parameters(self) -> str:
        """Its parameters as text, such as ``(images, labels, training=True)``."""
        return parameters_text(self.python_function)

    def spoken_name(self) -> str | None:
        """The expression by which code can refer to it, such as ``train_step`` or ``model.step``.

        Returns:
            None if no name leads to it.
        """
        owner = self.owner
        for name, value in self.recorder.roots():
            if value is self:
                return name
            if owner is not None and value is owner and name != "self":
                return f"{name}.{self.name}"
        return None if owner is not None else self.known_as

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The traces in the cache, oldest first."""
        with self.recorder.lock:
            return tuple(self.recorder.traces.values())

    def changed_globals(self) -> list[str]:
        """Names of what traces in the cache have baked in and that has changed since."""
        now = self.recorder.guards.fingerprints()
        serving = [each for each in self.traces if each.cause.code != VARIABLE_CREATION.code]
        sources = [source for trace in serving for source, _ in changes(trace.fingerprints, now)]
        return list(dict.fromkeys(source.name for source in sources))

    def __repr__(self) -> str:
        recorder = self.recorder
        counts = (
            (recorder.calls, "call"),
            (recorder.hits, "hit"),
            (len(recorder.traces), "trace"),
            (recorder.retrace_count, "retrace"),
        )
        text = ", ".join(count(number, noun) for number, noun in counts)
        return f"<nbfn.function {self.label}{self.parameters}: {text}>"


def owner_of(function: weakref.ReferenceType[Any]) -> Any | None:
    """The `owner` of a function that is held weakly."""
    alive = function()
    return None if alive is None else alive.owner


def spoken_name_of(function: weakref.ReferenceType[Any]) -> str | None:
    """The `spoken_name` of a function that is held weakly."""
    alive = function()
    return None if alive is None else alive.spoken_name()
