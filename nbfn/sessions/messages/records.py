"""Builds protocol records of traced functions and cells."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from nbfn import protocol
from nbfn.functions import Capture, Retrace, Trace, TracedFunction
from nbfn.functions.calls.record import Observed, Record
from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.segments.cell_report import GRAPH
from nbfn.functions.segments.segment import Segment
from nbfn.functions.watching.watched_object import WatchedObject
from nbfn.outlines.lists import cell_row, function_row
from nbfn.sessions.messages.sent_rows import SentRows
from nbfn.site import Cell, Site
from nbfn.text import duration, percent

MAX_LINES = 30
"""Maximum number of lines of a function that are sent with their times: the slowest."""

Names = Mapping[str, str]
"""Display names by function or cell id, where the own name is not unique."""

NO_NAMES: Names = MappingProxyType({})

LAMBDA = "<lambda>"
"""Name that Python gives to a lambda."""


def state_of(
    functions: Iterable[Observed], most: int | None = None, names: Names = NO_NAMES
) -> protocol.Rows:
    """Returns the rows of functions with their traces, retraces and captured variables.

    `most` limits the traces per function to the newest; by default all are included.
    """
    rows, captured = protocol.Rows(), dict[str, Capture]()
    for function in functions:
        captured |= add_rows(rows, function, SentRows(), most, names).captured
    shown = {id for trace in rows.traces.values() for id in trace.captures}
    rows.variables.update(
        (id, protocol.VariableRecord.of(each)) for id, each in captured.items() if id in shown
    )
    return rows


def cell_record(cell: TracedCell, names: Names = NO_NAMES) -> protocol.TracedCellRecord:
    """Returns the row of a traced cell."""
    report = cell.report
    seconds, eager_seconds = cell.seconds
    call = _call_of(cell, report.segments)
    has_traced = call in ("trace", "retrace") or cell.runs == 1
    is_compared = report.segments and seconds > 0 and eager_seconds != seconds and not has_traced
    functions = functions_of(cell)
    row = protocol.TracedCellRecord(
        id=cell.id,
        name=names.get(cell.id, cell.label),
        cell=None if cell.place is None else code_place(cell.place),
        source=cell.plan.source,
        lines={n: None if how == GRAPH else how for n, how in sorted(report.lines.items())},
        sentence=str(report),
        python=report.python_lines(),
        segments=[
            protocol.SegmentRecord(
                function=segment.function.id,
                first=segment.lines[0],
                last=segment.lines[1],
                seconds=segment.times.graph,
                eager_seconds=segment.times.python,
            )
            for segment in report.segments
            if segment.function is not None
        ],
        functions=[function.id for function in functions],
        graph_statements=report.in_graphs,
        statements=report.statements,
        seconds=seconds,
        eager_seconds=eager_seconds,
        runs=cell.runs,
        draws=any(segment.draws for segment in report.segments),
        call=call,
        speedup=cell.speedup if is_compared else None,
    )
    return cell_row(
        row,
        (
            (len(traces := list(each.traces)), each.recorder.trace_seconds, _nbytes(traces))
            for each in functions
        ),
    )


def _call_of(cell: TracedCell, segments: Iterable[Segment]) -> protocol.CallKind:
    """Classifies a cell's last run: a retrace if there was one, else a trace, else hits."""
    functions = [each.function for each in segments if each.function is not None]
    count = cell.place.execution_count if cell.place is not None else None

    def is_new(records: Sequence[Retrace | Trace]) -> bool:
        site = records[-1].site.cell if records else None
        return count is not None and site is not None and site.execution_count == count

    if not functions:
        return "idle"
    if any(is_new(each.retraces) for each in functions):
        return "retrace"
    return "trace" if any(is_new(each.traces) for each in functions) else "hit"


def functions_of(cell: TracedCell) -> list[TracedFunction]:
    """Returns the functions of all segments, in text order."""
    segments = sorted(cell.plan.segments.values(), key=lambda each: each.lines)
    return [each.function for each in segments if each.function is not None]


def parts_of(shown: Observed | TracedCell | WatchedObject) -> Sequence[Observed]:
    """Returns the functions of a cell or of an observed object; of a function, itself."""
    if isinstance(shown, TracedCell):
        return functions_of(shown)
    return list(shown.found.values()) if isinstance(shown, WatchedObject) else [shown]


