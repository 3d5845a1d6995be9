"""A cell in segments as an outline."""

from __future__ import annotations

import itertools
from dataclasses import replace

from nbfn import protocol
from nbfn.outlines.function_outline import (
    MEASURES,
    captures_of,
    captures_table,
    function_outline,
    measures,
    retraces_of,
    retraces_table,
    signature,
    traces_of,
)
from nbfn.outlines.outline import Outline, Table, Words, advice, reason
from nbfn.text import count, duration

GRAPH = "graph"
MAX_REASONS = 6
MAX_TRACES = 3
"""Maximum number of traces shown per segment, and of retraces per cell: the newest."""


def cell_outline(rows: protocol.Rows, id: str) -> Outline:
    """Returns what is shown of a cell in segments whose rows are known."""
    cell = rows.cells[id]
    reasons = cell.python
    if len(reasons) > MAX_REASONS:
        reasons = [*reasons[: MAX_REASONS - 1], f"{len(reasons) - MAX_REASONS + 1} more places"]
    lines: list[Words] = [f"Python: {', '.join(reasons)}"] if reasons else []
    for id in cell.functions:
        function = rows.functions.get(id)
        retrace = rows.retraces.get(function.last_retrace or "") if function else None
        if function is not None and retrace is not None and function.last == "retrace":
            lines.append(reason(retrace.causes, f"{function.name} retraced: "))
            if retrace.remedy is not None and not retrace.settled:
                lines.append(advice(retrace.remedy, retrace.cell))
    if cell.draws:
        lines.append("functions in a graph draw another sequence of random numbers than eagerly")
    by_segment = [(segment, traces_of(rows, segment.function)) for segment in cell.segments]
    newest = [(segment, trace) for segment, traces in by_segment for trace in traces[-MAX_TRACES:]]
    traces = [
        (
            _range(segment.first, segment.last),
            signature(trace),
            reason([trace.cause]),
            *measures(_placed(trace, segment)),
        )
        for segment, trace in newest
    ]
    header = ("lines", "signature", "cause", *MEASURES)
    total = sum(len(traces) for _, traces in by_segment)
    retraces = sorted(
        (each for id in cell.functions for each in retraces_of(rows, id)),
        key=lambda one: one.time,
    )
    return Outline(
        f"{cell.name}: {cell.sentence}",
        lines,
        (
            _lines_table(cell),
            Table(
                "traces",
                header,
                traces,
                total,
                open=True,
                newest=len(traces),
                page_only=frozenset(range(3, len(header))),
                details=range(2, len(header)),
            ),
            replace(retraces_table(retraces), newest=MAX_TRACES),
            captures_table(captures_of(rows, [trace for _, trace in newest])),
        ),
        call=cell.call,
        facts=[_times(cell)],
        summary=count(cell.runs, "run"),
    )


def _placed(trace: protocol.TraceRecord, segment: protocol.SegmentRecord) -> protocol.TraceRecord:
    """Returns a trace placed at the first line of its segment; it was made after the last one."""
    cell = trace.cell and trace.cell.model_copy(update={"line": segment.first})
    return trace.model_copy(update={"cell": cell})


def outline_of(rows: protocol.Rows, id: str) -> Outline:
    """Returns what is shown of the cell or the function with an id."""
    return cell_outline(rows, id) if id in rows.cells else function_outline(rows, id)


def _lines_table(cell: protocol.TracedCellRecord) -> Table:
    """Returns how the lines with code run, grouped by reason; on pages, the whole cell."""
    texts = cell.source.splitlines()
    times = {segment.first: _segment_times(segment) for segment in cell.segments}

    def row(first: int, last: int) -> tuple[str, ...]:
        why = cell.lines.get(first)
        runs = "" if first not in cell.lines else GRAPH if why is None else "Python"
        text = texts[first - 1] if first <= len(texts) else ""
        return (_range(first, last), runs, why or "", text, times.get(first, ""))

    lines = sorted(cell.lines)
    alike = [list(group) for _, group in itertools.groupby(lines, cell.lines.get)]
    return Table(
        "lines",
        ("line", "runs as", "why", "text", "time"),
        [row(group[0], group[-1]) for group in alike],
        open=True,
        kind="code",
        page_only=frozenset((3, 4)),
        page_rows=[row(line, line) for line in range(lines[0], lines[-1] + 1)] if lines else (),
    )


def _times(cell: protocol.TracedCellRecord) -> str:
    """Returns the duration of the last run, and of the same run as Python."""
    took = duration(cell.seconds)
    if cell.speedup is not None:
        return f"{took}, eager {duration(cell.eager_seconds)}"
    has_traced = cell.call in ("trace", "retrace") or (cell.call == "hit" and cell.runs == 1)
    return f"{took} with tracing" if has_traced else took


def _segment_times(segment: protocol.SegmentRecord) -> str:
    if segment.seconds is None:
        return ""
    took = duration(segment.seconds)
    eager = segment.eager_seconds
    return took if eager is None else f"{took}, eager {duration(eager)}"


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
