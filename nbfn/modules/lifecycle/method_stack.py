"""The stack of running module methods on this thread, which defines implicit parents."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from nbfn.modules.lifecycle.naming import TakenNames


class Declarations:
    """The declarations of one run of ``setup``, ``declare`` or a compact method.

    It lasts as long as the outermost such call, so a second call counts from ``Dense_0`` again and
    finds the same variables. Threads never share one.

    Attributes:
      kind: ``"declare"``, ``"setup"`` or ``"compact"``.
      names: the names taken so far.
    """

    __slots__ = ("kind", "names")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.names = TakenNames()


class MethodStack(threading.local):
    """The module methods that run on one thread.

    Attributes:
      modules: the modules whose methods run, the innermost last; None is a barrier, above which new
        modules have no implicit parent.
      tables: the open tables, by the id of their module.
      interceptors: the functions around methods, the outermost first.
      noting: where the shapes of the running call are recorded; None if they are known.
    """

    def __init__(self) -> None:
        self.modules: list[Any] = []
        self.tables: dict[int, Declarations] = {}
        self.interceptors: list[Any] = []
        self.noting: dict[Any, Any] | None = None


# Code that runs in each call accesses it directly; other code uses the functions below.
here = MethodStack()


def current_module() -> Any:
    """Returns the module whose method runs innermost on this thread, or None."""
    modules = here.modules
    return modules[-1] if modules else None


@contextlib.contextmanager
def entered(module: Any) -> Iterator[None]:
    """Makes a module (None: no module) the innermost one in a ``with`` block."""
    here.modules.append(module)
    try:
        yield
    finally:
        here.modules.pop()


def table_of(module: Any) -> Declarations | None:
    """Returns the open table of a module, in which it may declare; None if it may not."""
    return here.tables.get(id(module))


def swap_table(module: Any, table: Declarations | None) -> Declarations | None:
    """Opens ``table`` for the module (None: closes it); returns the table that was open."""
    previous = here.tables.pop(id(module), None)
    if table is not None:
        here.tables[id(module)] = table
    return previous
