"""What changed since last time, for everyone who watches.

Nothing is done while functions are called. `Feed.flush` looks at the recorders' counters, builds
rows for the functions and cells that changed, and hands a patch to each subscriber. It reads plain
Python values only, never calls TensorFlow, and imports neither it nor the functions before the user
has.

Of each table the newest rows are told, `LIMITS` of them, so that a page never costs more than a
person can look at. How many there are is told in the totals. What there is to say about one
function or cell is its outline: a page that shows some (`Feed.look`) gets them with each patch that
changes them.
"""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from nbfn import protocol
from nbfn._version import __version__
from nbfn.documentation import documentation
from nbfn.errors import tell_failure
from nbfn.outlines.cell import outline_of
from nbfn.outlines.function import watched_outline
from nbfn.outlines.session import SECTIONS
from nbfn.sessions.known import Held, KnownRows, totals_of
from nbfn.sessions.timeline.records import run_record
from nbfn.sessions.timeline.runs import Run, merged, runs

if TYPE_CHECKING:
    from nbfn.functions.calls.record import Observed
    from nbfn.functions.segments.cell import TracedCell
    from nbfn.functions.watching.watched_object import WatchedObject
    from nbfn.outlines.outline import Outline

    Scope = tuple[Sequence[Observed], Sequence[TracedCell]]

_Row = TypeVar("_Row", bound=protocol.Record)
_TABLES = tuple(protocol.State.model_fields)

LIMITS = {"functions": 1000, "cells": 200, "traces": 300, "retraces": 200, "variables": 1000}
"""The most rows of each table that a page gets; together at most 1 MB."""

SAVED_ROWS = 100
"""The most rows of each table that a notebook keeps with an output; about 50 kB of traces."""

SAVED_RUNS = 50
"""The most rows that it keeps for the runs of all cells; about 20 kB."""

PAGE_ROWS = 50
"""The most traces and retraces of a function whose outline is shown."""

Subscriber = Callable[[Any], None]
"""Takes a snapshot or a patch; that of a page takes a mark, too."""


Tree = tuple[protocol.ModelRecord, protocol.Page]
"""A model, and the outline of its tree."""

MODEL = "model/"
"""How the target of a model's outline begins; its name follows."""


@dataclass
class Environment:
    """What only TensorFlow and the running cell know, told where that is safe.

    Attributes:
        auto: Whether ``%tf_auto`` is on.
        devices: The devices, once there is a trace.
        models: The models and the outlines of their trees, by the notebook's names.
        named: Sizes in bytes of the variables that the notebook's names lead to, by id.
        variables: The rows of the first of these.
        names: What functions are called whose own name others have, too, by their ids.
        past: Ids of captures that are no part of the session any more; they are not listed.
        work: What is under way, by id.
        values: The outline of the variables' values, as long as somebody looks at it.
        read_values: Has the values read on the main thread, when it has time.
    """

    auto: bool = False
    devices: dict[str, protocol.DeviceRecord] = field(default_factory=dict)
    models: dict[str, Tree] = field(default_factory=dict)
    named: dict[str, int | None] = field(default_factory=dict)
    variables: dict[str, protocol.VariableRecord] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    past: frozenset[str] = frozenset()
    work: dict[str, protocol.WorkRecord] = field(default_factory=dict)
    values: protocol.Page | None = None
    read_values: Callable[[], None] = lambda: None


VALUES = "values"
"""The target of the outline of the variables' values."""

UNREAD = protocol.Page(
    title="values",
    lines=["read as soon as the kernel has time"],
    tables=[],
    groups=[],
    open=False,
)

_Pages = dict[str, protocol.Page | None]
"""Outlines by the ids of functions and cells; None of what is not there any more."""


@dataclass
class _Watcher:
    is_page: bool
    is_paused: bool = False
    is_behind: bool = False
    pages: _Pages = field(default_factory=dict)
    """The outlines that it shows, as they were sent last."""


