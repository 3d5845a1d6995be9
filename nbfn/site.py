"""Where in the user's code something happened: file, line, and the notebook cell if any."""

from __future__ import annotations

import functools
import itertools
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from nbfn.errors import NbfnWarning

_NOT_THE_USERS = ("nbfn.", "tensorflow.", "keras.", "contextlib", "importlib.", "IPython.")
GENERATED = "__autograph_generated_file"
"""Is in the name of each file that AutoGraph writes."""


@dataclass(frozen=True)
class Cell:
    """A run of a notebook cell."""

    id: str | None
    execution_count: int | None


@dataclass(frozen=True)
class Site:
    """A line of the user's code.

    Attributes:
        file: Name of the source file, or of the cell's source.
        line: Line in the file, or in the cell, from 1; None where no frame of the user's is left.
        cell: The cell that ran, if any.
        span: What runs in the file: its first and last line, and their columns in bytes.
    """

    file: str | None
    line: int | None
    cell: Cell | None = None
    span: tuple[int | None, ...] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if self.cell is not None:
            count = self.cell.execution_count
            place = "this cell" if count is None else f"In [{count}]"
        elif self.file is not None:
            place = os.path.basename(self.file)
        else:
            return "unknown place"
        return place if self.line is None else f"{place}, line {self.line}"


@dataclass(frozen=True)
class _Running:
    cell: Cell
    namespace: dict[str, Any]


_running: list[_Running] = []
_runs: dict[int | None, Cell] = {}
"""The newest run for each n of In [n]."""


def enter_cell(cell: Cell, namespace: dict[str, Any]) -> None:
    """Says that a cell begins to run in a namespace; sites found until it leaves belong to it."""
    _running.append(_Running(cell, namespace))
    _runs[cell.execution_count] = cell


def leave_cell() -> None:
    """Says that the cell entered last has ended."""
    if _running:
        _running.pop()


def current_cell() -> Cell | None:
    """The cell that runs now, if any."""
    return _running[-1].cell if _running else None


def cells_namespace() -> dict[str, Any] | None:
    """The namespace in which the cell that runs now has its names, if one runs."""
    return _running[-1].namespace if _running else None


def reached_from_cells(module: str | None, place: str) -> tuple[str, str]:
    """How a cell reaches a name of a module: what it must run before, and the expression."""
    names = cells_namespace()
    if module not in sys.modules or names is None or names.get("__name__") == module:
        return "", place
    held = sys.modules[module]
    known = next((name for name, value in list(names.items()) if value is held), None)
    return ("", f"{known}.{place}") if known else (f"import {module}\n", f"{module}.{place}")


_cell_that_set: Callable[[str], Cell | None] | None = None


def find_cells_that_set_names_by(find: Callable[[str], Cell | None]) -> None:
    """Registers how the cell is found that gave a name of the notebook its value."""
    global _cell_that_set
    _cell_that_set = find


def cell_that_set(module: str | None, name: str) -> Cell | None:
    """Returns the cell before this one that gave a global of the notebook its value."""
    names = cells_namespace()
    if _cell_that_set is None or names is None or names.get("__name__") != module:
        return None
    return _cell_that_set(name)


CellLine = tuple[int, int]
"""The n of In [n], and a line in that cell."""

_line_in_cell: Callable[[str, int], CellLine | None] | None = None


def find_cells_by(find: Callable[[str, int], CellLine | None]) -> None:
    """Says how the cell is found that a line of a file stands for, as only the notebook knows."""
    global _line_in_cell
    _line_in_cell = find


def site_of(file: str, line: int) -> Site:
    """The place that a line of a file is for the user: in a cell, if the file stands for one."""
    found = None if _line_in_cell is None else _line_in_cell(file, line)
    if found is None:
        return Site(file, line)
    number, line = found
    return Site(file, line, _runs.get(number, Cell(None, number)))


def call_site() -> Site:
    """Finds the line of the user's code that is running.

    In a notebook this is the line of the running cell; elsewhere the innermost line that belongs
    neither to nbfn nor to TensorFlow.
    """
    innermost: FrameType | None = None
    running = _running[-1] if _running else None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if running is not None:
            if frame.f_globals is running.namespace and frame.f_code.co_name == "<module>":
                return _site(frame, running.cell)
        elif innermost is None and _is_the_users(frame):
            innermost = frame
            break
        frame = frame.f_back
    if innermost is not None:
        return _site(innermost)
    return Site(None, None, running.cell if running else None)


def definition_site(code: CodeType | None) -> Site:
    """Where a function with this code is defined: its file, or the line that is running.

    The code of a cell has a file name too, of a file that does not exist.
    """
    here = call_site()
    if here.cell is not None and code is not None and os.path.isfile(code.co_filename):
        return Site(code.co_filename, code.co_firstlineno)
    return here


def _site(frame: FrameType, cell: Cell | None = None) -> Site:
    position = frame.f_lasti // 2
    span = next(itertools.islice(frame.f_code.co_positions(), position, None), None)
    return Site(frame.f_code.co_filename, frame.f_lineno, cell, span)


def warn(message: str) -> None:
    """Gives a warning of nbfn's at the line of the user's code that is running."""
    site = call_site()
    if site.file is None:
        warnings.warn(message, NbfnWarning, stacklevel=3)
    else:
        warnings.warn_explicit(message, NbfnWarning, site.file, site.line or 1, registry=_warned)


_warned: dict[Any, Any] = {}
"""What Python keeps of warnings that are shown once for a line."""


def _is_the_users(frame: FrameType) -> bool:
    return _is_users_code(frame.f_globals.get("__name__"), frame.f_code.co_filename)


@functools.lru_cache(4096)
def _is_users_code(module: str | None, file: str) -> bool:
    return not (f"{module}.".startswith(_NOT_THE_USERS) or GENERATED in file)
