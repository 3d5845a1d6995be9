"""Tracks the rows already sent, so that a flush costs what has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbfn import protocol

if TYPE_CHECKING:
    from nbfn.functions import Capture
    from nbfn.sessions.messages.runs import TimelineRun


@dataclass
class SentRows:
    """The rows of a function that were already sent.

    Attributes:
        used: Time, by the recorder's clock, up to which uses of traces were sent.
        traces: Ids of the traces.
        retrace_counts: Number of retraces made, and of those listed.
        retraces: Ids of the retraces.
        captured: What the traces have captured, by id; replaced when it changes.
        row: The row of the function itself.
    """

    used: int = -1
    traces: frozenset[str] = frozenset()
    retrace_counts: tuple[int, int] = (-1, -1)
    retraces: set[str] = field(default_factory=set)
    captured: Mapping[str, Capture] = field(default_factory=dict)
    row: protocol.FunctionRecord | None = None


def totals_of(
    functions: Iterable[protocol.FunctionRecord],
    cells: Iterable[Collection[str]],
    runs: Collection[TimelineRun],
    **others: int,
) -> protocol.Totals:
    """Computes the totals; the only place that defines what is counted.

    Args:
        functions: The rows of all functions, including those of cells.
        cells: For each cell in segments, the ids of its functions.
        runs: The runs of the notebook's cells; empty in a script.
        others: The totals of variables, models and devices.
    """
    rows = list(functions)
    of_cells = [set(each) for each in cells]
    inside = set().union(*of_cells)
    summed = ("calls", "hits", "traces", "retraces")
    timed = runs or rows
    return protocol.Totals(
        functions=sum(row.id not in inside for row in rows),
        cells=len(of_cells),
        trace_seconds=sum(
            each.trace_seconds if isinstance(each, protocol.FunctionRecord) else each.tracing
            for each in timed
        ),
        trace_nbytes=sum(row.nbytes for row in rows),
        runs=sum(each.runs for each in runs),
        run_seconds=sum(each.seconds for each in runs),
        **{name: sum(getattr(row, name) or 0 for row in rows) for name in summed},
        **others,
    )
