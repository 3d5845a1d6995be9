"""A cell in segments as an outline."""

from __future__ import annotations

from nbfn.functions.segments.cell import TracedCell, python_lines, summary
from nbfn.functions.segments.segment import Segment
from nbfn.views.function import captures_table, retraces_table
from nbfn.views.outline import Outline, Table

MAX_REASONS = 6


def cell_outline(cell: TracedCell) -> Outline:
    """What the view of a cell in segments says, without times: what is stored stays the same."""
    said = python_lines(cell)
    if len(said) > MAX_REASONS:
        said = [*said[: MAX_REASONS - 1], f"{len(said) - MAX_REASONS + 1} more places"]
    lines = [f"Python: {', '.join(said)}"] if said else []
    for function in cell.functions:
        if function.recorder.last == "retrace" and function.retraces:
            retrace = function.retraces[-1]
            causes = "; ".join(cause.sentence for cause in retrace.causes)
            lines.append(f"{function.label} retraced: {causes}")
            if retrace.remedy is not None:
                code = f": {retrace.remedy.code}" if retrace.remedy.code else ""
                lines.append(retrace.remedy.sentence + code)
    if any(segment.draws for segment in cell.segments):
        lines.append("functions in a graph draw another sequence of random numbers than eagerly")
    rows = [
        (str(line), "graph" if how == "graph" else "Python", "" if how == "graph" else how)
        for line, how in sorted(cell.lines.items())
    ]
    traces = [
        (_lines(segment), trace.signature, trace.cause.sentence)
        for segment in cell.segments
        for trace in (segment.function.traces if segment.function is not None else ())
    ]
    return Outline(
        f"{cell.label}: {summary(cell)}",
        lines,
        (
            Table("lines", ("line", "runs as", "why"), rows),
            Table("traces", ("lines", "signature", "cause"), traces),
            retraces_table(cell.retraces),
            captures_table(cell.captures),
        ),
    )


def _lines(segment: Segment) -> str:
    first, last = segment.lines
    return str(first) if first == last else f"{first}-{last}"