class Feed:
    """The state of a kernel's traced functions and cells as messages.

    Attributes:
        epoch: Random, one per kernel start.
        seq: Number of the last patch.

    Args:
        scope: Gives the functions and cells that are told; all of the kernel by default.
        limits: So many rows of a table are told; all of tables that are not named.
        environment: What is told besides; feeds of a part share it with that of the whole.
    """

    def __init__(
        self,
        scope: Callable[[], Scope] | None = None,
        limits: Mapping[str, int] = LIMITS,
        environment: Environment | None = None,
    ) -> None:
        self.epoch = secrets.token_hex(8)
        self.seq = 0
        self.environment = environment or Environment()
        self._scope = scope or everything
        self._is_whole = scope is None
        self._has_names = scope is None or environment is None
        self._limits = limits
        self._sent = protocol.State()
        self._totals = protocol.Totals()
        self._seen: dict[str, int] = {}
        self._known: dict[str, KnownRows] = {}
        self._segments: dict[str, list[str]] = {}
        self._labels: dict[str, str] = {}
        self._held = Held()
        self._named: dict[str, int | None] = {}
        self._shown_as: dict[str, protocol.VariableRecord] = {}
        self._own_names: dict[str, str] = {}
        self._past: frozenset[str] = frozenset()
        self._runs: dict[str, Run] = {}
        self._runs_changed = 0
        self._watchers: dict[Subscriber, _Watcher] = {}
        self._drawn: dict[str, tuple[Any, protocol.Page | None]] = {}
        self._tensorflow: str | None = None
        self._auto = False
        self._lock = threading.RLock()

    # Subscribers ------------------------------------------------------------------------

    def subscribe(
        self, subscriber: Subscriber, *, is_page: bool = False, targets: Collection[str] = ()
    ) -> None:
        """Adds a subscriber, which gets a snapshot now and patches that continue it later.

        A page is one that draws nbfn's outputs by itself. The targets are what it looks at.
        """
        with self._lock:
            self.flush()
            watcher = _Watcher(is_page, pages=dict.fromkeys(targets))
            subscriber(self._snapshot_for(watcher))
            self._watchers[subscriber] = watcher

    def look(self, subscriber: Subscriber, targets: Collection[str]) -> None:
        """Sends a subscriber the outlines that it shows now, and from now on when they change."""
        with self._lock:
            watcher = self._watchers.get(subscriber)
            if watcher is None:
                return
            new = {target: self._page(target) for target in targets if target not in watcher.pages}
            kept = {target: page for target, page in watcher.pages.items() if target in targets}
            watcher.pages = kept | new
            if new:
                subscriber(protocol.Pages(epoch=self.epoch, pages=new))
            if VALUES in new:
                self.environment.read_values()

    def is_looked_at(self, target: str) -> bool:
        """Whether somebody sees an outline."""
        watchers = list(self._watchers.values())
        return any(target in each.pages and not each.is_paused for each in watchers)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Takes a subscriber out, if it is there."""
        with self._lock:
            self._watchers.pop(subscriber, None)

    def pause(self, subscriber: Subscriber) -> None:
        """Sends nothing to a subscriber whom nobody looks at, until `resume`."""
        with self._lock:
            if subscriber in self._watchers:
                self._watchers[subscriber].is_paused = True

    def resume(self, subscriber: Subscriber) -> None:
        """Sends a snapshot, and patches from now on."""
        with self._lock:
            self.pause(subscriber)  # A patch would say what the snapshot says.
            self.flush()
            watcher = self._watchers.get(subscriber, _Watcher(False))
            watcher.is_paused = False
            subscriber(self._snapshot_for(watcher))

    @property
    def has_page(self) -> bool:
        """Whether a page is attached that draws nbfn's outputs by itself, without widgets."""
        return any(watcher.is_page for watcher in self._watchers.values())

    def snapshot(self) -> protocol.Snapshot:
        """The state as it was sent last."""
        with self._lock:
            return self._snapshot(self._sent, self._totals)

    def saved_snapshot(self) -> protocol.Snapshot:
        """The newest rows of the whole state, for a notebook to keep."""
        with self._lock:
            self.flush()
            state = _newest(self._sent)
            # Of these all count: they are fewer, so that they span as long.
            state.runs.clear()
            kept = merged(self._runs.values(), SAVED_RUNS, SAVED_RUNS // 2)
            state.runs.update((run.id, run_record(run)) for run in kept)
            return self._snapshot(state, self._totals, self.pages(SAVED_ROWS))

    def pages(self, most: int | None = None) -> _Pages:
        """The outlines of the newest functions and cells, for a view without a kernel.

        They have at most so many traces together.
        """
        rows = self._sent if most is None else _newest(self._sent)
        pages: _Pages = {
            name: section.draw(rows, self._totals).record() for name, section in SECTIONS.items()
        }
        models = [MODEL + name for name in self._sent.models]
        for target in [*models, *self._sent.cells, *reversed(self._sent.functions)]:
            page = self._page(target)
            if page is not None:
                pages[target] = page
                if most is not None:
                    most -= sum(len(table.rows) for table in page.tables)
                    if most < 0:
                        break
        return pages

    def saved_snapshot_of(self, id: str, page: protocol.Page) -> protocol.Snapshot:
        """The outline of one function or cell, for a notebook to keep."""
        with self._lock:
            return self._snapshot(protocol.State(), None, {id: page})

    def rows_of(
        self, shown: Observed | TracedCell | WatchedObject, most: int | None = PAGE_ROWS
    ) -> protocol.State:
        """The rows of a function, or of a cell or object and its functions, by the names of now."""
        from nbfn.functions.segments.cell import TracedCell
        from nbfn.sessions.records import cell_record, parts_of, state_of

        rows = state_of(parts_of(shown), most)
        if isinstance(shown, TracedCell):
            rows.cells[shown.id] = cell_record(shown)
        named: tuple[dict[str, Any], ...] = (rows.functions, rows.cells)
        for table in named:
            for id, row in table.items():
                name = self.environment.names.get(id, row.name)
                table[id] = row if name == row.name else row.model_copy(update={"name": name})
        rows.variables.update(self._renamed(rows.variables))
        return rows

    def _page(self, target: str) -> protocol.Page | None:
        """The outline of a function, of a cell, or of a part of the session; None if it is gone."""
        if target in SECTIONS:
            section = SECTIONS[target]
            inputs = section.inputs(self._sent, self._totals)
            known, page = self._drawn.get(target, (None, None))
            if known != inputs:
                page = section.draw(self._sent, self._totals).record()
                self._drawn[target] = (inputs, page)
            return page
        if target == VALUES:
            return self.environment.values or UNREAD
        if target.startswith(MODEL):
            model = self.environment.models.get(target.removeprefix(MODEL))
            return None if model is None else model[1]
        shown = self._find(target)
        if shown is None:
            self._drawn.pop(target, None)
            return None
        now = (self._changes(shown), self.environment.names.get(target), id(self._shown_as))
        known, page = self._drawn.get(target, (None, None))
        if known != now:
            try:
                page = self.outline_of(shown).record()
                self._drawn[target] = (now, page)
            except RuntimeError:  # it runs meanwhile on its own thread
                pass
            except Exception as error:
                tell_failure(f"could not show what has changed of `{target}`", error)
        return page

    def _find(self, target: str) -> Observed | TracedCell | WatchedObject | None:
        functions, cells = self._scope()
        watch = sys.modules.get("nbfn.functions.watching.watch")
        objects = [] if watch is None else watch.watched_objects()
        every = chain(functions, cells, objects)
        return next((each for each in every if each.id == target), None)

    def outline_of(self, shown: Observed | TracedCell | WatchedObject) -> Outline:
        """The outline of a function, of a cell, or of an observed object with its functions."""
        from nbfn.functions.watching.watched_object import WatchedObject

        rows = self.rows_of(shown)
        if isinstance(shown, WatchedObject):
            return watched_outline(rows, shown.label, shown.note)
        return outline_of(rows, shown.id)

    def _changes(self, shown: Observed | TracedCell | WatchedObject) -> tuple[int, ...]:
        from nbfn.sessions.records import parts_of

        return (getattr(shown, "changed", 0), *(each.recorder.changed for each in parts_of(shown)))

    def _snapshot_for(self, watcher: _Watcher) -> protocol.Snapshot:
        watcher.pages = {target: self._page(target) for target in watcher.pages}
        return self._snapshot(self._sent, self._totals, watcher.pages)

    def _snapshot(
        self,
        state: protocol.State,
        totals: protocol.Totals | None,
        pages: _Pages | None = None,
    ) -> protocol.Snapshot:
        return protocol.Snapshot(
            epoch=self.epoch,
            seq=self.seq,
            nbfn=__version__,
            tensorflow=self._tensorflow,
            auto=self._auto,
            documentation=documentation(),
            totals=totals,
            state=protocol.State.model_construct(
                None, **{name: dict(getattr(state, name)) for name in _TABLES}
            ),
            pages=dict(pages or {}),
        )

    # Patches ----------------------------------------------------------------------------

    def flush(self) -> None:
        """Sends what has changed, if anything has."""
        with self._lock:
            patch = self._advance()
            for subscriber, watcher in list(self._watchers.items()):
                if watcher.is_paused:
                    continue
                now = {target: self._page(target) for target in watcher.pages}
                changed = {id: page for id, page in now.items() if page is not watcher.pages[id]}
                watcher.pages = now
                if patch is not None:
                    own = patch.model_copy(update={"pages": changed}) if changed else patch
                    self._send(subscriber, watcher, own)
                elif changed:
                    self._send(subscriber, watcher, protocol.Pages(epoch=self.epoch, pages=changed))

    def mark(self) -> None:
        """Sends the pages the number of the last patch, by which they see whether they miss one."""
        with self._lock:
            mark = protocol.Mark(epoch=self.epoch, seq=self.seq)
            for subscriber, watcher in list(self._watchers.items()):
                if watcher.is_page and not watcher.is_paused:
                    self._send(subscriber, watcher, mark)

    def _send(
        self,
        subscriber: Subscriber,
        watcher: _Watcher,
        message: protocol.Patch | protocol.Pages | protocol.Mark,
    ) -> None:
        # Patches follow each other: after a missed one only a snapshot helps.
        try:
            subscriber(self._snapshot_for(watcher) if watcher.is_behind else message)
            watcher.is_behind = False
        except Exception as error:
            watcher.is_behind = True
            tell_failure("could not update one of its views, and will try again", error)

    def _advance(self) -> protocol.Patch | None:
        """Takes what has changed into what was sent; the patch that says so."""
        put, removed = protocol.State(), protocol.Removed()
        functions, cells = self._scope()
        for function in functions:
            if self._seen.get(function.id) != function.recorder.changed:
                self._seen[function.id] = function.recorder.changed
                self._put_function(function, put, removed)
        for cell in cells:
            if self._seen.get(cell.id) != cell.changed and (row := _row_of(cell)) is not None:
                self._seen[cell.id] = cell.changed
                put.cells[cell.id] = row
                self._segments[cell.id] = row.functions
                self._labels[cell.id] = row.name
        if self._is_whole:
            self._put_runs(put, removed)
        if self._has_names:
            self._put_names(put)
            put.devices.update(_changed(self.environment.devices, self._sent.devices))
            models = {name: row for name, (row, _) in self.environment.models.items()}
            put.models.update(_changed(models, self._sent.models))
            removed.models.extend(name for name in self._sent.models if name not in models)
            self._put_named(put)
        work = {id: row for id, row in self.environment.work.items() if self._is_told(row)}
        put.work.update(_changed(work, self._sent.work))
        removed.work.extend(id for id in self._sent.work if id not in work)
        alive = {each.id for each in functions} | {each.id for each in cells}
        for id in [id for id in self._seen if id not in alive]:
            del self._seen[id]
            self._forget(id, removed)
        gone = self._held.gone()
        self._put_past(put)
        removed.variables.extend((gone | self._past) & self._sent.variables.keys())
        self._limit(put, removed)
        variables, nbytes = self._held.without(self._past)
        totals = totals_of(
            (known.row for known in self._known.values() if known.row is not None),
            [self._segments.get(cell.id, ()) for cell in cells],
            self._runs.values(),
            variables=variables,
            variable_nbytes=nbytes,
        )
        tensorflow = _tensorflow_version() or self._tensorflow
        now = (totals, tensorflow, self.environment.auto)
        if (self._totals, self._tensorflow, self._auto) == now and not any(
            getattr(put, name) or getattr(removed, name) for name in _TABLES
        ):
            return None
        self.seq += 1
        self._totals, self._tensorflow, self._auto = now
        for name in _TABLES:
            table = getattr(self._sent, name)
            table.update(getattr(put, name))
            for id in getattr(removed, name):
                table.pop(id, None)
        return protocol.Patch(
            epoch=self.epoch,
            seq=self.seq,
            tensorflow=self._tensorflow,
            auto=self._auto,
            totals=totals,
            put=put,
            removed=removed,
        )

    def _put_past(self, put: protocol.State) -> None:
        """Takes the rows of captures that are past out, and puts those in that are not any more."""
        before, self._past = (
            self._past,
            frozenset(id for id in self.environment.past if id in self._held),
        )
        for id in self._past & put.variables.keys():
            del put.variables[id]
        again = {id for id in before - self._past if id in self._held}
        if again:
            put.variables.update(self._renamed(self._rows_of(again)))

    def _put_named(self, put: protocol.State) -> None:
        """Adds the variables that the notebook's names lead to, under these names."""
        now = self.environment.named
        if now is not self._named:
            before, self._named = self._named, now
            self._held.add((id, nbytes) for id, nbytes in now.items() if id not in before)
            self._held.drop(id for id in before if id not in now)
            told = self._sent.variables.keys() | put.variables.keys()
            shown, self._shown_as = self._shown_as, self._namesakes(told)
            back = (shown.keys() - self._shown_as.keys()) & told
            rows = self._shown_as | (self._rows_of(back) if back else {})
            put.variables.update(_changed(rows, self._sent.variables | put.variables))

    def _namesakes(self, told: Collection[str]) -> dict[str, protocol.VariableRecord]:
        """The rows of named variables, and of told captures that have the name of one of them.

        A loaded model's variables have the names that they had in the notebook that saved it.
        """
        named = self.environment.variables
        taken = {row.name for row in named.values()}
        found = dict(named)
        for known in self._known.values():
            captures = chain.from_iterable(known.traces.values())
            ids = {each.id for each in captures if each.name in taken and each.id in told}
            same = ids - found.keys() - self._named.keys()
            if known.row is not None and same:
                for id, row in self._rows_of(same).items():
                    name = f"{known.row.name}.captures/{row.name}"
                    found[id] = row.model_copy(update={"name": name})
        return found

    def _rows_of(self, ids: Collection[str]) -> dict[str, protocol.VariableRecord]:
        """The rows of some captures, as they were called when they were traced."""
        from nbfn.sessions.records import variable_rows

        traces = (known.traces for known in self._known.values())
        return variable_rows(chain.from_iterable(t.values() for t in traces), ids)

    def _put_names(self, put: protocol.State) -> None:
        """Adds the functions that are called something else now, as another has their name."""
        names = self.environment.names
        cells = {id: self._sent.cells[id] for id in self._sent.cells if id not in put.cells}
        for id, cell in (cells | put.cells).items():
            if cell.name != (name := names.get(id, self._labels.get(id, cell.name))):
                put.cells[id] = cell.model_copy(update={"name": name})
        for id in names.keys() | self._own_names.keys():
            row = known.row if (known := self._known.get(id)) is not None else None
            if known is None or row is None:
                self._own_names.pop(id, None)
                continue
            own = row.name if id in put.functions else self._own_names.get(id, row.name)
            self._own_names[id] = own
            if row.name != (name := names.get(id, own)):
                known.row = row.model_copy(update={"name": name})
                if id in put.functions or id in self._sent.functions:
                    put.functions[id] = known.row
            if id not in names:
                del self._own_names[id]

    def _renamed(
        self, rows: dict[str, protocol.VariableRecord]
    ) -> dict[str, protocol.VariableRecord]:
        """Rows of captures, which have the names of when they were traced, with those of now."""
        return {id: self._shown_as.get(id, row) for id, row in rows.items()}

    def _put_runs(self, put: protocol.State, removed: protocol.Removed) -> None:
        """Adds the runs of cells that are new or have been merged."""
        if self._runs_changed == runs.changed:
            return
        self._runs_changed = runs.changed
        now = {run.id: run for run in runs.rows()}
        changed = (run for id, run in now.items() if self._runs.get(id) is not run)
        put.runs.update((run.id, run_record(run)) for run in changed)
        removed.runs.extend(self._runs.keys() - now.keys())
        self._runs = now

    def _is_told(self, row: protocol.WorkRecord) -> bool:
        return self._is_whole or row.function in self._known

    def _put_function(
        self, function: Observed, put: protocol.State, removed: protocol.Removed
    ) -> None:
        """Adds the rows of a function that have changed; none if they cannot be made this time."""
        from nbfn.sessions.records import add_rows

        old = self._known.get(function.id, KnownRows())
        rows = protocol.State()
        try:
            now = add_rows(rows, function, old, self._limits.get("traces"))
        except Exception as error:
            tell_failure(f"could not show what has changed of `{function.recorder.name}`", error)
            return
        self._known[function.id] = now
        put.functions.update(rows.functions)
        for name, known, new in (
            ("traces", old.traces, rows.traces),
            ("retraces", old.retraces, rows.retraces),
            ("variables", self._held, self._renamed(rows.variables)),
        ):
            sent = getattr(self._sent, name)
            changed = _changed(new, sent)
            # A row that newer ones have pushed out of what is told stays out.
            told = {id: row for id, row in changed.items() if id in sent or id not in known}
            getattr(put, name).update(told)
        self._replace(old, now, removed)

    def _forget(self, id: str, removed: protocol.Removed) -> None:
        """Takes out a function or cell that is gone."""
        for name in ("functions", "cells"):
            if id in getattr(self._sent, name):
                getattr(removed, name).append(id)
        self._segments.pop(id, None)
        self._labels.pop(id, None)
        old = self._known.pop(id, None)
        if old is not None:
            self._replace(old, type(old)(), removed)

    def _replace(self, old: KnownRows, now: KnownRows, removed: protocol.Removed) -> None:
        """Takes out the rows that a function has no longer, and counts its captures."""
        gone = old.traces.keys() - now.traces.keys()
        removed.traces.extend(id for id in gone if id in self._sent.traces)
        if now.retraces is not old.retraces:
            fewer = old.retraces - now.retraces
            removed.retraces.extend(id for id in fewer if id in self._sent.retraces)
        for id in gone:
            self._held.drop(capture.id for capture in old.traces[id])
        for id in now.traces.keys() - old.traces.keys():
            self._held.add((capture.id, capture.nbytes) for capture in now.traces[id])

    def _limit(self, put: protocol.State, removed: protocol.Removed) -> None:
        """Takes out the oldest rows of tables that have become too long."""
        for name, limit in self._limits.items():
            sent, rows, gone = (getattr(each, name) for each in (self._sent, put, removed))
            over = len(sent) + sum(id not in sent for id in rows) - len(gone) - limit
            if over <= 0:
                continue
            already = set(gone)
            in_order = chain(sent, (id for id in rows if id not in sent))
            for id in list(islice((id for id in in_order if id not in already), over)):
                rows.pop(id, None)
                if id in sent:
                    gone.append(id)


def _tensorflow_version() -> str | None:
    """The version of TensorFlow, if it is imported; nothing of it is loaded to find out."""
    # Attributes of the package are loaded when they are first read, which is the user's affair.
    version: str | None = vars(sys.modules.get("tensorflow", object)).get("__version__")
    return version


def _newest(state: protocol.State) -> protocol.State:
    """A state with no more rows than a notebook should keep with each output."""
    tables = {
        name: dict(list(getattr(state, name).items())[-SAVED_ROWS:])
        for name in _TABLES
        if name != "work"  # which has ended when the notebook is opened again
    }
    return protocol.State(**tables)


def _changed(rows: dict[str, _Row], sent: dict[str, _Row]) -> dict[str, _Row]:
    return {id: row for id, row in rows.items() if sent.get(id) != row}


def everything() -> Scope:
    """The functions of the kernel that are listed, and its cells.

    A cell is listed when it has run to an end; one that is lazily traced, when it has a graph.
    """
    if "nbfn.functions" not in sys.modules:
        return (), ()
    from nbfn.functions import live_functions

    # A method may be there twice: TensorFlow clones it for its object, and both share a record.
    functions = list({each.id: each for each in live_functions() if is_shown(each)}.values())
    if "nbfn.functions.segments.cell" not in sys.modules:
        return functions, ()
    from nbfn.functions.segments.cell import live_cells

    cells = [
        cell for cell in live_cells() if cell.seconds[0] and (not cell.plan.lazily or cell.segments)
    ]
    return functions, cells


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
    """Whether a function is listed: if it has a trace or a call, or is no method of a class."""
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
