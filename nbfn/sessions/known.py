"""What a feed knows of what it has told, so that a flush costs what has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from nbfn import protocol

if TYPE_CHECKING:
    from nbfn.functions import Capture


class Timed(Protocol):
    """A run of a cell, as far as its totals go."""

    @property
    def tracing(self) -> float:
        """Seconds that went into making graphs."""


@dataclass
class KnownRows:
    """Which rows of a function a subscriber has got.

    Attributes:
        used: The `last_used` of the trace that was used last.
        traces: What each trace captures, by the trace's id.
        retrace_counts: How many retraces there have been, and how many of these are listed.
        retraces: Ids of the retraces.
        row: The row of the function itself.
    """

    used: int = -1
    traces: dict[str, tuple[Capture, ...]] = field(default_factory=dict)
    retrace_counts: tuple[int, int] = (-1, -1)
    retraces: set[str] = field(default_factory=set)
    row: protocol.FunctionRecord | None = None


VARIABLE = "variable-"
"""How the ids of variables begin, among those of everything that traces capture."""


class Held:
    """What some traces capture and the notebook's names lead to, counted.

    Attributes:
        variables: How many variables are among it.
        nbytes: Size of these in bytes.
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
        """How many variables there are besides some of them, and their size in bytes."""
        left = [self._sizes.get(id, 0) for id in ids if id.startswith(VARIABLE)]
        return self.variables - len(left), self.nbytes - sum(left)

    def add(self, sizes: Iterable[tuple[str, int | None]]) -> None:
        """Counts what a new holder has: ids and sizes in bytes."""
        for id, nbytes in sizes:
            self._counts[id] += 1
            if id not in self._sizes:
                self._sizes[id] = nbytes or 0
                self._count(id, 1)

    def drop(self, ids: Iterable[str]) -> None:
        """Counts what a holder has no longer."""
        for id in ids:
            self._counts[id] -= 1
            self._fewer.add(id)

    def gone(self) -> set[str]:
        """Ids of those that nothing holds any more, since this was asked last."""
        gone = {id for id in self._fewer if self._counts[id] <= 0}
        self._fewer.clear()
        for id in gone:
            del self._counts[id]
            self._count(id, -1)
            del self._sizes[id]
        return gone

    def _count(self, id: str, by: int) -> None:
        if id.startswith(VARIABLE):
            self.variables += by
            self.nbytes += by * self._sizes[id]


def totals_of(
    functions: Iterable[protocol.FunctionRecord],
    cells: Iterable[Collection[str]],
    runs: Collection[Timed],
    **variables: int,
) -> protocol.Totals:
    """The totals: the one place that says what is counted.

    Args:
        functions: The rows of all functions, those of cells included.
        cells: Of each cell in segments the ids of its functions.
        runs: The runs of the notebook's cells; none in a script.
        variables: The totals that are of variables.
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
        **{name: sum(getattr(row, name) for row in rows) for name in summed},
        **variables,
    )
