"""The runs of a notebook's cells: when each ran, and where its time went.

This is plain Python, because cells also run before TensorFlow is imported. Of a cell, only its id
and execution count are kept.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from nbfn.site import Cell
from nbfn.underway.spent import spent_here, spent_in_all

MAX_RUNS = 240
"""Maximum number of rows for all runs of a session."""

NEWEST = 160
"""Number of newest runs that are never merged."""

DELAY = 1.0
"""Seconds after which a running cell is reported, and between later reports."""

Seen = Literal["trace", "run", "unnoted"]
"""What a thread was observed to do: trace, run a graph, or run a graph of a function that is not
recorded because nbfn did not make it."""

Ending = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class TimelineRun:
    """A run of a cell, or several successive runs merged, with the fields of `protocol.RunRecord`.

    `sampled`, a part of `graph`, is the time in graphs of functions that are not recorded, found by
    sampling ten times a second. `calls` and `traces` count all threads; `calls` counts outermost
    calls only, and no hits of functions that are not watched. `copied_nbytes` counts copies of
    known size. `devices` has those that TensorFlow counts.
    """

    id: str
    cell: Cell
    first: int | None
    last: int | None
    time: float
    end: float
    seconds: float
    tracing: float
    graph: float
    sampled: float
    elsewhere: float
    calls: int
    traces: int
    watched: int
    copies: int
    copied_nbytes: int
    runs: int = 1
    longest: float = 0.0
    failed: int = 0
    interrupted: int = 0
    running: bool = False
    segments: str | None = None
    memory: int | None = None
    devices: dict[str, tuple[int, int]] | None = None


_ADDED = (
    *("seconds", "tracing", "graph", "sampled", "elsewhere", "calls", "traces"),
    *("watched", "copies", "copied_nbytes", "runs", "failed", "interrupted"),
)


def merge_runs(first: TimelineRun, then: TimelineRun) -> TimelineRun:
    """Returns two successive runs merged into one."""
    longest = max(first, then, key=lambda each: each.longest)
    return replace(
        longest,
        id=first.id,
        first=first.first,
        last=then.last,
        time=first.time,
        end=then.end,
        running=then.running,
        segments=None,
        memory=max(filter(None, (first.memory, then.memory)), default=None),
        devices=_most(first.devices, then.devices),
        **{name: getattr(first, name) + getattr(then, name) for name in _ADDED},
    )


def _most(*all_of: dict[str, tuple[int, int]] | None) -> dict[str, tuple[int, int]] | None:
    """Returns the maximum, over several runs, of what each device held at their ends."""
    found: dict[str, tuple[int, int]] = {}
    for devices in all_of:
        for name, (current, peak) in (devices or {}).items():
            most = found.get(name, (0, 0))
            found[name] = max(current, most[0]), max(peak, most[1])
    return found or None


def merged(runs: Iterable[TimelineRun], most: int, newest: int = 0) -> list[TimelineRun]:
    """Merges successive runs until at most `most` are left; keeps the `newest` runs as they are.

    Each step merges the two neighbours that together span the least time. So long runs, and runs
    after long pauses, stay separate.
    """
    found = list(runs)
    while len(found) > max(most, newest + 1):
        at = min(range(1, len(found) - newest), key=lambda i: found[i].end - found[i - 1].time)
        found[at - 1 : at + 1] = [merge_runs(found[at - 1], found[at])]
    return found


class _Meter:
    """Measures a run while it lasts; created on the thread of the cell."""

    def __init__(self, id: str, cell: Cell) -> None:
        self._id = id
        self._cell = cell
        self._own = spent_here()
        self._before = self._own.copy()
        self._all = spent_in_all()
        self._building = _building_seconds()
        self._seen: Counter[Seen | None] = Counter()
        # Both clocks: `perf_counter` measures, as the time of day may be set during the run.
        self._time = time.time()
        self._started = self._looked = time.perf_counter()

    def add_sample(self, seen: Seen | None) -> float:
        """Adds a sample of what the thread does; returns the seconds since the run began."""
        now = time.perf_counter()
        self._seen[seen] += now - self._looked  # type: ignore[assignment]
        self._looked = now
        return now - self._started

    def run(self, ending: Ending | None = None, segments: str | None = None) -> TimelineRun:
        """Returns the run up to now; unfinished calls count with their sampled time."""
        seconds = time.perf_counter() - self._started
        own, every = self._own.since(self._before), spent_in_all().since(self._all)
        others = every.since(own)
        # TensorFlow counts the time of all graphs, including those of tf.data and of functions that
        # nbfn did not make, but not by thread; the time of nbfn's own functions is known by thread.
        tracing = max(own.tracing, _building_seconds() - self._building - others.tracing)
        running = own.running
        if ending is None:
            tracing, running = max(tracing, self._seen["trace"]), max(running, self._seen["run"])
        tracing = min(tracing, seconds)
        running = min(running, seconds - tracing)
        sampled = min(self._seen["unnoted"], seconds - tracing - running)
        return TimelineRun(
            id=self._id,
            cell=self._cell,
            first=self._cell.execution_count,
            last=self._cell.execution_count,
            time=self._time,
            end=self._time + seconds,
            seconds=seconds,
            tracing=tracing,
            graph=running + sampled,
            sampled=sampled,
            elsewhere=others.running + others.tracing,
            calls=every.calls,
            traces=every.traces,
            watched=every.watched,
            copies=every.copies,
            copied_nbytes=every.copied_nbytes,
            longest=seconds,
            failed=ending == "failed",
            interrupted=ending == "interrupted",
            running=ending is None,
            segments=segments,
            memory=process_memory(),
            # The devices of an unfinished run are omitted: it is read on a thread that must not
            # call TensorFlow.
            devices=None if ending is None else device_memory(),
        )


def process_memory() -> int | None:
    """Returns the resident memory of this process in bytes; None if unknown."""
    # Not imported here, because the main thread may be importing it; ipykernel has imported psutil.
    process = getattr(sys.modules.get("psutil"), "Process", None)
    return None if process is None else int(process().memory_info().rss)


def device_memory() -> dict[str, tuple[int, int]] | None:
    """Returns the current and peak bytes of each device where TensorFlow counts them."""
    read = getattr(sys.modules.get("nbfn._tensorflow"), "memory_of_devices", None)
    return (read() if read is not None else None) or None


class Timeline:
    """The runs of a kernel's cells, oldest first, in a bounded number of rows.

    Attributes:
        changed: Incremented on each change.
    """

    def __init__(self) -> None:
        self.changed = 0
        self._rows: list[TimelineRun] = []
        self._meter: _Meter | None = None
        self._reported = 0.0
        self._lock = threading.Lock()
        self._ids = itertools.count(1)

    def rows(self) -> tuple[TimelineRun, ...]:
        """Returns the rows; an unchanged row is the same object as before."""
        with self._lock:
            return tuple(self._rows)

    def begin(self, cell: Cell) -> None:
        """Records that a cell begins on this thread. Cells that it runs itself are part of it."""
        self._meter, self._reported = _Meter(f"run-{next(self._ids)}", cell), 0.0

    def add_sample(self, seen: Seen | None) -> None:
        """Records a sample of what the cell does, taken on another thread."""
        meter = self._meter
        if meter is None:
            return
        elapsed = meter.add_sample(seen)
        if elapsed >= self._reported + DELAY:
            self._reported = elapsed
            run = meter.run()
            with self._lock:
                if self._meter is meter:  # it has not ended in the meantime
                    self._add(run)

    def end(self, ending: Ending) -> None:
        """Records that the cell has ended."""
        meter, self._meter = self._meter, None
        if meter is not None:
            run = meter.run(ending, _segments_of(meter._cell))
            with self._lock:
                self._add(run)

    def clear(self) -> None:
        """Removes all runs."""
        with self._lock:
            self._meter, self._rows = None, []
            self.changed += 1

    def _add(self, run: TimelineRun) -> None:
        if self._rows and self._rows[-1].id == run.id:
            self._rows[-1] = run
        else:
            self._rows = merged([*self._rows, run], MAX_RUNS, NEWEST)
        self.changed += 1


def _building_seconds() -> float:
    """Returns the seconds that TensorFlow has spent on building graphs in this process."""
    count = getattr(sys.modules.get("nbfn._tensorflow"), "building_seconds", None)
    return (count() or 0.0) if count is not None else 0.0


def _segments_of(cell: Cell) -> str | None:
    """Returns the report of a cell in segments as text; None for other cells."""
    live = getattr(sys.modules.get("nbfn.functions.segments.cell"), "live_cells", None)
    found = [each for each in live() if each.place == cell] if live is not None else []
    return str(found[-1].report) if found else None


runs = Timeline()
"""The runs of this kernel."""
