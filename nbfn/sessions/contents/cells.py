"""Which names the cells that have run read and give, told by their text alone."""

from __future__ import annotations

import ast
import dis
import symtable
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nbfn.site import Cell

_RUN_AT_ONCE = frozenset({"lambda", "genexpr", "listcomp", "setcomp", "dictcomp", "top"})
"""Names of what has no name of the user's; a lambda may be called at once."""

MAX_CELLS = 1000
"""So many cells are noted, the newest."""


@dataclass(frozen=True)
class RanCell:
    """A cell that has run.

    Attributes:
        cell: The cell.
        number: How many cells ran before it.
        reads: The names of the notebook that its code reads while it runs, but for those that it
            gives a value itself before.
        gives: The names that it gives a value.
        later: For each function and class that it defines the names that their code reads when
            they are called.
    """

    cell: Cell
    number: int
    reads: frozenset[str]
    gives: frozenset[str]
    later: Mapping[str, frozenset[str]]


class CellLog:
    """The last run of each cell.

    A cell is known by its id; where there are no ids, as in a terminal, each run is a cell.
    """

    def __init__(self) -> None:
        self._cells: dict[str | int | None, RanCell] = {}
        self._number = 0

    def note(self, cell: Cell, code: str) -> None:
        """Notes that a cell has run; its code is Python, without magics."""
        try:
            table = symtable.symtable(code, "<cell>", "exec")
            first = _given_first(code)  # compiling finds more faults, as a `return` in no function
        except (SyntaxError, ValueError):  # another language, or what has failed for it
            return
        key = cell.id or cell.execution_count
        self._cells.pop(key, None)
        self._number += 1
        later: dict[str, set[str]] = {}
        reads = frozenset(_reads(table, later)) - first
        gives = frozenset(each.get_name() for each in table.get_symbols() if _gives(each))
        said = {name: frozenset(found) for name, found in later.items()}
        self._cells[key] = RanCell(cell, self._number, reads, gives, said)
        if len(self._cells) > MAX_CELLS:
            del self._cells[next(iter(self._cells))]

    def clear(self) -> None:
        """Forgets all cells."""
        self._cells.clear()

    def __iter__(self) -> Iterator[RanCell]:
        yield from self._cells.values()

    def giver(self, name: str) -> RanCell | None:
        """The cell that gave a name its value last."""
        return next((each for each in reversed(self._cells.values()) if name in each.gives), None)

    def givers(self, ran: RanCell) -> dict[str, RanCell]:
        """What a cell reads that another has given a value, also in functions that it calls."""
        found: dict[str, RanCell] = {}
        waiting, seen = sorted(ran.reads, reverse=True), set[str]()
        while waiting:
            name = waiting.pop()
            giver = self.giver(name)
            if name in seen or giver is None:
                continue
            seen.add(name)
            if giver is not ran:
                found[name] = giver
            waiting.extend(sorted(giver.later.get(name, ()), reverse=True))
        return found

    def outdated(self, ran: RanCell) -> list[str]:
        """The names that another cell has given a value since a cell has read them."""
        return [name for name, by in self.givers(ran).items() if by.number > ran.number]


def _given_first(code: str) -> set[str]:
    """The names that a cell gives a value before it reads them, in the order of its text."""
    compiled = compile(code, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    first: dict[str, bool] = {}
    for each in dis.get_instructions(compiled):
        if each.opname.endswith("_NAME") and each.opname != "IMPORT_NAME":
            first.setdefault(each.argval, each.opname == "STORE_NAME")
    return {name for name, is_given in first.items() if is_given}


def _gives(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _reads(table: symtable.SymbolTable, later: dict[str, set[str]]) -> Iterator[str]:
    """The names that code reads while it runs; what functions read later is added to `later`."""
    is_top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (is_top or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        name = child.get_name()
        if is_top and name.isidentifier() and name not in _RUN_AT_ONCE:
            later.setdefault(name, set()).update(_reads(child, {}))
        else:
            yield from _reads(child, later)


cells = CellLog()
"""The cells of this kernel."""
