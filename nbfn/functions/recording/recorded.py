"""What eviction, relaxing and explanation need of a traced function."""

from __future__ import annotations

from typing import Any, Protocol

from nbfn.functions.calls.record import Observed
from nbfn.functions.recording.recorder import Recorder
from nbfn.functions.traces.cause import Cause, Retraces
from nbfn.functions.traces.trace import Traces


class Recorded(Observed, Protocol):
    """The part of a `TracedFunction` that eviction, relaxing and explanation use.

    It is a protocol so that they need not import the class, which imports them.

    Attributes:
        relaxed: Signatures that were relaxed, the newest last.
        converts: Those of them by which Python numbers of a call become tensors.
        remarked: Whether its side effects have been looked for.
        untold: What is to be told of them with the first hit.
    """

    relaxed: tuple[Any, ...]
    converts: tuple[Any, ...]
    remarked: bool
    untold: str | None
    _pattern: Any

    def look_up(self, args: Any, kwargs: Any) -> Any:
        """Looks a call up without tracing or running anything."""

    @property
    def recorder(self) -> Recorder:
        """What is known of its calls and traces."""

    @property
    def label(self) -> str:
        """The name to show."""

    @property
    def traces(self) -> Traces:
        """The traces in the cache, oldest first."""

    @property
    def retraces(self) -> Retraces:
        """Every miss after the first trace, newest last."""

    @property
    def input_signature(self) -> Any:
        """The signature that it is traced for; None if calls say that."""

    @property
    def name(self) -> str:
        """The name of the Python function."""

    def request(self, args: Any, kwargs: Any, reason: Cause | None = None) -> Any:
        """The concrete function for some arguments, traced if it is not there."""

    def discard(self, concrete: Any) -> None:
        """Takes a trace out of the cache."""

    def _converted(self, args: Any, kwargs: Any) -> tuple[Any, Any]: ...
