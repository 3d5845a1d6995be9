"""The runs of a notebook's cells: when each was, and what it has spent on what.

This is plain Python, as cells run before TensorFlow is imported, too. Nothing of the user's is kept
but the cells' ids and numbers.
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
from nbfn.spent import spent_here, spent_in_all

MAX_RUNS = 240
"""So many rows stand for all runs of a session, however long it lasts."""

NEWEST = 160
"""So many of them, the newest, are single runs; older ones may be merged."""

DELAY = 1.0
"""Seconds after which a run is told of before it has ended, and after which it is told of again."""

Seen = Literal["trace", "run", "unnoted"]
"""What a thread was seen to do: to trace, to run a graph, or to run one of a function that notes
nothing, because nbfn did not make it."""

Ending = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a cell, or several in a row, with the fields of `protocol.RunRecord`.

    But `running` is what calls of traces took, so far as functions note it themselves, and
    `sampled` how much more was seen to go into graphs of other functions, by looking ten times a
    second; `is_running` says whether the run goes on. `elsewhere` is no part of `seconds`. Calls
    and traces are those of all threads, calls the outermost ones; of functions that are not
    watched, hits are not seen. `copied_nbytes` has what is known. Devices on which TensorFlow does
    not count are left out.
    """

    id: str
    cell: Cell
    first: int | None
    last: int | None
    time: float
    end: float
    seconds: float
    tracing: float
    running: float
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
    is_running: bool = False
    segments: str | None = None
    memory: int | None = None
    devices: dict[str, tuple[int, int]] | None = None

    @property
    def graph(self) -> float:
        """Seconds in graphs."""
        return self.running + self.sampled

    @property
    def python(self) -> float:
        """Seconds in everything that is neither tracing nor a graph."""
        return max(self.seconds - self.tracing - self.graph, 0.0)


_ADDED = (
    *("seconds", "tracing", "running", "sampled", "elsewhere", "calls", "traces"),
    *("watched", "copies", "copied_nbytes", "runs", "failed", "interrupted"),
)


def together(first: Run, then: Run) -> Run:
    """Two neighbours as one."""
    longest = max(first, then, key=lambda each: each.longest)
    return replace(
        longest,
        id=first.id,
        first=first.first,
        last=then.last,
        time=first.time,
        end=then.end,
        is_running=then.is_running,
        segments=None,
        memory=max(filter(None, (first.memory, then.memory)), default=None),
        devices=_most(first.devices, then.devices),
        **{name: getattr(first, name) + getattr(then, name) for name in _ADDED},
    )


def _most(*all_of: dict[str, tuple[int, int]] | None) -> dict[str, tuple[int, int]] | None:
    """The most that each device had at the end of several runs."""
    found: dict[str, tuple[int, int]] = {}
    for devices in all_of:
        for name, (held, peak) in (devices or {}).items():
            most = found.get(name, (0, 0))
            found[name] = max(held, most[0]), max(peak, most[1])
    return found or None


def merged(runs: Iterable[Run], most: int, newest: int = 0) -> list[Run]:
    """The runs, oldest first, as no more than `most`; so many of the newest stay as they are.

    Time and again the two neighbours that span least are made one. So what took long, and what is
    long ago from anything else, stays apart.
    """
    found = list(runs)
    while len(found) > max(most, newest + 1):
        at = min(range(1, len(found) - newest), key=lambda i: found[i].end - found[i - 1].time)
        found[at - 1 : at + 1] = [together(found[at - 1], found[at])]
    return found


