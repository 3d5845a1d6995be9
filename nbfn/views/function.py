"""A traced function as an outline."""

from __future__ import annotations

from collections.abc import Sequence

from nbfn.functions import Capture, Retrace, Trace, TracedFunction
from nbfn.text import count
from nbfn.views.outline import Outline, Table


def function_outline(function: TracedFunction) -> Outline:
    """What the view of a traced function says."""
    lines = [status(function)]
    remedy = function.retraces[-1].remedy if function.recorder.last == "retrace" else None
    if remedy is not None:
        lines.append(str(remedy))
    counts = (
        f"{count(function.calls, 'call')}, {count(function.hits, 'hit')}, "
        f"{count(len(function.traces), 'trace')}, "
        f"{count(function.recorder.retrace_count, 'retrace')}"
    )
    return Outline(
        f"{function.label}{function.parameters}",
        [*lines, counts],
        (
            traces_table(function.traces),
            retraces_table(function.retraces),
            captures_table(function.captures),
        ),
    )


def status(function: TracedFunction) -> str:
    """One sentence on the last call."""
    trace = function.last_trace
    if trace is None:
        return "not called yet"
    if function.recorder.last == "hit":
        return f"hit: trace {trace.number} served ({trace.signature or 'no arguments'})"
    if function.recorder.last == "retrace":
        causes = "; ".join(cause.sentence for cause in function.retraces[-1].causes)
        return f"retraced: {causes}"
    return f"traced: {trace.cause.sentence} ({trace.signature or 'no arguments'})"


def traces_table(traces: Sequence[Trace]) -> Table:
    """The traces, one row each."""
    rows = [(str(t.number), t.signature, str(t.hits), t.cause.sentence) for t in traces]
    return Table("traces", ("#", "signature", "hits", "cause"), rows)


def retraces_table(retraces: Sequence[Retrace]) -> Table:
    """The retraces, one row each."""
    rows = [
        (
            str(r.number),
            "; ".join(cause.sentence for cause in r.causes),
            str(r.remedy or ""),
        )
        for r in retraces
    ]
    return Table("retraces", ("#", "cause", "remedy"), rows)


def captures_table(captures: Sequence[Capture]) -> Table:
    """The captured variables and tensors, one row each."""
    rows = [(c.name, _shape(c), c.dtype, c.device, c.kind) for c in captures]
    return Table("captures", ("name", "shape", "dtype", "device", "kind"), rows)


def _shape(capture: Capture) -> str:
    return "unknown" if capture.shape is None else str(list(capture.shape))
