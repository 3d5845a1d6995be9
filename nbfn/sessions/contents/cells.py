"""Records which Python state each cell has read, and finds what has changed since."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from nbfn.errors import reporting
from nbfn.sessions.contents.cell_code import CellCode, cell_code
from nbfn.site import Cell
from nbfn.state.bytecode.graph_time import NOTHING
from nbfn.state.state import Fingerprints, Source, State, changed_roots, changes, routes_above
from nbfn.state.values.fingerprints import ABSENT
from nbfn.state.values.introspection import Fetch, reference_to
from nbfn.state.values.unwrapping import unwrapped
from nbfn.state.walk import state_of

MAX_CELLS = 1000
"""Maximum number of recorded cells; older ones are dropped."""


class _Reading:
    """The state that a cell's code reads, directly or in anything that it calls.

    Functions that the cell itself defined and called are included while they exist. Names that it
    assigns before it reads them are excluded.

    Attributes:
        answer: The last result of `CellLog.outdated`: what was read, the names assigned since, and
            the names that have changed.
    """

    def __init__(self, code: CellCode, namespace: dict[str, Any]) -> None:
        self._function = FunctionType(code.code, namespace)
        self._code = code
        self._own: list[tuple[str, Fetch]] = []
        self._seen: State | None = None
        self.answer: tuple[Fingerprints, set[str], list[str]] | None = None

    def follow(self, namespace: dict[str, Any]) -> None:
        """Adds what the cell itself has made and called: functions, classes, objects."""
        values = [(name, namespace.get(name)) for name in sorted(self._code.own)]
        found = [(n, reference_to(each)) for n, value in values for each in _callees(value)]
        if found or self._own:
            self._own = [(name, reference) for name, reference in found if reference is not None]
            self._seen = None

    def assigns(self, name: str) -> bool:
        """Returns whether the cell assigns a name."""
        return name in self._code.assigns

    @property
    def is_whole(self) -> bool:
        """Whether everything that the cell has made and called still exists."""
        return all(reference() is not None for _, reference in self._own)

    def fingerprints(self) -> Fingerprints:
        """Returns the current fingerprint of each source; recomputed only after a change."""
        if self._seen is not None and self._seen.holds():
            return self._seen.fingerprints
        own = [(name, value) for name, ref in self._own if (value := ref()) is not None]
        named = self._code.named if self._code.own else frozenset[str]()
        found = state_of([("", self._function), *own], NOTHING, named, classes=self._code.reads)
        if self._code.sets:
            every = found.fingerprints
            found.fingerprints = {s: every[s] for s in every if _NAME.fullmatch(s.route)}
        self._seen = None if found.keeps else found  # it would keep user objects alive
        return found.fingerprints


@dataclass(frozen=True, eq=False)
class RanCell:
    """A cell that has run.

    Attributes:
        cell: The cell.
        number: Number of cells that ran before it.
        code: Its code.
        reading: The state that it reads.
        read: The fingerprints of what it read, as of its end; empty if it only displays values.
        changed: The sources among these that it changed itself.
        names: The notebook's names among these.
    """

    cell: Cell
    number: int
    code: CellCode
    reading: _Reading
    read: Fingerprints
    changed: frozenset[Source]
    names: frozenset[str]


class CellLog:
    """The last run of each cell.

    A cell is identified by its id, or by its text where there are no ids, as in a terminal.
    """

    def __init__(self) -> None:
        self._cells: dict[str, RanCell] = {}
        self._begun: dict[str, tuple[_Reading, Fingerprints]] = {}
        self._assigners: dict[str, RanCell] | None = None
        self._number = 0

    def begin(self, cell: Cell, text: str, namespace: dict[str, Any]) -> None:
        """Records the state in which a cell begins, to find out later what it changed itself.

        Args:
            cell: The cell.
            text: Its code, which is Python without magics.
            namespace: The notebook's names.
        """
        code = cell_code(text)
        if code is not None and not code.shows:
            last = self._cells.get(_key(cell, text))
            is_same = last is not None and last.code is code
            reading = last.reading if last and is_same else _Reading(code, namespace)
            self._begun[_key(cell, text)] = reading, _fingerprints_of(reading) or {}

    def note(self, cell: Cell, text: str, namespace: dict[str, Any]) -> None:
        """Records that a cell has run, successfully or not; arguments as in `begin`."""
        begun = self._begun.pop(_key(cell, text), None)
        code = cell_code(text)
        if code is None:
            return
        last = self._cells.pop(_key(cell, text), None)
        reading, before = begun or (_Reading(code, namespace), {})
        reading.follow(namespace)
        read = {} if code.shows else _fingerprints_of(reading) or {}
        changed = frozenset(_changed_by_itself(before, read))
        if last is not None and last.code is code:
            changed |= last.changed
        reading.answer = None
        self._number += 1
        module = namespace.get("__name__", "")
        found = (_NAME.match(source.route) for source in read if source.kind == "global")
        names = code.reads.union(each[2] for each in found if each and each[1] == module)
        self._cells[_key(cell, text)] = RanCell(
            cell, self._number, code, reading, read, changed, names
        )
        self._assigners = None
        if len(self._cells) > MAX_CELLS:
            # The one that ran longest ago: a cell that runs again moves to the end.
            del self._cells[next(iter(self._cells))]

    def clear(self) -> None:
        """Removes all cells."""
        self._cells.clear()
        self._begun.clear()
        self._assigners = None

    def __iter__(self) -> Iterator[RanCell]:
        yield from self._cells.values()

    def assigner(self, name: str) -> RanCell | None:
        """Returns the cell that last assigned a name."""
        if self._assigners is None:
            self._assigners = {
                each: ran for ran in self._cells.values() for each in ran.code.assigns
            }
        return self._assigners.get(name)

    def cell_that_set(self, name: str) -> Cell | None:
        """Returns the cell that assigned a name; None if a running cell assigns it."""
        if any(reading.assigns(name) for reading, _ in self._begun.values()):
            return None
        assigner = self.assigner(name)
        return None if assigner is None else assigner.cell

    def assigners(self, ran: RanCell) -> dict[str, RanCell]:
        """Returns the cells that assigned the names that a cell and the functions it calls read."""
        found = {name: self.assigner(name) for name in sorted(ran.names)}
        return {name: by for name, by in found.items() if by is not None and by is not ran}

    def outdated(self, ran: RanCell) -> list[str]:
        """Returns the names that have changed since a cell read them.

        A name that the cell changes itself counts only if another cell has assigned it since.
        """
        now = None if ran.code.shows else _fingerprints_of(ran.reading)
        if now is None or now is ran.read:
            return []
        rebound = {name for name, by in self.assigners(ran).items() if by.number > ran.number}
        answer = ran.reading.answer
        if answer is not None and answer[0] is now and answer[1] == rebound:
            return answer[2]
        free = {source for source in ran.changed if _root(source) not in rebound}
        before, after = (
            {source: fingerprint for source, fingerprint in each.items() if source not in free}
            for each in (ran.read, now)
        )
        if not ran.reading.is_whole:
            before = {source: before[source] for source in before if source in after}
        names = list(dict.fromkeys(source.name for source, _ in changed_roots(before, after)))
        ran.reading.answer = now, rebound, names
        return names


def _callees(value: Any) -> Iterator[Any]:
    """Yields the user-defined functions and classes that may run when a value is called."""
    if isinstance(value, type) or any(unwrapped(value)):
        yield value
    else:
        found = (inspect.getattr_static(type(value), name, None) for name in ("__call__", "call"))
        yield from (each for each in found if any(unwrapped(each)))


def _fingerprints_of(reading: _Reading) -> Fingerprints | None:
    with reporting("could not look at what a cell reads"):  # attributes may raise anything
        return reading.fingerprints()
    return None


def _changed_by_itself(before: Fingerprints, after: Fingerprints) -> Iterator[Source]:
    """Yields the sources that a cell changed and that existed before it ran.

    New items are excluded: looking up a missing key creates it in a defaultdict.
    """
    stayed = {source.route for source in before.keys() & after.keys()}
    for source, (old, _) in changes(before, after):
        is_new_item = old == ABSENT and source.name.endswith("]")
        is_known = source.route in stayed or not stayed.isdisjoint(routes_above(source.route))
        if is_known and not is_new_item:
            yield source


def _root(source: Source) -> str:
    """Returns the notebook's name from which a source was reached; empty if none."""
    found = _NAME.match(source.route)
    return "" if found is None else found[2]


def _key(cell: Cell, text: str) -> str:
    return cell.id or text


_NAME = re.compile(r"([\w.]*):(\w+)")
"""Matches the module and the first name of a route."""

cells = CellLog()
"""The cells of this kernel."""
