"""Registry of running work. Producers register their work here; displays read its progress.

The displays read it from another thread.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Extent = tuple[int, int | None]
"""The amount done, and the total amount if known."""

_ids = itertools.count(1)


@dataclass(eq=False)
class Work:
    """One piece of running work.

    Attributes:
        kind: ``"loop"`` or ``"export"``.
        name: What it works on.
        unit: What `done` and `total` count, such as ``"steps"``.
        done: Amount done.
        total: Total amount, if known.
        step: Description of the current step.
        started: Start time on the performance counter.
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
        """Marks the current step as done, and begins the next one."""
        self.done += bool(self.step)
        self.step = step


_under_way: dict[str, Work] = {}


def under_way() -> tuple[Work, ...]:
    """Returns all running work, oldest first."""
    return tuple(_under_way.values())


@contextmanager
def working(work: Work) -> Iterator[Work]:
    """Registers work while the block runs."""
    _under_way[work.id] = work
    try:
        yield work
    finally:
        _under_way.pop(work.id, None)
