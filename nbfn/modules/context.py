"""Who is running: the stack of module methods on this thread, which gives the implicit parent."""

from __future__ import annotations

import threading
from typing import Any

from nbfn.modules.naming import Names


class Table:
    """What one run of ``setup`` (or ``declare``, or a compact method) declares.

    It lasts as long as the outermost such call, so a second call starts counting at ``Dense_0``
    again and finds the same variables; two threads never share one.

    Attributes:
      kind: ``"declare"``, ``"setup"`` or ``"compact"``.
      names: the names taken so far.
    """

    __slots__ = ("kind", "names")

    def __init__(self, kind: str) -> None:
        """An empty table."""
        self.kind = kind
        self.names = Names()


class _Context(threading.local):
    def __init__(self) -> None:
        # None is a barrier: modules made above it have no implicit parent.
        self.modules: list[Any] = []
        self.tables: dict[int, Table] = {}
        self.interceptors: list[Any] = []


_context = _Context()


def current_module() -> Any:
    """The module whose method runs innermost on this thread, or None."""
    modules = _context.modules
    return modules[-1] if modules else None


def interceptors() -> list[Any]:
    """The functions around methods on this thread, the outermost first."""
    return _context.interceptors


def push(module: Any) -> None:
    """Makes a module (None: no module) the innermost one."""
    _context.modules.append(module)


def pop() -> None:
    """Undoes the last ``push``."""
    _context.modules.pop()


def table_of(module: Any) -> Table | None:
    """The open table of a module: where it may declare now; None if it may not."""
    return _context.tables.get(id(module))


def open_compact(module: Any) -> tuple[Table | None, bool]:
    """Opens a compact table unless one is open; the one before, and whether it was opened."""
    tables = _context.tables
    previous = tables.get(id(module))
    if previous is not None and previous.kind == "compact":
        return previous, False
    tables[id(module)] = Table("compact")
    return previous, True


def swap_table(module: Any, table: Table | None) -> Table | None:
    """Opens ``table`` for the module (None: closes) and returns the one that was open."""
    previous = _context.tables.pop(id(module), None)
    if table is not None:
        _context.tables[id(module)] = table
    return previous
