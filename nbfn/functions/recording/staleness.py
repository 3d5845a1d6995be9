"""What happens when a trace is found although what it baked in has changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nbfn.functions.guards.guards import Guards
from nbfn.functions.recording.refusal import StaleTraceError
from nbfn.functions.retraces.explain import stale
from nbfn.site import warn

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace


class Staleness:
    """Warns or raises for one function; each change is warned of once."""

    def __init__(self) -> None:
        self._warned: set[tuple[int, str]] = set()

    def check(
        self, name: str, trace: Trace, guards: Guards, objects: Iterable[tuple[str, Any]]
    ) -> None:
        """Is asked when a trace has been found.

        Raises:
            StaleTraceError: If something has changed and ``on_stale`` is ``"raise"``.
        """
        if guards.on_stale not in ("warn", "raise"):
            return
        causes = stale(trace.fingerprints, guards.fingerprints(objects))
        if not causes:
            return
        what = "; ".join(cause.sentence for cause in causes)
        text = f"trace {trace.number} of `{name}` is stale: {what}"
        if guards.on_stale == "raise":
            raise StaleTraceError(
                f'{text}. Pass it as an argument, make it a tf.Variable, or use on_stale="retrace"'
            )
        if (trace.number, what) not in self._warned:
            self._warned.add((trace.number, what))
            warn(f"{text}; the call uses the old value")
