"""`explain`: which trace would serve a call, or why none would; nothing is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbfn import _tensorflow
from nbfn.functions.recording.recorded import Recorded
from nbfn.functions.retraces.explain import explain
from nbfn.functions.traces.cause import Cause, Remedy
from nbfn.site import call_site
from nbfn.text import numbered, reasons

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace


@dataclass(frozen=True)
class Explanation:
    """The trace that a call would find, or the causes of its miss.

    Attributes:
        trace: The trace that would serve it; None if it would be traced.
        causes: Why none would; what makes the trace stale if one would.
        nearest: The traces nearest to what it needs.
        remedy: What to change so that it does not retrace.
    """

    trace: Trace | None
    causes: tuple[Cause, ...] = ()
    nearest: tuple[Trace, ...] = ()
    remedy: Remedy | None = None

    @property
    def verdict(self) -> tuple[str, str]:
        """What would happen, and which trace serves the call or why none does, as text."""
        if self.trace is not None:
            arguments = self.trace.signature or "no arguments"
            stale = f", and it is stale: {reasons(self.causes)}" if self.causes else ""
            return "a hit", f"trace {self.trace.number} would serve ({arguments}){stale}"
        why = reasons(self.causes)
        if not self.nearest:
            return "would trace", why
        numbers = numbered("trace", [each.number for each in self.nearest])
        return "would retrace", f"{why} (nearest: {numbers})"

    def __repr__(self) -> str:
        text = ": ".join(self.verdict)
        return text if self.remedy is None else f"{text}. {self.remedy}"


def explanation(function: Recorded, args: Any, kwargs: Any) -> Explanation:
    """Looks up a call with these arguments. Raises TypeError if they do not fit."""
    recorder = function.recorder
    looked_up = function.look_up(args, kwargs)
    if looked_up is None or not recorder.traces:
        _tensorflow.canonical(function, args, kwargs)
        return Explanation(None, (recorder.next_first_cause(),))
    if looked_up.concrete is not None:
        trace = recorder.traces.get(id(looked_up.concrete))
        if trace is None or recorder.guards.on_stale not in ("warn", "raise"):
            return Explanation(trace)
        return Explanation(trace, recorder.staleness.changes_since(trace))
    wanted = recorder.wanted(looked_up.function_type)
    causes, nearest = explain(wanted, list(recorder.traces.values()))
    return Explanation(None, causes, nearest, recorder.remedy(causes, call_site(), wanted))
