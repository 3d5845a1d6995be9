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
        causes: Why none would; empty if one would.
        nearest: The traces nearest to what it needs.
        remedy: What to change so that it does not retrace.
    """

    trace: Trace | None
    causes: tuple[Cause, ...] = ()
    nearest: tuple[Trace, ...] = ()
    remedy: Remedy | None = None

    def __repr__(self) -> str:
        if self.trace is not None:
            arguments = self.trace.signature or "no arguments"
            return f"a hit: trace {self.trace.number} would serve ({arguments})"
        verb = "would retrace" if self.nearest else "would trace"
        text = f"{verb}: " + reasons(self.causes)
        if self.nearest:
            text += f" (nearest: {numbered('trace', [each.number for each in self.nearest])})"
        return text if self.remedy is None else f"{text}. {self.remedy}"


def explanation(function: Recorded, args: Any, kwargs: Any) -> Explanation:
    """Looks up a call with these arguments. Raises TypeError if they do not fit."""
    recorder = function.recorder
    looked_up = function.look_up(args, kwargs)
    if looked_up is None or not recorder.traces:
        _tensorflow.canonical(function, args, kwargs)
        return Explanation(None, (recorder.next_first_cause(),))
    if looked_up.concrete is not None:
        return Explanation(recorder.traces.get(id(looked_up.concrete)))
    wanted = recorder.wanted(looked_up.function_type)
    causes, nearest = explain(wanted, list(recorder.traces.values()))
    return Explanation(None, causes, nearest, recorder.remedy(causes, call_site(), wanted))
