"""A traced function as an outline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nbfn import protocol
from nbfn.outlines.outline import MAX_NEWEST, Outline, Table, Words, advice, place, reason
from nbfn.text import count, data_size, duration, tensor_type

_FEW = 6
"""Tables with no more rows than this are open by default."""


def function_outline(rows: protocol.Rows, id: str, *, open: bool = False) -> Outline:
    """Returns what is shown of a function whose rows are known."""
    function = rows.functions[id]
    traces, retraces = traces_of(rows, id), retraces_of(rows, id)
    lines: list[Words] = []
    newest = rows.retraces.get(function.last_retrace or "")
    if newest is not None and newest.remedy is not None and not newest.settled:
        if function.last != "retrace":
            lines.append(reason(newest.causes, "retraced before: "))
        lines.append(advice(newest.remedy, newest.cell))
    summary = ", ".join(
        count(number, noun)
        for number, noun in (
            (function.calls, "call"),
            (function.hits, "hit"),
            (function.traces, "trace"),
            (function.retraces, "retrace"),
        )
        if number is not None
    )
    return Outline(
        function.title,
        lines,
        (
            traces_table(traces, function.traces),
            retraces_table(retraces),
            captures_table(captures_of(rows, traces[-MAX_NEWEST:])),
        ),
        open=open,
        call=function.last or "idle",
        status=status(rows, function),
        facts=_facts(function),
        summary=summary,
    )


def watched_outline(rows: protocol.Rows, label: str, note: str = "") -> Outline:
    """Returns what is shown of an observed object, whose functions are the rows' functions."""
    is_only = len(rows.functions) == 1
    return Outline(
        f"{label}: {count(len(rows.functions), 'function')}",
        [note] if note else [],
        (),
        [function_outline(rows, id, open=is_only) for id in rows.functions],
    )


def traces_outline(rows: protocol.Rows, id: str) -> Outline:
    """Returns what ``%tf_traces`` shows: all traces and retraces, unfolded."""
    function = rows.functions[id]
    return Outline(
        function.title,
        (),
        (
            all_traces_table(traces_of(rows, id)),
            retraces_table(retraces_of(rows, id), newest=None),
        ),
        call=function.last or "idle",
        status=status(rows, function),
    )


def status(rows: protocol.Rows, function: protocol.FunctionRecord) -> Words:
    """Returns one sentence on the last call."""
    trace = rows.traces.get(function.last_trace or "")
    if trace is None or function.last is None:
        return "not called yet"
    arguments = signature(trace) or "no arguments"
    if function.last == "hit":
        return f"hit: trace {trace.number} served ({arguments})"
    retrace = rows.retraces.get(function.last_retrace or "")
    if function.last == "retrace" and retrace is not None:
        return reason(retrace.causes, "retraced: ")
    return reason([trace.cause], "traced: ", f" ({arguments})")


def signature(trace: protocol.TraceRecord) -> str:
    """Returns the leaves that a trace was made for, such as ``images: float32[64, 10]``."""
    return ", ".join(f"{leaf.path}: {leaf.type}" for leaf in trace.signature)


def traces_of(rows: protocol.Rows, id: str) -> list[protocol.TraceRecord]:
    """Returns the traces of a function, oldest first."""
    return sorted(
        (each for each in rows.traces.values() if each.function == id), key=lambda one: one.number
    )


def retraces_of(rows: protocol.Rows, id: str) -> list[protocol.RetraceRecord]:
    """Returns the retraces of a function, oldest first."""
    return sorted(
        (each for each in rows.retraces.values() if each.function == id),
        key=lambda one: one.number,
    )


def captures_of(
    rows: protocol.Rows, traces: Iterable[protocol.TraceRecord]
) -> list[protocol.VariableRecord]:
    """Returns what some traces captured, each thing once: of those with one name the newest.

    An older trace may have captured the variables of a model that was made again since.
    """
    found: dict[str, protocol.VariableRecord] = {}
    for trace in sorted(traces, key=lambda each: each.time, reverse=True):
        newer = {_name_in_trace(row) for row in found.values()}
        own = {id: rows.variables[id] for id in trace.captures if id in rows.variables}
        found |= {id: row for id, row in own.items() if _name_in_trace(row) not in newer}
    return list(found.values())


def _name_in_trace(row: protocol.VariableRecord) -> str:
    """Returns the name that a variable had when it was traced, if another has that name now."""
    return row.name.rpartition(".captures/")[2]


def traces_table(traces: Sequence[protocol.TraceRecord], total: int | None = None) -> Table:
    """Returns a table of the traces."""
    rows = [
        (
            f"{each.number:,}",
            signature(each),
            f"{each.hits:,}",
            reason([each.cause]),
            *measures(each),
        )
        for each in traces
    ]
    header = ("#", "signature", "hits", "cause", *MEASURES)
    return Table(
        "traces",
        header,
        rows,
        total=total,
        open=True,
        newest=MAX_NEWEST,
        page_only=frozenset(range(4, len(header))),
        details=range(3, len(header)),
    )


MEASURES = ("to trace", "running", "operations", "size", "where")
"""Additional columns on pages."""


def measures(trace: protocol.TraceRecord) -> tuple[Words, ...]:
    """Times and sizes of a trace, and the call that made it."""
    return (
        duration(trace.trace_seconds),
        duration(trace.run_seconds),
        f"{trace.operations:,}",
        data_size(trace.nbytes),
        place(trace.cell),
    )


def all_traces_table(traces: Sequence[protocol.TraceRecord]) -> Table:
    """Returns a table of all traces, unfolded, with the calls that made them."""
    return replace(traces_table(traces), newest=None, page_only=frozenset(range(4, 8)))


def retraces_table(
    retraces: Sequence[protocol.RetraceRecord], newest: int | None = MAX_NEWEST
) -> Table:
    """Returns a table of the retraces; a retrace whose trace was replaced has no remedy."""
    rows = [
        (
            f"{each.number:,}",
            reason(each.causes),
            "" if each.settled else advice(each.remedy, each.cell),
            duration(each.trace_seconds),
            place(each.cell),
        )
        for each in retraces
    ]
    header = ("#", "cause", "remedy", "to trace", "where")
    return Table("retraces", header, rows, open=True, newest=newest, page_only=frozenset((3, 4)))


def captures_table(captures: Sequence[protocol.VariableRecord], *, open: bool = False) -> Table:
    """Returns a table of the captured variables and tensors."""
    rows = [
        (
            each.name,
            tensor_type(each.dtype, each.shape),
            each.device,
            each.kind,
            data_size(each.nbytes),
        )
        for each in captures
    ]
    return Table(
        "captures",
        ("name", "dtype and shape", "device", "kind", "size"),
        rows,
        open=open or len(rows) <= _FEW,
        page_only=frozenset((4,)),
    )


def _facts(function: protocol.FunctionRecord) -> list[Words]:
    if not function.traces:
        return []
    facts: list[Words] = [f"{duration(function.trace_seconds)} to trace"]
    if function.run_seconds:
        facts.append(f"{duration(function.run_seconds)} running")
    facts.append(data_size(function.nbytes))
    return facts if function.cell is None else [*facts, place(function.cell)]