class _Meter:
    """Measures a run while it goes on; made on the thread of the cell."""

    def __init__(self, id: str, cell: Cell) -> None:
        self._id = id
        self._cell = cell
        self._own = spent_here()
        self._before = self._own.copy()
        self._all = spent_in_all()
        self._building = _building_seconds()
        self._seen: Counter[Seen | None] = Counter()
        self._time = time.time()
        self._started = self._looked = time.perf_counter()

    def look(self, seen: Seen | None) -> float:
        """Notes what the thread was seen to do; returns for how long the run has gone on."""
        now = time.perf_counter()
        self._seen[seen] += now - self._looked  # type: ignore[assignment]
        self._looked = now
        return now - self._started

    def run(self, ending: Ending | None = None, segments: str | None = None) -> Run:
        """The run up to now; with what is under way, as far as it has been seen, if it goes on."""
        seconds = time.perf_counter() - self._started
        own, every = self._own.since(self._before), spent_in_all().since(self._all)
        others = every.since(own)
        # TensorFlow counts all graphs that are built, also those of tf.data and of functions that
        # nbfn has not made; of nbfn's own the time is known by thread.
        tracing = max(own.tracing, _building_seconds() - self._building - others.tracing)
        running = own.running
        if ending is None:
            tracing, running = max(tracing, self._seen["trace"]), max(running, self._seen["run"])
        tracing = min(tracing, seconds)
        running = min(running, seconds - tracing)
        return Run(
            id=self._id,
            cell=self._cell,
            first=self._cell.execution_count,
            last=self._cell.execution_count,
            time=self._time,
            end=self._time + seconds,
            seconds=seconds,
            tracing=tracing,
            running=running,
            sampled=min(self._seen["unnoted"], seconds - tracing - running),
            elsewhere=others.running + others.tracing,
            calls=every.calls,
            traces=every.traces,
            watched=every.watched,
            copies=every.copies,
            copied_nbytes=every.copied_nbytes,
            longest=seconds,
            failed=ending == "failed",
            interrupted=ending == "interrupted",
            is_running=ending is None,
            segments=segments,
            memory=process_memory(),
            # Of a run that goes on another thread asks, which leaves TensorFlow alone.
            devices=None if ending is None else device_memory(),
        )


def process_memory() -> int | None:
    """Bytes that this process holds in memory; None where nobody says."""
    # Every kernel has imported it; another thread may be importing it just now.
    process = getattr(sys.modules.get("psutil"), "Process", None)
    return None if process is None else int(process().memory_info().rss)


def device_memory() -> dict[str, tuple[int, int]] | None:
    """What TensorFlow has on each device on which it counts, and the most until now, in bytes."""
    read = getattr(sys.modules.get("nbfn._tensorflow"), "memory_of_devices", None)
    return (read() if read is not None else None) or None


class Runs:
    """The runs of a kernel's cells, oldest first, in a bounded number of rows.

    Attributes:
        changed: Grows with every change.
    """

    def __init__(self) -> None:
        self.changed = 0
        self._rows: list[Run] = []
        self._meter: _Meter | None = None
        self._told = 0.0
        self._lock = threading.Lock()
        self._ids = itertools.count(1)

    def rows(self) -> tuple[Run, ...]:
        """The rows; one that has not changed is the same object as before."""
        with self._lock:
            return tuple(self._rows)

    def begin(self, cell: Cell) -> None:
        """A cell begins to run on this thread. What it runs within itself is a part of it."""
        self._meter, self._told = _Meter(f"run-{next(self._ids)}", cell), 0.0

    def look(self, seen: Seen | None) -> None:
        """Notes what the cell was seen to do just now, from another thread."""
        meter = self._meter
        if meter is None:
            return
        gone = meter.look(seen)
        if gone >= self._told + DELAY:
            self._told = gone
            run = meter.run()
            with self._lock:
                if self._meter is meter:  # and has not ended meanwhile
                    self._put(run)

    def end(self, ending: Ending) -> None:
        """The cell has ended."""
        meter, self._meter = self._meter, None
        if meter is not None:
            run = meter.run(ending, _segments_of(meter._cell))
            with self._lock:
                self._put(run)

    def clear(self) -> None:
        """Forgets all runs."""
        with self._lock:
            self._meter, self._rows = None, []
            self.changed += 1

    def _put(self, run: Run) -> None:
        if self._rows and self._rows[-1].id == run.id:
            self._rows[-1] = run
        else:
            self._rows = merged([*self._rows, run], MAX_RUNS, NEWEST)
        self.changed += 1


def _building_seconds() -> float:
    """What TensorFlow has spent on building graphs; it begins at 0 when it is imported."""
    count = getattr(sys.modules.get("nbfn._tensorflow"), "building_seconds", None)
    return (count() or 0.0) if count is not None else 0.0


def _segments_of(cell: Cell) -> str | None:
    """What ran in graphs of a cell in segments, in words; None for other cells."""
    live = getattr(sys.modules.get("nbfn.functions.segments.cell"), "live_cells", None)
    found = [each for each in live() if each.place == cell] if live is not None else []
    return str(found[-1].report) if found else None


runs = Runs()
"""The runs of this kernel."""
