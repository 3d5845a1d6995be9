"""Tracks the rows already sent, so that a flush costs what has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbfn import protocol

if TYPE_CHECKING:
    from nbfn.functions import Capture
    from nbfn.sessions.timeline.runs import TimelineRun


@dataclass
class SentRows:
    """The rows of a function that were already sent.

    Attributes:
        used: Time, by the recorder's clock, up to which uses of traces were sent.
        traces: The captures of each trace, by trace id.
        retrace_counts: Number of retraces made, and of those listed.
        retraces: Ids of the retraces.
        captured: Ids of what the traces have captured.
        row: The row of the function itself.
    """

    used: int = -1
    traces: dict[str, tuple[Capture, ...]] = field(default_factory=dict)
    retrace_counts: tuple[int, int] = (-1, -1)
    retraces: set[str] = field(default_factory=set)
    captured: frozenset[str] = frozenset()
    row: protocol.FunctionRecord | None = None


VARIABLE = "variable-"
"""Prefix of the ids of variables among the ids of captures."""


class HolderCounts:
    """Counts the holders of each capture: traces, and the notebook's names.

    Attributes:
        variables: Number of held variables.
        nbytes: Their size in bytes.
    """

    def __init__(self) -> None:
        self.variables = 0
        self.nbytes = 0
        self._counts: Counter[str] = Counter()
        self._sizes: dict[str, int] = {}
        self._fewer: set[str] = set()

    def __contains__(self, id: object) -> bool:
        return id in self._counts

    def without(self, ids: Iterable[str]) -> tuple[int, int]:
        """Returns the number and size in bytes of the variables, except those with `ids`."""
        left = [self._sizes.get(id, 0) for id in ids if id.startswith(VARIABLE)]
        return self.variables - len(left), self.nbytes - sum(left)

    def add(self, sizes: Iterable[tuple[str, int | None]]) -> None:
        """Adds a holder of these ids, given with sizes in bytes."""
        for id, nbytes in sizes:
            self._counts[id] += 1
            if id not in self._sizes:
                self._sizes[id] = nbytes or 0
                self._count(id, 1)

    def drop(self, ids: Iterable[str]) -> None:
        """Removes a holder of these ids."""
        for id in ids:
            self._counts[id] -= 1
            self._fewer.add(id)

    def take_dropped(self) -> set[str]:
        """Removes and returns the ids that have lost their last holder since the last call."""
        dropped = {id for id in self._fewer if self._counts[id] <= 0}
        self._fewer.clear()
        for id in dropped:
            del self._counts[id]
            self._count(id, -1)
            del self._sizes[id]
        return dropped

    def _count(self, id: str, by: int) -> None:
        if id.startswith(VARIABLE):
            self.variables += by
            self.nbytes += by * self._sizes[id]


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
