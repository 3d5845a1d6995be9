"""What a feed knows of what it has told, so that a flush costs what has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbfn import protocol

if TYPE_CHECKING:
    from nbfn.functions import Capture


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


class Captured:
    """The variables that some traces capture, counted.

    Attributes:
        nbytes: Size of all of them in bytes.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._counts: Counter[str] = Counter()
        self._sizes: dict[str, int] = {}
        self._fewer: set[str] = set()

    def __contains__(self, id: object) -> bool:
        return id in self._counts

    def __len__(self) -> int:
        return len(self._counts)

    def nbytes_of(self, ids: Iterable[str]) -> int:
        """Size of some of them in bytes."""
        return sum(self._sizes.get(id, 0) for id in ids)

    def add(self, captures: Iterable[Capture]) -> None:
        """Counts what a new trace captures."""
        for each in captures:
            self._counts[each.id] += 1
            if each.id not in self._sizes:
                self._sizes[each.id] = each.nbytes or 0
                self.nbytes += each.nbytes or 0

    def drop(self, captures: Iterable[Capture]) -> None:
        """Counts what a trace captured that is gone."""
        for each in captures:
            self._counts[each.id] -= 1
            self._fewer.add(each.id)

    def gone(self) -> set[str]:
        """Ids of those that no trace captures any more, since this was asked last."""
        gone = {id for id in self._fewer if self._counts[id] <= 0}
        self._fewer.clear()
        for id in gone:
            del self._counts[id]
            self.nbytes -= self._sizes.pop(id)
        return gone


def totals_of(functions: Iterable[protocol.FunctionRecord], **more: int) -> protocol.Totals:
    """What the rows of some functions sum up to, with the totals that no such row tells."""
    rows = list(functions)
    summed = ("calls", "hits", "traces", "retraces", "trace_seconds")
    sums = {name: sum(getattr(row, name) for row in rows) for name in summed}
    nbytes = sum(row.nbytes for row in rows)
    return protocol.Totals(functions=len(rows), trace_nbytes=nbytes, **sums, **more)
