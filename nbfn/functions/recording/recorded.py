"""The interface of a traced function that eviction, relaxing and explanation need."""

from __future__ import annotations

from typing import Any, Protocol

from nbfn.functions.calls.record import Observed
from nbfn.functions.recording.recorder import Recorder
from nbfn.functions.traces.cause import Cause, Retraces
from nbfn.functions.traces.trace import Traces


class Recorded(Observed, Protocol):
    """The interface of a `TracedFunction` that eviction, relaxing and explanation use.

    A protocol avoids importing the class, which imports them.

    Attributes:
        recorder: The record of its calls and traces.
        name: The name of the Python function.
        label: The name to show.
        traces: The traces in the cache, oldest first.
        retraces: Every miss after the first trace, newest last.
        input_signature: The signature that it is traced for; None if it depends on the calls.
        relaxed: Signatures that were relaxed, the newest last.
        converts: Those of them that convert Python numbers of a call to tensors.
        checked_effects: Whether its side effects have been looked for.
        pending_warning: The warning about its prints, to be given with the first hit.
    """

    recorder: Recorder
    name: str
    label: str
    traces: Traces
    retraces: Retraces
    input_signature: Any
    relaxed: tuple[Any, ...]
    converts: tuple[Any, ...]
    checked_effects: bool
    pending_warning: str | None

    def look_up(self, args: Any, kwargs: Any) -> Any:
        """Looks a call up without tracing or running anything."""

    def request(self, args: Any, kwargs: Any, reason: Cause | None = None) -> Any:
        """Returns the concrete function for some arguments; traces it if needed."""

    def discard(self, concrete: Any) -> None:
        """Removes a trace from the cache."""

    def prepared(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        """Returns what a call is traced for, and its arguments."""
