"""What changed since last time, for everyone who watches.

Nothing is done while functions are called. `Feed.flush` looks at the recorders' counters, builds
rows for the functions and cells that changed, and hands a patch to each subscriber. It reads plain
Python values only, never calls TensorFlow, and imports neither it nor the functions before the user
has.
"""

from __future__ import annotations

import secrets
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from nbfn import protocol
from nbfn._version import __version__
from nbfn.errors import tell_failure

if TYPE_CHECKING:
    from nbfn.functions.calls.record import Observed
    from nbfn.functions.segments.cell import TracedCell
    from nbfn.sessions.records import Known

_Row = TypeVar("_Row", bound=protocol.Record)
_TABLES = tuple(protocol.State.model_fields)

SAVED_ROWS = 100
"""So many rows of each table a notebook keeps with an output; about 50 kB of traces."""

Subscriber = Callable[[protocol.Snapshot | protocol.Patch], None]


class Feed:
    """The state of a kernel's traced functions and cells as messages.

    Attributes:
        epoch: Random, one per kernel start.
        seq: Number of the last patch.
    """

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(8)
        self.seq = 0
        self._sent = protocol.State()
        self._seen: dict[str, int] = {}
        self._known: dict[str, Known] = {}
        self._captured: Counter[str] = Counter()
        self._devices: dict[str, protocol.DeviceRecord] = {}
        self._work: dict[str, protocol.WorkRecord] = {}
        self._tensorflow: str | None = None
        self._subscribers: list[Subscriber] = []
        self._pages: list[Subscriber] = []
        self._behind: list[Subscriber] = []
        self._lock = threading.RLock()

    # Subscribers ------------------------------------------------------------------------

    def subscribe(self, subscriber: Subscriber, *, is_page: bool = False) -> None:
        """Adds a subscriber, which gets a snapshot now and patches that continue it later.

        Args:
            subscriber: Is called with each message.
            is_page: Whether it is a page that draws nbfn's outputs by itself.
        """
        with self._lock:
            self.flush()
            subscriber(self._snapshot(self._sent))
            self._subscribers.append(subscriber)
            if is_page:
                self._pages.append(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Takes a subscriber out, if it is there."""
        with self._lock:
            for subscribers in (self._subscribers, self._pages):
                if subscriber in subscribers:
                    subscribers.remove(subscriber)

    @property
    def has_page(self) -> bool:
        """Whether a page is attached that draws nbfn's outputs by itself, without widgets."""
        return bool(self._pages)

    def snapshot(self) -> protocol.Snapshot:
        """The whole state, as it was sent last."""
        with self._lock:
            return self._snapshot(self._sent)

    def saved_snapshot(self) -> protocol.Snapshot:
        """The newest rows of the whole state, for a notebook to keep."""
        with self._lock:
            self.flush()
            return self._snapshot(newest(self._sent))

    def saved_snapshot_of(self, shown: Observed | TracedCell) -> protocol.Snapshot:
        """The newest rows of one function or cell, for a notebook to keep."""
        with self._lock:
            snapshot = self.snapshot_of(shown)
            return snapshot.model_copy(update={"state": newest(snapshot.state)})

    def snapshot_of(self, shown: Observed | TracedCell) -> protocol.Snapshot:
        """The state of one function, or of one cell with its functions, now."""
        from nbfn.functions.segments.cell import TracedCell
        from nbfn.sessions.records import state_of, state_of_cell

        with self._lock:
            state = state_of_cell(shown) if isinstance(shown, TracedCell) else state_of([shown])
            state.work.update(
                {id: row for id, row in self._work.items() if row.function in state.functions}
            )
            return self._snapshot(state)

    def _snapshot(self, state: protocol.State) -> protocol.Snapshot:
        return protocol.Snapshot(
            epoch=self.epoch,
            seq=self.seq,
            nbfn=__version__,
            tensorflow=self._tensorflow,
            state=protocol.State.model_construct(
                None, **{name: dict(getattr(state, name)) for name in _TABLES}
            ),
        )

    def set_environment(self, tensorflow: str, devices: dict[str, protocol.DeviceRecord]) -> None:
        """Takes what only TensorFlow knows; called where calling TensorFlow is safe."""
        with self._lock:
            self._tensorflow = tensorflow
            self._devices = devices

    def set_work(self, work: dict[str, protocol.WorkRecord]) -> None:
        """Takes what is under way, by id."""
        with self._lock:
            self._work = work

    # Patches ----------------------------------------------------------------------------

    def flush(self) -> None:
        """Sends what has changed, if anything has."""
        with self._lock:
            patch = self._advance()
            if patch is None:
                return
            behind, self._behind = self._behind, []
            for subscriber in list(self._subscribers):
                # Who has missed a patch can make nothing of the next one.
                message = self._snapshot(self._sent) if subscriber in behind else patch
                try:
                    subscriber(message)
                except Exception as error:
                    self._behind.append(subscriber)
                    tell_failure("could not update one of its views, and will try again", error)

    def _advance(self) -> protocol.Patch | None:
        """Takes what has changed into what was sent; the patch that says so."""
        put, removed = protocol.State(), protocol.Removed()
        functions, cells = _shown_functions(), _shown_cells()
        for function in functions:
            if self._seen.get(function.id) != function.recorder.changed:
                self._seen[function.id] = function.recorder.changed
                self._put_function(function, put, removed)
        for cell in cells:
            if self._seen.get(cell.id) != cell.changed and (row := _row_of(cell)) is not None:
                self._seen[cell.id] = cell.changed
                put.cells[cell.id] = row
        put.devices.update(_changed(self._devices, self._sent.devices))
        put.work.update(_changed(self._work, self._sent.work))
        removed.work.extend(id for id in self._sent.work if id not in self._work)
        alive = {function.id for function in functions}
        removed.functions.extend(id for id in self._sent.functions if id not in alive)
        alive = {cell.id for cell in cells}
        removed.cells.extend(id for id in self._sent.cells if id not in alive)
        for id in (*removed.functions, *removed.cells):
            self._seen.pop(id, None)
            gone = self._known.pop(id, None)
            if gone is not None:
                removed.traces.extend(gone.traces)
                removed.retraces.extend(gone.retraces)
        self._count_captures(put, removed)
        if not any(getattr(put, name) or getattr(removed, name) for name in _TABLES):
            return None
        self.seq += 1
        for name in _TABLES:
            table = getattr(self._sent, name)
            table.update(getattr(put, name))
            for id in getattr(removed, name):
                table.pop(id, None)
        return protocol.Patch(
            epoch=self.epoch,
            seq=self.seq,
            tensorflow=self._tensorflow,
            put=put,
            removed=removed,
        )

    def _put_function(
        self, function: Observed, put: protocol.State, removed: protocol.Removed
    ) -> None:
        """Adds the rows of a function that have changed; none if they cannot be made this time."""
        from nbfn.sessions.records import add_rows

        before = self._known.get(function.id)
        rows = protocol.State()
        try:
            now = add_rows(rows, function, before)
        except Exception as error:
            tell_failure(f"could not show what has changed of `{function.recorder.name}`", error)
            return
        self._known[function.id] = now
        for name in ("functions", "traces", "retraces", "variables"):
            getattr(put, name).update(_changed(getattr(rows, name), getattr(self._sent, name)))
        if before is not None:
            removed.traces.extend(before.traces - now.traces)
            removed.retraces.extend(before.retraces - now.retraces)

    def _count_captures(self, put: protocol.State, removed: protocol.Removed) -> None:
        """Finds the variables that no trace captures any more."""
        fewer = [self._sent.traces[id] for id in removed.traces if id in self._sent.traces]
        more = [row for id, row in put.traces.items() if id not in self._sent.traces]
        for row in more:
            self._captured.update(row.captures)
        for row in fewer:
            self._captured.subtract(row.captures)
        for id in {id for row in fewer for id in row.captures}:
            if self._captured[id] <= 0:
                del self._captured[id]
                removed.variables.append(id)


def newest(state: protocol.State) -> protocol.State:
    """A state with no more rows than a notebook should keep with each output."""
    tables = {
        name: dict(list(getattr(state, name).items())[-SAVED_ROWS:])
        for name in _TABLES
        if name != "work"  # which has ended when the notebook is opened again
    }
    return protocol.State(**tables)


def _changed(rows: dict[str, _Row], sent: dict[str, _Row]) -> dict[str, _Row]:
    return {id: row for id, row in rows.items() if sent.get(id) != row}


def _shown_functions() -> list[Observed]:
    if "nbfn.functions" not in sys.modules:
        return []
    from nbfn.functions import live_functions

    return [function for function in live_functions() if is_shown(function)]


def _shown_cells() -> list[TracedCell]:
    """The cells that have run to an end; of those that are lazily traced, the ones with a graph."""
    if "nbfn.functions.segments.cell" not in sys.modules:
        return []
    from nbfn.functions.segments.cell import live_cells

    return [
        cell for cell in live_cells() if cell.seconds[0] and (not cell.plan.lazily or cell.segments)
    ]


def _row_of(cell: TracedCell) -> protocol.TracedCellRecord | None:
    """The row of a cell; None if it cannot be made this time."""
    from nbfn.sessions.records import cell_record

    try:
        return cell_record(cell)
    except RuntimeError:  # it runs meanwhile on its own thread, and is looked at again when it ends
        return None
    except Exception as error:
        tell_failure(f"could not show what has changed of `{cell.label}`", error)
        return None


def is_shown(function: Observed) -> bool:
    """Whether a function is listed: all that have a trace, and all that are no bare method."""
    if function.recorder.traces or function.recorder.calls:
        return True
    name = getattr(function.python_function, "__qualname__", "")
    return "." not in name.rsplit("<locals>.", 1)[-1]


_feed: Feed | None = None


def feed() -> Feed:
    """The feed of this process."""
    global _feed
    if _feed is None:
        _feed = Feed()
    return _feed
