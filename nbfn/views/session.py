"""The session as an outline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from nbfn import protocol
from nbfn.functions.traces.capture import capture_id, short_device
from nbfn.outlines.outline import MAX_ROWS, Outline, Table
from nbfn.sessions.feed import feed
from nbfn.sessions.session import Session
from nbfn.sessions.timeline.runs import Run, runs
from nbfn.text import count, duration, percent, tensor_type

AUTO = "`%tf_auto` is on: cells without a magic of their own run in segments"


def session_outline(session: Session) -> Outline:
    """What the view of the session says."""
    seen = session.shown
    totals = seen.totals or protocol.Totals()
    listed, in_segments = session.listed
    functions = [
        (
            name + f.parameters,
            *(f"{each:,}" for each in (len(f.traces), f.calls, f.hits, f.recorder.retrace_count)),
        )
        for name, f in listed.items()
    ]
    cells = [(name, str(cell.report)) for name, cell in in_segments.items()]
    variables = session.variables
    users = session.users
    rows = [
        (name, tensor_type(v.dtype.name, v.shape), short_device(v.device), ", ".join(users(v)))
        for name, v in islice(variables.items(), MAX_ROWS)
    ]
    named = {capture_id(each) for each in variables.values()}
    unnamed = (
        (each.name, tensor_type(each.dtype, each.shape), each.device, _users(seen.state, each))
        for each in seen.state.variables.values()
        if each.kind == "variable" and each.id not in named
    )
    rows += islice(unnamed, MAX_ROWS - len(rows))
    modules = session.modules | session.models
    others = session.tables | session.datasets | session.iterators | session.optimizers
    return Outline(
        "session: "
        + ", ".join(
            count(number, noun)
            for number, noun in (
                (totals.functions, "function"),
                (totals.cells, "cell"),
                (len(modules), "module"),
                (totals.variables, "variable"),
            )
        ),
        [
            *([AUTO] if feed().environment.auto else []),
            *([_totals_line(totals)] if totals.traces else []),
            *_time_lines(runs.rows()),
        ],
        (
            Table("functions", ("function", "traces", "calls", "hits", "retraces"), functions),
            Table("cells", ("cell", "runs as"), cells),
            Table("modules", ("name", "class"), _classes(modules.items())),
            Table(
                "variables",
                ("name", "dtype and shape", "device", "captured by"),
                rows,
                total=totals.variables,
            ),
            Table(
                "tables, datasets, iterators, optimizers",
                ("name", "class"),
                _classes(others.items()),
            ),
        ),
    )


def _users(state: protocol.State, variable: protocol.VariableRecord) -> str:
    """The names of the functions whose traces capture a variable."""
    traces = [each for each in state.traces.values() if variable.id in each.captures]
    return ", ".join(dict.fromkeys(state.functions[each.function].name for each in traces))


def _totals_line(totals: protocol.Totals) -> str:
    counted = ", ".join(
        count(getattr(totals, noun + "s"), noun) for noun in ("call", "hit", "trace", "retrace")
    )
    return f"{counted}, {duration(totals.trace_seconds)} to trace"


def _time_lines(rows: Sequence[Run]) -> list[str]:
    """Where the time of the notebook's cells went; nothing before one has ended."""
    ended = [run for run in rows if not run.is_running]
    seconds = sum(run.seconds for run in ended)
    if not seconds:
        return []
    parts = (
        ("tracing", sum(run.tracing for run in ended)),
        ("running graphs", sum(run.graph for run in ended)),
        ("Python and everything else", sum(run.python for run in ended)),
    )
    cells = count(sum(run.runs for run in ended), "run")
    shares = ", ".join(f"{percent(each / seconds)} {name}" for name, each in parts)
    lines = [f"where the time went: {duration(seconds)} in {cells} of cells: {shares}"]
    watched = sum(run.watched for run in ended)
    if watched:
        copies = sum(run.copies for run in ended)
        lines.append(
            f"copies between devices: {copies:,} in {count(watched, 'watched call')}; of other "
            "calls they are not known"
        )
    return lines


def _classes(named: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(name, type(value).__name__.lstrip("_")) for name, value in named]