def add_rows(
    rows: protocol.Rows,
    function: Observed,
    sent: SentRows,
    most: int | None = None,
    names: Names = NO_NAMES,
) -> SentRows:
    """Adds the rows of one function, its traces and retraces to a state.

    Rows in `sent` are omitted unless they changed, and so are all but the newest `most` traces.

    Returns:
        All current rows, including those that were not added.
    """
    recorder = function.recorder
    name = names.get(function.id) or name_of(function)
    with recorder.lock:
        traces = list(recorder.traces.values())
        retraces = list(recorder.retraces)
        # Only changed traces become rows: scanning 10,000 traces takes less than a millisecond. For
        # a function that nbfn did not make, `last_used` is not recorded and stays 0.
        used = sent.used
        changed = [each for each in traces if (last := each.last_used) > used or not last]
        added = [each for each in changed if each.id not in sent.traces]
        now = SentRows(
            recorder.changed,
            sent.traces.union(each.id for each in added) if added else sent.traces,
            (recorder.retraces_made, recorder.retrace_count),
            sent.retraces,
            _captured(added, sent.captured),
        )
        settled = len(now.traces) != len(traces)
        if settled:
            now.traces = frozenset(each.id for each in traces)
            now.captured = _captured(traces, {})
        row = sent.row if now.traces is sent.traces else None
        is_counted = getattr(function, "counts_hits", True)
        record = protocol.FunctionRecord.of(
            recorder,
            id=function.id,
            name=name,
            parameters=function.parameters,
            calls=recorder.calls if is_counted else None,
            hits=recorder.hits if is_counted else None,
            cell=code_place(function.site),
            traces=len(traces),
            retraces=recorder.retrace_count,
            nbytes=_nbytes(traces) if row is None else row.nbytes,
            last_trace=recorder.last_trace.id if recorder.last_trace else None,
            last_retrace=_retrace_id(function.id, retraces[-1]) if retraces else None,
            title="",
            note="",
            measures=[],
            lines=_line_times(recorder),
        )
        now.row = rows.functions[function.id] = function_row(record)
        is_noted = all(each.last_used for each in changed)
        if most is not None:
            served = [each for each in changed[:-most] if each is recorder.last_trace]
            changed = served + changed[-most:]
        for trace in changed:
            rows.traces[trace.id] = trace_record(trace, function.id)
    if settled or not is_noted or now.retrace_counts != sent.retrace_counts:
        ids = {_retrace_id(function.id, each): each for each in retraces}
        now.retraces = set(ids)
        is_known = sent.retraces if is_noted and not settled else set()
        numbers = {trace.number: trace.id for trace in traces}
        for id, retrace in list(ids.items())[-most if most is not None else 0 :]:
            if id not in is_known:
                rows.retraces[id] = retrace_record(retrace, function.id, numbers)
    return now


def _line_times(recorder: Record) -> list[protocol.LineTimeRecord]:
    return [
        protocol.LineTimeRecord(
            cell=code_place(site),
            share=round(share, 4),
            text=f"{percent(share)} · {duration(seconds)}",
        )
        for site, seconds, share in recorder.lines[:MAX_LINES]
    ]


def _nbytes(traces: Iterable[Trace]) -> int:
    return sum(each.nbytes for each in traces)


def _captured(traces: Iterable[Trace], known: Mapping[str, Capture]) -> Mapping[str, Capture]:
    """Returns what is known and what some traces have captured; the same object if that is all."""
    found = {each.id: each for trace in traces for each in trace.captures if each.id not in known}
    return {**known, **found} if found else known


def name_of(function: Observed) -> str:
    """Returns the name of a function; for a lambda, that of a variable that leads to it."""
    name = function.recorder.name
    if LAMBDA not in name:
        return name
    expression = getattr(function.recorder, "reference_expression", None)
    try:
        found = expression() if expression is not None else None
    except RuntimeError:  # the namespace changed during the search, on another thread
        found = None
    return found or f"lambda ({function.site})"


def code_place(where: Site | Cell) -> protocol.CodePlace:
    """Returns the record of a place in the source: a line, or a whole cell."""
    site = Site(None, None, where) if isinstance(where, Cell) else where
    if site.cell is not None:
        return protocol.CodePlace(
            id=site.cell.id, execution_count=site.cell.execution_count, line=site.line
        )
    if not site.file:
        return protocol.CodePlace(line=site.line)
    return protocol.CodePlace(
        line=site.line, file=os.path.basename(site.file), path=_relative(site.file)
    )


@functools.lru_cache(maxsize=1000)
def _relative(file: str) -> str | None:
    """Returns the path of a file relative to the kernel's folder; None for files elsewhere.

    Absolute paths would reveal the author's machine in saved notebooks, and no page can open them.
    """
    path = Path(file)
    try:
        return path.relative_to(Path.cwd()).as_posix() if path.is_file() else None
    except (OSError, ValueError):
        return None


def trace_record(trace: Trace, function: str = "") -> protocol.TraceRecord:
    """Returns the row of a trace of the function with this id."""
    leaves = trace.key.shown.items()
    return protocol.TraceRecord.of(
        trace,
        function=function,
        signature=[protocol.Leaf(path=path, type=str(leaf)) for path, leaf in leaves],
        cause=protocol.CauseRecord.of(trace.cause),
        cell=code_place(trace.site),
        captures=[capture.id for capture in trace.captures],
    )


def _retrace_id(function: str, retrace: Retrace) -> str:
    return f"{function}-retrace-{retrace.number}"


def retrace_record(
    retrace: Retrace, function: str = "", trace_ids: Mapping[int, str] | None = None
) -> protocol.RetraceRecord:
    """Returns the row of a retrace; it is settled if its trace is not in `trace_ids`."""
    ids = {} if trace_ids is None else trace_ids
    remedy = retrace.remedy
    return protocol.RetraceRecord.of(
        retrace,
        id=_retrace_id(function, retrace),
        function=function,
        trace=ids.get(retrace.trace, ""),
        settled=trace_ids is not None and retrace.trace not in ids,
        causes=[protocol.CauseRecord.of(cause) for cause in retrace.causes],
        nearest=[ids[number] for number in retrace.nearest if number in ids],
        cell=code_place(retrace.site),
        remedy=None if remedy is None else protocol.RemedyRecord.of(remedy),
    )
