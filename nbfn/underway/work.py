"""Work that may take long: what is done, since when, and how far it is.

Whoever does it says so here; whoever shows it looks here, from another thread.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Extent = tuple[int, int | None]
"""How much is done, and how much there is to do, if that is known."""

_ids = itertools.count(1)


@dataclass(eq=False)
class Work:
    """One piece of work, while it is done.

    Attributes:
        kind: What is done: ``"loop"`` or ``"export"``.
        name: What it is done to.
        unit: What `done` and `total` count, such as ``"steps"``.
        done: How much is done.
        total: How much there is to do, if that is known.
        step: What is being done now.
        started: When it began, on the performance counter.
        id: Unique in this process.
    """

    kind: str
    name: str
    unit: str
    done: int = 0
    total: int | None = None
    step: str = ""
    started: float = field(default_factory=time.perf_counter)
    id: str = field(default_factory=lambda: f"work-{next(_ids)}")

    def next(self, step: str) -> None:
        """Says that the step before is done, and what is being done now."""
        self.done += bool(self.step)
        self.step = step


_under_way: dict[str, Work] = {}


def under_way() -> tuple[Work, ...]:
    """All work that has begun and not ended, oldest first."""
    return tuple(_under_way.values())


@contextmanager
def working(work: Work) -> Iterator[Work]:
    """Says that a piece of work is under way."""
    _under_way[work.id] = work
    try:
        yield work
    finally:
        _under_way.pop(work.id, None)
