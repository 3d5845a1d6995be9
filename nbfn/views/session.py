"""The session as an outline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from nbfn.functions.traces.capture import short_device
from nbfn.sessions.feed import feed
from nbfn.sessions.session import Session
from nbfn.sessions.timeline.runs import Run, runs
from nbfn.text import count, duration, sizes
from nbfn.views.outline import MAX_ROWS, Outline, Table

AUTO = "`%tf_auto` is on: cells without a magic of their own run in segments"


def session_outline(session: Session) -> Outline:
    """What the view of the session says."""
    functions = [
        (name + f.parameters, str(len(f.traces)), str(f.calls), str(f.hits), str(len(f.retraces)))
        for name, f in session.functions.items()
    ]
    cells = [(name, str(cell.report)) for name, cell in session.cells.items()]
    variables = session.variables
    users = session.users
    rows = [
        (name, sizes(v.shape), v.dtype.name, short_device(v.device), ", ".join(users(v)))
        for name, v in islice(variables.items(), MAX_ROWS)
    ]
    modules = session.modules | session.models
    others = session.tables | session.datasets | session.iterators | session.optimizers
    return Outline(
        f"session: {count(len(functions), 'function')}, {count(len(modules), 'module')}, "
        f"{count(len(variables), 'variable')}",
        [*([AUTO] if feed().environment.auto else []), *_time_lines(runs.rows())],
        (
            Table("functions", ("function", "traces", "calls", "hits", "retraces"), functions),
            Table("cells", ("cell", "runs as"), cells),
            Table("modules", ("name", "class"), _classes(modules.items())),
            Table(
                "variables",
                ("name", "shape", "dtype", "device", "captured by"),
                rows,
                total=len(variables),
            ),
            Table(
                "tables, datasets, iterators, optimizers",
                ("name", "class"),
                _classes(others.items()),
            ),
        ),
    )


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
    shares = ", ".join(f"{each / seconds:.0%} {name}" for name, each in parts)
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
