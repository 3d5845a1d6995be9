"""Watches a thread, from another thread, for work that takes long, and builds records of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbfn import protocol
from nbfn.code import is_library
from nbfn.sessions.messages.runs import Seen
from nbfn.text import duration
from nbfn.underway.work import Extent, Work, under_way

if TYPE_CHECKING:
    from nbfn.functions.watching.activity import Activity

DELAY = 1.0
"""Seconds after which work is shown."""

_VERBS = {"trace": "tracing", "run": "running", "export": "exporting to"}


@dataclass
class _Since:
    """What the thread was observed to do, and since when.

    Attributes:
        doing: The observed activity.
        started: When it was first observed, on the performance counter.
        counters: Its counters after half of `DELAY`; None before.
        loops: The progress of loops in graphs at that time, by id.
    """

    doing: Activity
    started: float
    counters: dict[str, int] | None = None
    loops: dict[int, Extent | None] = field(default_factory=dict)


class ActivityMonitor:
    """Samples what a thread does.

    Attributes:
        seen: What the thread did at the last sample; None for Python.

    Args:
        thread: The thread. Work registered in `nbfn.underway` is included whatever its thread.
        cell_of: Returns the cell whose code a file is, such as ``"In [3]"``; None for other files.
    """

    def __init__(self, thread: int, cell_of: Callable[[str], str | None] = lambda _: None) -> None:
        self._thread = thread
        self._cell_of = cell_of
        self._since: _Since | None = None
        self._records: dict[str, protocol.WorkRecord] = {}
        self._looked = 0.0
        self.seen: Seen | None = None

    def sample(self) -> dict[str, protocol.WorkRecord]:
        """Returns the work that has lasted over a second, by id; updated once a second."""
        now = time.perf_counter()
        self._update(now)
        running = [*under_way()]
        started = [work.started for work in running]
        if self._since is not None:
            started.append(self._since.started)
        if not any(now - each >= DELAY for each in started):
            self._records, self._looked = {}, 0.0
        elif now - self._looked >= DELAY:
            self._records, self._looked = {row.id: row for row in self._rows(now, running)}, now
        return self._records

    def _update(self, now: float) -> None:
        doing = _doing(self._thread)
        if doing is not None:
            self.seen = doing.kind  # type: ignore[assignment]
        else:
            self.seen = (
                "unnoted" if _call_if_imported("runs_unrecorded", self._thread, False) else None
            )
        if doing is None:
            self._since = None
        elif self._since is None or self._since.doing.identity != doing.identity:
            self._since = _Since(doing, now)
        else:
            since = self._since
            since.doing = doing
            if since.counters is None and doing.kind == "run" and now - since.started >= DELAY / 2:
                since.counters = dict(doing.counters())
                since.loops = {id(loop): loop.extent() for loop in _graph_loops()}

    def _rows(self, now: float, running: list[Work]) -> Iterator[protocol.WorkRecord]:
        for work in running:
            if now - work.started >= DELAY:
                yield _row_of(work, now)
        since = self._since
        if since is not None and now - since.started >= DELAY:
            yield from self._rows_of_function(since, int(now - since.started))

    def _rows_of_function(self, since: _Since, seconds: int) -> Iterator[protocol.WorkRecord]:
        doing = since.doing
        details = [duration(seconds)]
        extent: tuple[int | None, int | None] = (None, None)
        if doing.kind == "trace":
            operations = doing.operations()
            if operations is not None:
                extent = operations
                details.append(_count(*operations, "operations", about=True))
            if doing.inner is not None:
                details.append(f"in {doing.inner}")
            place = self._place()
            if place is not None:
                details.append(f"at {place}")
        else:
            for name, value in doing.counters():
                if value != (since.counters or {}).get(name, value):
                    details.append(f"{name} at {value:,}")
        yield protocol.WorkRecord(
            id=f"{doing.kind}-{doing.identity[0]}",
            kind=doing.kind,  # type: ignore[arg-type]
            name=doing.name,
            function=_id_of(doing),
            sentence=f"{_VERBS[doing.kind]} {doing.name}: {', '.join(details)}",
            seconds=seconds,
            done=extent[0],
            total=extent[1],
        )
        if doing.kind == "run":
            yield from self._rows_of_loops(since, doing, seconds)

    def _rows_of_loops(
        self, since: _Since, doing: Activity, seconds: int
    ) -> Iterator[protocol.WorkRecord]:
        for loop in _graph_loops():
            extent = loop.extent()
            if extent is None or extent == since.loops.get(id(loop)):
                continue
            yield _loop_row(
                f"loop-{id(loop)}", loop.name, loop.unit, extent, seconds, _id_of(doing)
            )

    def _place(self) -> str | None:
        """Returns the innermost line of user code at which the thread is."""
        for file, line in _call_if_imported("lines", self._thread, ()):
            cell = self._cell_of(file)
            if cell is not None:
                return f"{cell}, line {line}"
            if not is_library(file):
                return f"{os.path.basename(file)}, line {line}"
        return None


def _row_of(work: Work, now: float) -> protocol.WorkRecord:
    seconds = int(now - work.started)
    if work.kind == "loop":
        return _loop_row(work.id, work.name, work.unit, (work.done, work.total), seconds)
    parts = [duration(seconds), f"{work.unit} {work.done + 1:,} of {work.total:,}", work.step]
    return protocol.WorkRecord.of(
        work,
        function=None,
        sentence=f"{_VERBS[work.kind]} {work.name}: {', '.join(parts)}",
        seconds=seconds,
    )


def _loop_row(
    id: str, name: str, unit: str, extent: Extent, seconds: int, function: str | None = None
) -> protocol.WorkRecord:
    done, total = extent
    parts = [_count(done, total, unit), duration(seconds)]
    if total and 0 < done <= total and seconds:
        parts.append(f"about {duration(round(seconds * (total - done) / done))} left")
    return protocol.WorkRecord(
        id=id,
        kind="loop",
        name=name,
        function=function,
        sentence=f"{name}: {', '.join(parts)}",
        seconds=seconds,
        done=done,
        total=total,
    )


def _id_of(doing: Activity) -> str | None:
    """Returns the id of the function, if nbfn made or watches it."""
    recorder = doing.recorder
    return None if recorder is None else recorder.function_id


def _count(done: int, total: int | None, unit: str, *, about: bool = False) -> str:
    if total is None:
        return f"{done:,} {unit}"
    return f"{done:,} of {'about ' if about else ''}{total:,} {unit}"


def _doing(thread: int) -> Activity | None:
    found: Activity | None = _call_if_imported("activity_of", thread, None)
    return found


def _call_if_imported(name: str, thread: int, otherwise: Any) -> Any:
    """Calls a function of `nbfn.functions.watching.activity`, if the notebook has imported it."""
    function = getattr(sys.modules.get("nbfn.functions.watching.activity"), name, None)
    return otherwise if function is None else function(thread)


def _graph_loops() -> list[Any]:
    loops = getattr(sys.modules.get("nbfn.functions.progress"), "graph_loops", None)
    return [] if loops is None else loops()
