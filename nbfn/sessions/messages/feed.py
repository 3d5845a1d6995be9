"""Sends snapshots and patches of the session's state to its subscribers.

Function calls do no work for the feed: they only increment counters of their recorders.
`Feed.flush` compares these counters, builds rows for the functions and cells that changed, and
sends a patch to each subscriber. It reads plain Python values and never calls TensorFlow. It does
not import TensorFlow or `nbfn.functions` before the notebook has.

Of each table only the newest rows are sent (`LIMITS`), which bounds what a page has to draw; the
totals count all rows. The details of one function or cell are its outline. A page that shows
outlines (`Feed.set_shown`) receives them with each patch that changes them.
"""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from nbfn import protocol
from nbfn.errors import report_failure
from nbfn.outlines.cell_outline import outline_of
from nbfn.outlines.function_outline import watched_outline
from nbfn.outlines.session_outline import SECTIONS, VARIABLES, SessionState
from nbfn.package import __version__
from nbfn.sessions.messages.runs import TimelineRun, merged, runs
from nbfn.sessions.messages.sent_rows import SentRows, totals_of
from nbfn.sessions.messages.variable_table import VariableTable

if TYPE_CHECKING:
    from nbfn.functions.calls.record import Observed
    from nbfn.functions.segments.cell import TracedCell
    from nbfn.functions.watching.watched_object import WatchedObject
    from nbfn.outlines.outline import Outline

    Scope = tuple[Sequence[Observed], Sequence[TracedCell]]

_Row = TypeVar("_Row", bound=protocol.ProtocolRecord)
_TABLES = tuple(protocol.Rows.model_fields)

LIMITS = {"functions": 1000, "cells": 200, "traces": 300, "retraces": 200, "variables": 1000}
"""Maximum number of rows sent to a page, by table; together at most 1 MB."""

SAVED_ROWS = 100
"""Maximum number of rows per table saved with an output; about 50 kB of traces."""

SAVED_RUNS = 50
"""Maximum number of rows saved for the runs of cells; about 20 kB."""

PAGE_ROWS = 50
"""Maximum number of traces and of retraces in the outline of a function."""

Subscriber = Callable[[Any], None]
"""Receives snapshots and patches; that of a page receives marks too."""


Tree = tuple[protocol.ModelRecord, protocol.Page]
"""The row of a model and the outline of its tree."""

MODEL = "model/"
"""Prefix of the target of a model's outline; the model's name follows."""


@dataclass
class Environment:
    """State that may only be read on the main thread: from TensorFlow and from the running cell.

    Attributes:
        auto: Whether ``%tf_auto`` is on.
        devices: The devices, known once a trace exists.
        models: The models and the outlines of their trees, by the notebook's names.
        objects: Lookup tables, datasets, iterators and optimizers, read while they are shown.
        named: Sizes in bytes of the variables that the notebook's names lead to, by id.
        variables: Rows of the first `LIMITS["variables"]` of these.
        names: Display names by function or cell id, where the own name is not unique.
        obsolete: Ids of captures that no longer belong to the session; they are not listed.
        work: Running work, by id.
        values: The outline of the variables' values, while a page shows it.
        read_shown: Requests a read on the main thread of what is read only while it is shown.
    """

    auto: bool = False
    devices: dict[str, protocol.DeviceRecord] = field(default_factory=dict)
    models: dict[str, Tree] = field(default_factory=dict)
    objects: dict[str, protocol.ObjectRecord] = field(default_factory=dict)
    named: dict[str, int | None] = field(default_factory=dict)
    variables: dict[str, protocol.VariableRecord] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    obsolete: frozenset[str] = frozenset()
    work: dict[str, protocol.WorkRecord] = field(default_factory=dict)
    values: protocol.Page | None = None
    read_shown: Callable[[], None] = lambda: None


_UNNAMED = Environment()
"""That of a feed without the notebook's names."""

_NEVER = -1
"""A change count that no function or cell has, so that its rows are built again."""

VALUES = "values"
"""The target of the outline of the variables' values."""

UNREAD = protocol.Page(
    title="values",
    lines=["read as soon as the kernel has time"],
    tables=[],
    groups=[],
    open=False,
)

