"""Detects traces that have baked in Python state that has changed since."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from nbfn.functions.guards import Guards, Objects
from nbfn.functions.recording.refusal import StaleTraceError
from nbfn.functions.retraces.explain import stale_causes
from nbfn.functions.traces.cause import Cause
from nbfn.functions.traces.trace import Trace
from nbfn.site import warn
from nbfn.text import reasons

MAX_REPORTS = 3


class Staleness:
    """Detects and reports stale traces of one function.

    Args:
        guards: The guards of the function.
    """

    def __init__(self, guards: Guards) -> None:
        self._guards = guards
        self._reported: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        self._checked_in: dict[int, int] = {}
        """The state in which each trace was last checked, by number."""

    def changes_since(self, trace: Trace) -> tuple[Cause, ...]:
        """Returns what has changed of what a trace has read, except through its arguments."""
        return stale_causes(trace.changed_roots(self._guards.fingerprints(), partial=True))

    def report(self, name: str, trace: Trace, objects: Objects | None, advice: str) -> None:
        """Warns once for each change, or raises, if a trace that is about to serve is stale.

        The same sources are reported `MAX_REPORTS` times at most: a callback may change one in each
        epoch.

        Args:
            name: The function's name.
            trace: The trace.
            objects: The objects among the arguments; None if they are not known.
            advice: What else to do about it.

        Raises:
            StaleTraceError: If it is stale, and `on_stale` is ``"raise"``.
        """
        if objects is None:
            state = self._guards.state
            if self._checked_in.get(trace.number) == state:  # one check for each state
                return
            self._checked_in[trace.number] = state
            causes = self.changes_since(trace)
        else:
            causes = stale_causes(trace.changed_roots(self._guards.fingerprints(objects)))
        if not causes:
            return
        what = reasons(causes)
        text = f"trace {trace.number} of `{name}` is stale: {what}"
        if self._guards.on_stale == "raise":
            refused = StaleTraceError(f"{text}. {advice}")
            refused.page = causes[0].page
            raise refused
        reported = self._reported[trace.number, *(cause.path for cause in causes)]
        if what not in reported and len(reported) < MAX_REPORTS:
            reported.add(what)
            warn(f"{text}; the call uses the old value. {advice}")
