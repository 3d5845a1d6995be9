"""A traced function as an outline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nbfn.functions import Capture, Retrace, Trace
from nbfn.functions.traces.capture import captures_in
from nbfn.functions.traces.cause import reasons
from nbfn.sessions.session import Function
from nbfn.text import count, tensor_type
from nbfn.views.outline import MAX_NEWEST, Outline, Table, Words, advice, place, reason


def function_outline(function: Function, *, open: bool = False) -> Outline:
    """What the view of a traced function says."""
    lines: list[Words] = [status(function)]
    retraces = function.retraces if function.recorder.last == "retrace" else ()
    newest = retraces[-1] if retraces else None
    if newest is not None and newest.remedy is not None:
        lines.append(advice(newest.remedy, newest.site))
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
            retraces_table(function.retraces, function.traces),
            captures_table(captures_in(function.traces[-MAX_NEWEST:])),
        ),
        open=open,
    )


def traces_outline(function: Function) -> Outline:
    """What ``%tf_traces`` says: the traces and retraces, unfolded."""
    retraces = retraces_table(function.retraces, function.traces)
    return Outline(
        function.label + function.parameters,
        [status(function)],
        (all_traces_table(function.traces), replace(retraces, open=True, newest=None)),
    )


def all_traces_table(traces: Sequence[Trace]) -> Table:
    """The traces, all of them and unfolded, with the calls that made them."""
    made = traces_table(traces)
    rows = [(*row, place(trace.site)) for row, trace in zip(made.rows, traces, strict=True)]
    return replace(made, header=(*made.header, "where"), rows=rows, open=True, newest=None)


def status(function: Function) -> str:
    """One sentence on the last call."""
    trace = function.last_trace
    if trace is None:
        return "not called yet"
    if function.recorder.last == "hit":
        return f"hit: trace {trace.number} served ({trace.signature or 'no arguments'})"
    if function.recorder.last == "retrace":
        causes = reasons(function.retraces[-1].causes)
        return f"retraced: {causes}"
    return f"traced: {trace.cause.sentence} ({trace.signature or 'no arguments'})"


def traces_table(traces: Sequence[Trace]) -> Table:
    """The traces, one row each."""
    rows = [(f"{t.number:,}", t.signature, f"{t.hits:,}", reason([t.cause])) for t in traces]
    return Table("traces", ("#", "signature", "hits", "cause"), rows, newest=MAX_NEWEST)


def retraces_table(retraces: Sequence[Retrace], traces: Sequence[Trace] | None = None) -> Table:
    """The retraces, one row each.

    Where the traces that are there are known, a retrace whose trace has been replaced has no
    remedy any more.
    """
    there = None if traces is None else {trace.number for trace in traces}
    rows = [
        (
            f"{r.number:,}",
            reason(r.causes),
            advice(r.remedy, r.site) if there is None or r.trace in there else "",
        )
        for r in retraces
    ]
    return Table("retraces", ("#", "cause", "remedy"), rows, newest=MAX_NEWEST)


def captures_table(captures: Sequence[Capture], *, open: bool = False) -> Table:
    """The captured variables and tensors, one row each."""
    rows = [(c.name, tensor_type(c.dtype, c.shape), c.device, c.kind) for c in captures]
    return Table("captures", ("name", "dtype and shape", "device", "kind"), rows, open=open)
