"""A cell in segments as an outline."""

from __future__ import annotations

from dataclasses import replace

from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.segments.report import GRAPH
from nbfn.functions.segments.segment import Segment
from nbfn.functions.traces.capture import captures_in
from nbfn.functions.traces.cause import reasons
from nbfn.views.function import captures_table, retraces_table
from nbfn.views.outline import Outline, Table, Words, advice, reason

MAX_REASONS = 6
MAX_TRACES = 3
"""So many traces of a segment, and retraces of the cell, are shown: the newest."""


def cell_outline(cell: TracedCell) -> Outline:
    """What the view of a cell in segments says, without times: what is stored stays the same."""
    report = cell.report
    said = report.python_lines()
    if len(said) > MAX_REASONS:
        said = [*said[: MAX_REASONS - 1], f"{len(said) - MAX_REASONS + 1} more places"]
    lines: list[Words] = [f"Python: {', '.join(said)}"] if said else []
    for function in cell.functions:
        if function.recorder.last == "retrace" and function.retraces:
            retrace = function.retraces[-1]
            causes = reasons(retrace.causes)
            lines.append(f"{function.label} retraced: {causes}")
            if retrace.remedy is not None:
                lines.append(advice(retrace.remedy, retrace.site))
    if any(segment.draws for segment in report.segments):
        lines.append("functions in a graph draw another sequence of random numbers than eagerly")
    rows = [
        (str(line), GRAPH if how == GRAPH else "Python", "" if how == GRAPH else how)
        for line, how in sorted(report.lines.items())
    ]
    made = [
        (segment, segment.function.traces)
        for segment in report.segments
        if segment.function is not None
    ]
    newest = [(segment, trace) for segment, traces in made for trace in traces[-MAX_TRACES:]]
    traces = [
        (_lines(segment), trace.signature, reason([trace.cause])) for segment, trace in newest
    ]
    total = sum(len(traces) for _, traces in made)
    return Outline(
        f"{cell.label}: {report}",
        lines,
        (
            Table("lines", ("line", "runs as", "why"), rows),
            Table("traces", ("lines", "signature", "cause"), traces, total, newest=len(traces)),
            replace(retraces_table(cell.retraces), newest=MAX_TRACES),
            captures_table(captures_in([trace for _, trace in newest])),
        ),
    )


def _lines(segment: Segment) -> str:
    first, last = segment.lines
    return str(first) if first == last else f"{first}-{last}"
