"""Which names the cells that have run read and give, by their text, and which values those had."""

from __future__ import annotations

import ast
import dis
import symtable
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nbfn.serial import serial
from nbfn.site import Cell
from nbfn.state.values.fingerprints import content_of
from nbfn.state.values.unwrapping import fingerprint_of_functions, unwrapped

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
        shows: Whether it does nothing but show something.
        values: What marks the values that these names had when it ended; see `_mark`.
    """

    cell: Cell
    number: int
    reads: frozenset[str]
    gives: frozenset[str]
    later: Mapping[str, frozenset[str]]
    shows: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)


class CellLog:
    """The last run of each cell.

    A cell is known by its id; where there are no ids, as in a terminal, each run is a cell.
    """

    def __init__(self) -> None:
        self._cells: dict[str | int | None, RanCell] = {}
        self._number = 0

    def note(self, cell: Cell, code: str, namespace: Mapping[str, Any]) -> None:
        """Notes that a cell has run; its code is Python, without magics.

        Args:
            cell: The cell.
            code: Its code.
            namespace: The notebook's names, as the cell has left them.
        """
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
        ran = RanCell(cell, self._number, reads, gives, said, _only_shows(code))
        self._cells[key] = ran
        names = {name for name in {*gives, *self.givers(ran)} if name in namespace}
        marks = {name: _mark(namespace[name]) for name in names}
        self._cells[key] = replace(ran, values=marks)
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
        """The names that another cell has given another value since a cell has read them.

        Of a cell that only shows something there are none: nothing comes of it.
        """
        if ran.shows:
            return []
        return [
            name
            for name, by in self.givers(ran).items()
            if by.number > ran.number and not _is_same(ran.values.get(name), by.values.get(name))
        ]


def _mark(value: Any) -> Any:
    """What is equal for the same value: the object, by number, or what plain values hold.

    Functions of the user's are the same as long as their code is; None stands for what is unknown.
    """
    try:
        functions = list(unwrapped(value))
        if functions:
            return fingerprint_of_functions(functions, value).content
        return serial(value) if type(value).__weakrefoffset__ else content_of(value)
    except Exception:  # the user's objects may do anything when they are looked at
        return None


def _is_same(mark: Any, other: Any) -> bool:
    return mark is not None and bool(mark == other)


def _only_shows(code: str) -> bool:
    """Whether all that a cell does is to look at values, and to show some."""
    statements = ast.parse(code).body
    return bool(statements) and all(
        isinstance(statement, ast.Expr) and all(map(_only_looks, ast.walk(statement.value)))
        for statement in statements
    )


def _only_looks(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Name):
            return called.id in _SHOWING
        return isinstance(called, ast.Attribute) and called.attr in _SHOWING_METHODS
    return not isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)


_SHOWING = frozenset(
    {"print", "display", "repr", "str", "len", "type", "vars", "dir", "help", "isinstance"}
    | {"int", "float", "bool", "round", "min", "max", "sum", "sorted", "list", "dict", "set"}
)
_SHOWING_METHODS = frozenset(
    {"summary", "head", "tail", "describe", "info", "numpy", "item", "tolist", "keys", "values"}
    | {"items", "mean", "sum", "min", "max", "format", "join", "get_weights", "explain", "tabulate"}
)


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