_ById = Mapping[str, "Observed | TracedCell | WatchedObject"]
_Pages = dict[str, protocol.Page | None]
"""Outlines by the id of a function or cell; None if it no longer exists."""


@dataclass
class _Watcher:
    is_page: bool
    is_paused: bool = False
    is_behind: bool = False
    pages: _Pages = field(default_factory=dict)
    """The outlines that it shows, as last sent."""


class Feed:
    """Publishes the state of the kernel's traced functions and cells as messages.

    Attributes:
        epoch: Random, one per kernel start.
        seq: Sequence number of the last patch.

    Args:
        scope: Returns the functions and cells to publish; by default all of the kernel.
        limits: Maximum number of rows sent, by table; tables not listed are sent whole.
        environment: State read on the main thread; a feed of a part shares that of the whole feed.
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
        self._sent = protocol.Rows()
        self._totals = protocol.Totals()
        self._changed_at_send: dict[str, int] = {}
        self._sent_rows: dict[str, SentRows] = {}
        self._functions_of_cells: dict[str, list[str]] = {}
        self._variables = VariableTable()
        self._names: Mapping[str, str] = {}
        self._runs: dict[str, TimelineRun] = {}
        self._runs_changed = 0
        self._watchers: dict[Subscriber, _Watcher] = {}
        self._drawn_pages: dict[str, tuple[Any, protocol.Page | None]] = {}
        self._tensorflow: str | None = None
        # Reentrant: `resume` calls `pause` and `flush`, which take it again.
        self._lock = threading.RLock()

    # Subscribers ------------------------------------------------------------------------

    def subscribe(
        self, subscriber: Subscriber, *, is_page: bool = False, targets: Collection[str] = ()
    ) -> None:
        """Adds a subscriber and sends it a snapshot; patches that continue it follow.

        A page (`is_page`) draws nbfn's outputs without widgets. `targets` are the outlines it
        shows.
        """
        with self._lock:
            self.flush()
            watcher = _Watcher(is_page, pages=dict.fromkeys(targets))
            subscriber(self._snapshot_for(watcher))
            # After the snapshot: a subscriber that raises an error on it is not added.
            self._watchers[subscriber] = watcher

    def set_shown(self, subscriber: Subscriber, targets: Collection[str]) -> None:
        """Sends a subscriber the outlines that it now shows, and later their changes."""
        with self._lock:
            watcher = self._watchers.get(subscriber)
            if watcher is None:
                return
            observed = self._observed_by_id()
            new = {
                target: self._page(target, observed)
                for target in targets
                if target not in watcher.pages
            }
            pages = {target: page for target, page in watcher.pages.items() if target in targets}
            watcher.pages = pages | new
            if new:
                subscriber(protocol.Pages(epoch=self.epoch, pages=new))
            if not new.keys().isdisjoint((VALUES, VARIABLES)):
                self.environment.read_shown()

    def is_target_shown(self, target: str) -> bool:
        """Returns whether a subscriber shows an outline."""
        watchers = list(self._watchers.values())
        return any(target in each.pages and not each.is_paused for each in watchers)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Removes a subscriber if it is subscribed."""
        with self._lock:
            self._watchers.pop(subscriber, None)

    def pause(self, subscriber: Subscriber) -> None:
        """Stops sending to a subscriber that is not visible, until `resume`."""
        with self._lock:
            if subscriber in self._watchers:
                self._watchers[subscriber].is_paused = True

    def resume(self, subscriber: Subscriber) -> None:
        """Sends a snapshot, then patches again."""
        with self._lock:
            self.pause(subscriber)  # The snapshot replaces the patch of this flush.
            self.flush()
            watcher = self._watchers.get(subscriber, _Watcher(False))
            watcher.is_paused = False
            subscriber(self._snapshot_for(watcher))

    def answer(self, subscriber: Subscriber, message: Any) -> bool:
        """Handles a message of a subscriber's page; returns whether it concerns the feed."""
        match message:
            case {"type": "request_snapshot"} | {"type": "watch", "active": True}:
                self.resume(subscriber)
            case {"type": "watch"}:
                self.pause(subscriber)
            case {"type": "request_outlines", "targets": [*targets]}:
                self.set_shown(subscriber, [each for each in targets if type(each) is str])
            case _:
                return False
        return True

    @property
    def has_page(self) -> bool:
        """Whether an attached page draws nbfn's outputs without widgets."""
        return any(watcher.is_page for watcher in self._watchers.values())

    @property
    def shown(self) -> SessionState:
        """What the outlines of the session are made of, as last sent."""
        return SessionState(self._sent, self._totals, self.environment.auto, self._users)

    def _users(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for sent in self._sent_rows.values():
            if sent.row is not None:
                for id in sent.captured:
                    found.setdefault(id, []).append(sent.row.name)
        return found

    def snapshot(self) -> protocol.SnapshotMessage:
        """Returns the state as last sent."""
        with self._lock:
            return self._snapshot(self._sent, self._totals)

    def saved_snapshot(self) -> protocol.SnapshotMessage:
        """Returns the newest rows of the whole state, to be saved in a notebook."""
        with self._lock:
            self.flush()
            state = _newest(self._sent)
            # Runs are merged instead of cut, so that the saved rows span the whole session.
            state.runs.clear()
            kept = merged(self._runs.values(), SAVED_RUNS, SAVED_RUNS // 2)
            state.runs.update((run.id, _run_record(run)) for run in kept)
            return self._snapshot(state, self._totals, self.pages(SAVED_ROWS))

    def pages(self, most: int | None = None) -> _Pages:
        """Returns the outlines of the newest functions and cells, for a view without a kernel.

        Together they have at most `most` table rows, exceeded by the last outline at most.
        """
        shown = self.shown if most is None else replace(self.shown, rows=_newest(self._sent))
        pages: _Pages = {name: section.draw(shown).record() for name, section in SECTIONS.items()}
        observed = self._observed_by_id()
        models = [MODEL + name for name in self._sent.models]
        for target in [*models, *self._sent.cells, *reversed(self._sent.functions)]:
            page = self._page(target, observed)
            if page is not None:
                pages[target] = page
                if most is not None:
                    most -= sum(len(table.rows) for table in page.tables)
                    if most < 0:
                        break
        return pages

    def saved_snapshot_of(self, id: str, page: protocol.Page) -> protocol.SnapshotMessage:
        """Returns the outline of one function or cell, to be saved in a notebook."""
        with self._lock:
            return self._snapshot(protocol.Rows(), None, {id: page})

    def rows_of(
        self, shown: Observed | TracedCell | WatchedObject, most: int | None = PAGE_ROWS
    ) -> protocol.Rows:
        """Returns the rows of a function, or of a cell or object and its functions.

        They have their current names.
        """
        from nbfn.functions.segments.cell import TracedCell
        from nbfn.sessions.messages.records import cell_record, parts_of, state_of

        names = self.environment.names
        rows = state_of(parts_of(shown), most, names)
        if isinstance(shown, TracedCell):
            rows.cells[shown.id] = cell_record(shown, names)
        renamed = self._variables.renamed
        rows.variables.update((id, renamed[id]) for id in rows.variables.keys() & renamed.keys())
        return rows

    def _page(self, target: str, observed: _ById) -> protocol.Page | None:
        """Returns the outline of a function, cell or part of the session; None if removed."""
        if target in SECTIONS:
            section, all_rows = SECTIONS[target], self.shown
            return self._drawn(target, section.inputs(all_rows), lambda: section.draw(all_rows))
        if target == VALUES:
            return self.environment.values or UNREAD
        if target.startswith(MODEL):
            model = self.environment.models.get(target.removeprefix(MODEL))
            return None if model is None else model[1]
        shown = observed.get(target)
        if shown is None:
            self._drawn_pages.pop(target, None)
            return None
        now = (
            self._changes(shown),
            self.environment.names.get(target),
            id(self._variables.renamed),
        )
        try:
            return self._drawn(target, now, lambda: self.outline_of(shown))
        except RuntimeError:  # a table changed while it ran on its own thread
            pass
        except Exception as error:
            report_failure(f"could not show what has changed of `{target}`", error)
        return self._drawn_pages.get(target, (None, None))[1]

    def _drawn(self, target: str, inputs: Any, draw: Callable[[], Outline]) -> protocol.Page | None:
        """Returns an outline; draws it again only if its inputs have changed."""
        drawn_from, page = self._drawn_pages.get(target, (None, None))
        if drawn_from != inputs:
            page = draw().record()
            self._drawn_pages[target] = inputs, page
        return page

    def _observed_by_id(self) -> _ById:
        functions, cells = self._scope()
        if self._is_whole:  # a page may show a method that was never called, and is not listed
            functions = _live_functions()
        watch = sys.modules.get("nbfn.functions.watching.watch")
        # While another thread imports the module, it exists without the function.
        watched: Any = getattr(watch, "watched_objects", list)
        objects = watched()
        return {each.id: each for each in chain(functions, cells, objects)}

    def outline_of(self, shown: Observed | TracedCell | WatchedObject) -> Outline:
        """Returns the outline of a function, a cell, or an observed object with its functions."""
        from nbfn.functions.watching.watched_object import WatchedObject

        rows = self.rows_of(shown)
        if isinstance(shown, WatchedObject):
            return watched_outline(rows, shown.label, shown.note)
        return outline_of(rows, shown.id)

    def _changes(self, shown: Observed | TracedCell | WatchedObject) -> tuple[int, ...]:
        from nbfn.sessions.messages.records import parts_of

        return (getattr(shown, "changed", 0), *(each.recorder.changed for each in parts_of(shown)))

    def _snapshot_for(self, watcher: _Watcher) -> protocol.SnapshotMessage:
        observed = self._observed_by_id()
        watcher.pages = {target: self._page(target, observed) for target in watcher.pages}
        return self._snapshot(self._sent, self._totals, watcher.pages)

    def _snapshot(
        self,
        state: protocol.Rows,
        totals: protocol.Totals | None,
        pages: _Pages | None = None,
    ) -> protocol.SnapshotMessage:
        return protocol.SnapshotMessage(
            epoch=self.epoch,
            seq=self.seq,
            nbfn=__version__,
            tensorflow=self._tensorflow,
            totals=totals,
            # Not validated again: the rows are records already.
            state=protocol.Rows.model_construct(
                None, **{name: dict(getattr(state, name)) for name in _TABLES}
            ),
            pages=dict(pages or {}),
        )

    # Patches ----------------------------------------------------------------------------

    def flush(self) -> None:
        """Sends what has changed, if anything."""
        with self._lock:
            patch = self._advance()
            observed = self._observed_by_id() if self._watchers else {}
            for subscriber, watcher in list(self._watchers.items()):
                if watcher.is_paused:
                    continue
                now = {target: self._page(target, observed) for target in watcher.pages}
                # By identity: `_drawn` returns the same page until its inputs change.
                changed = {id: page for id, page in now.items() if page is not watcher.pages[id]}
                watcher.pages = now
                if patch is not None:
                    own = patch.model_copy(update={"pages": changed}) if changed else patch
                    self._send(subscriber, watcher, own)
                elif changed:
                    self._send(subscriber, watcher, protocol.Pages(epoch=self.epoch, pages=changed))

    def mark(self) -> None:
        """Sends each page the number of the last patch, so that it notices a missed one."""
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
        # Patches continue each other: after a failed one, only a snapshot is consistent.
        try:
            subscriber(self._snapshot_for(watcher) if watcher.is_behind else message)
            watcher.is_behind = False
        except Exception as error:
            watcher.is_behind = True
            report_failure("could not update one of its views, and will try again", error)

    def _advance(self) -> protocol.Patch | None:
        """Applies the changes to the sent state and returns them as a patch, if any."""
        put, removed = protocol.Rows(), protocol.Removed()
        functions, cells = self._scope()
        if self._has_names:
            self._update_names()
        for function in functions:
            if self._changed_at_send.get(function.id) != function.recorder.changed:
                self._put_function(function, put, removed)
        for cell in cells:
            if self._changed_at_send.get(cell.id) != cell.changed:
                self._put_cell(cell, put)
        if self._is_whole:
            self._put_runs(put, removed)
        if self._has_names:
            put.devices.update(_changed_rows(self.environment.devices, self._sent.devices))
            models = {name: row for name, (row, _) in self.environment.models.items()}
            self._put_table("models", models, put, removed)
            self._put_table("objects", self.environment.objects, put, removed)
        work = {
            id: row
            for id, row in self.environment.work.items()
            if self._is_whole or row.function in self._sent_rows
        }
        self._put_table("work", work, put, removed)
        alive = {each.id for each in functions} | {each.id for each in cells}
        self._forget_all_but(alive, removed)
        self._put_variables(put, removed)
        self._limit(put, removed)
        totals = totals_of(
            (rows.row for rows in self._sent_rows.values() if rows.row is not None),
            [self._functions_of_cells.get(cell.id, ()) for cell in cells],
            self._runs.values(),
            variables=self._variables.total,
            variable_nbytes=self._variables.nbytes,
            models=len(self.environment.models),
            devices=len(self.environment.devices),
        )
        tensorflow = _tensorflow_version() or self._tensorflow
        now = (totals, tensorflow)
        if (self._totals, self._tensorflow) == now and not any(
            getattr(put, name) or getattr(removed, name) for name in _TABLES
        ):
            return None
        self.seq += 1
        self._totals, self._tensorflow = now
        for name in _TABLES:
            table = getattr(self._sent, name)
            table.update(getattr(put, name))
            for id in getattr(removed, name):
                table.pop(id, None)
        return protocol.Patch(
            epoch=self.epoch,
            seq=self.seq,
            tensorflow=self._tensorflow,
            totals=totals,
            put=put,
            removed=removed,
        )

    def _put_table(
        self, name: str, rows: Mapping[str, Any], put: protocol.Rows, removed: protocol.Removed
    ) -> None:
        """Adds the changed rows of a table that is known as a whole, and removes all others."""
        sent = getattr(self._sent, name)
        getattr(put, name).update(_changed_rows(rows, sent))
        getattr(removed, name).extend(id for id in sent if id not in rows)

    def _put_variables(self, put: protocol.Rows, removed: protocol.Removed) -> None:
        environment = self.environment if self._has_names else _UNNAMED
        if self._variables.update(
            list(self._sent_rows.values()),
            environment.named,
            environment.variables,
            self.environment.obsolete,
            self._limits.get("variables"),
        ):
            self._put_table("variables", self._variables.rows, put, removed)

    def _update_names(self) -> None:
        """Makes the next flush build the rows again whose display name has changed."""
        before, self._names = self._names, self.environment.names
        if before is self._names:
            return
        for id in self._sent.functions.keys() | self._sent.cells.keys():
            if before.get(id) != self._names.get(id):
                self._changed_at_send[id] = _NEVER

    def _put_runs(self, put: protocol.Rows, removed: protocol.Removed) -> None:
        """Adds the runs of cells that are new or were merged."""
        if self._runs_changed == runs.changed:
            return
        self._runs_changed = runs.changed
        now = {run.id: run for run in runs.rows()}
        changed = (run for id, run in now.items() if self._runs.get(id) is not run)
        put.runs.update((run.id, _run_record(run)) for run in changed)
        removed.runs.extend(self._runs.keys() - now.keys())
        self._runs = now

    def _put_cell(self, cell: TracedCell, put: protocol.Rows) -> None:
        """Adds the row of a cell; none if it cannot be built now."""
        from nbfn.sessions.messages.records import cell_record

        try:
            row = cell_record(cell, self._names)
        except RuntimeError:  # it runs on its own thread; retried when it ends
            return
        except Exception as error:
            report_failure(f"could not show what has changed of `{cell.label}`", error)
            return
        self._changed_at_send[cell.id] = cell.changed
        put.cells[cell.id] = row
        self._functions_of_cells[cell.id] = row.functions

    def _put_function(
        self, function: Observed, put: protocol.Rows, removed: protocol.Removed
    ) -> None:
        """Adds the changed rows of a function; none if they cannot be built now."""
        from nbfn.sessions.messages.records import add_rows

        # Read before its rows: what changes meanwhile is sent with the next patch.
        self._changed_at_send[function.id] = function.recorder.changed
        old = self._sent_rows.get(function.id, SentRows())
        rows = protocol.Rows()
        try:
            now = add_rows(rows, function, old, self._limits.get("traces"), self._names)
        except Exception as error:
            report_failure(f"could not show what has changed of `{function.recorder.name}`", error)
            return
        self._sent_rows[function.id] = now
        put.functions.update(rows.functions)
        for name, before, new in (
            ("traces", old.traces, rows.traces),
            ("retraces", old.retraces, rows.retraces),
        ):
            sent = getattr(self._sent, name)
            changed = _changed_rows(new, sent)
            # A row that the limit removed must not come back.
            added = {id: row for id, row in changed.items() if id in sent or id not in before}
            getattr(put, name).update(added)
        self._replace(old, now, removed)

    def _forget_all_but(self, alive: Collection[str], removed: protocol.Removed) -> None:
        """Removes the functions and cells that no longer exist."""
        for id in [id for id in self._changed_at_send if id not in alive]:
            del self._changed_at_send[id]
            self._functions_of_cells.pop(id, None)
            for name in ("functions", "cells"):
                if id in getattr(self._sent, name):
                    getattr(removed, name).append(id)
            old = self._sent_rows.pop(id, None)
            if old is not None:
                self._replace(old, SentRows(), removed)

    def _replace(self, old: SentRows, now: SentRows, removed: protocol.Removed) -> None:
        """Removes the rows that a function no longer has."""
        fewer_traces = old.traces - now.traces
        removed.traces.extend(id for id in fewer_traces if id in self._sent.traces)
        if now.retraces is not old.retraces:
            fewer = old.retraces - now.retraces
            removed.retraces.extend(id for id in fewer if id in self._sent.retraces)

    def _limit(self, put: protocol.Rows, removed: protocol.Removed) -> None:
        """Removes the oldest rows of tables that exceed their limit."""
        for name, limit in self._limits.items():
            sent, rows, removed_ids = (getattr(each, name) for each in (self._sent, put, removed))
            over = len(sent) + sum(id not in sent for id in rows) - len(removed_ids) - limit
            if over <= 0:
                continue
            already = set(removed_ids)
            in_order = chain(sent, (id for id in rows if id not in sent))
            for id in list(islice((id for id in in_order if id not in already), over)):
                rows.pop(id, None)
                if id in sent:
                    removed_ids.append(id)


def _tensorflow_version() -> str | None:
    """Returns the version of TensorFlow if it is imported."""
    # `vars`, because reading an attribute of the package may import more of TensorFlow.
    version: str | None = vars(sys.modules.get("tensorflow", object)).get("__version__")
    return version


def _run_record(run: TimelineRun) -> protocol.RunRecord:
    """Returns the row of a run, with times in microseconds."""
    cell = protocol.CodePlace(id=run.cell.id, execution_count=run.cell.execution_count)
    row = protocol.RunRecord.of(run, cell=cell)
    seconds = {name: round(value, 6) for name, value in row if isinstance(value, float)}
    return row.model_copy(update=seconds)


def _newest(state: protocol.Rows) -> protocol.Rows:
    """Returns a state with at most `SAVED_ROWS` rows per table."""
    tables = {
        name: dict(list(getattr(state, name).items())[-SAVED_ROWS:])
        for name in _TABLES
        if name != "work"  # it has ended when the notebook is opened
    }
    return protocol.Rows(**tables)


def _changed_rows(rows: Mapping[str, _Row], sent: Mapping[str, _Row]) -> dict[str, _Row]:
    return {id: row for id, row in rows.items() if sent.get(id) != row}


def everything() -> Scope:
    """Returns the functions of the kernel that are listed, and its cells.

    A cell is listed once it has completed; a lazily traced cell, once it has a graph.
    """
    # TensorFlow clones a method for its object; both have the same record and id.
    functions = list({each.id: each for each in _live_functions() if is_shown(each)}.values())
    if "nbfn.functions.segments.cell" not in sys.modules:
        return functions, ()
    from nbfn.functions.segments.cell import live_cells

    cells = [
        cell for cell in live_cells() if cell.seconds[0] and (not cell.plan.lazily or cell.segments)
    ]
    return functions, cells


def _live_functions() -> Sequence[Observed]:
    if "nbfn.functions" not in sys.modules:
        return ()
    from nbfn.functions import live_functions

    return live_functions()


def is_shown(function: Observed) -> bool:
    """Returns whether a function is listed: it has traces or calls, or is not a method."""
    if function.recorder.traces or function.recorder.calls:
        return True
    name = getattr(function.python_function, "__qualname__", "")
    return "." not in name.rsplit("<locals>.", 1)[-1]


_feed: Feed | None = None


def feed() -> Feed:
    """Returns the feed of this process."""
    global _feed
    if _feed is None:
        _feed = Feed()
    return _feed
