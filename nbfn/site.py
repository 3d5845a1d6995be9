"""Finds the source line where something happened: file, line, and the notebook cell if any."""

from __future__ import annotations

import functools
import itertools
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from nbfn.errors import NbfnWarning

_NOT_USER_CODE = ("nbfn.", "tensorflow.", "keras.", "contextlib", "importlib.", "IPython.")
GENERATED = "__autograph_generated_file"
"""Part of the name of each file that AutoGraph writes."""


@dataclass(frozen=True)
class Cell:
    """A run of a notebook cell."""

    id: str | None
    execution_count: int | None


@dataclass(frozen=True)
class Site:
    """A line of user code.

    Attributes:
        file: Name of the source file, or of the cell's source.
        line: Line in the file or cell, from 1; None if no frame of user code was found.
        cell: The cell that ran, if any.
        span: First and last line of what ran, and their columns in bytes.
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
    """Records that a cell begins; call sites found until `leave_cell` belong to it."""
    _running.append(_Running(cell, namespace))
    _runs[cell.execution_count] = cell


def leave_cell() -> None:
    """Records that the last entered cell has ended."""
    if _running:
        _running.pop()


def current_cell() -> Cell | None:
    """Returns the running cell, if any."""
    return _running[-1].cell if _running else None


def cells_namespace() -> dict[str, Any] | None:
    """Returns the namespace of the running cell, if any."""
    return _running[-1].namespace if _running else None


def reached_from_cells(module: str | None, place: str) -> tuple[str, str]:
    """Returns how a cell can refer to a name of a module: code to run first, and the expression."""
    names = cells_namespace()
    if module not in sys.modules or names is None or names.get("__name__") == module:
        return "", place
    source = sys.modules[module]
    # Of a list, because another thread may add names meanwhile.
    alias = next((name for name, value in list(names.items()) if value is source), None)
    return ("", f"{alias}.{place}") if alias else (f"import {module}\n", f"{module}.{place}")


_cell_that_set: Callable[[str], Cell | None] | None = None


def find_cells_that_set_names_by(find: Callable[[str], Cell | None]) -> None:
    """Registers a function that finds the cell which last assigned a name."""
    global _cell_that_set
    _cell_that_set = find


def cell_that_set(module: str | None, name: str) -> Cell | None:
    """Returns the cell before this one that assigned a global of the notebook."""
    names = cells_namespace()
    if _cell_that_set is None or names is None or names.get("__name__") != module:
        return None
    return _cell_that_set(name)


CellLine = tuple[int, int]
"""The n of In [n], and a line in that cell."""

_line_in_cell: Callable[[str, int], CellLine | None] | None = None


def find_cells_by(find: Callable[[str, int], CellLine | None]) -> None:
    """Registers a function that maps a line of a file to a line of a cell."""
    global _line_in_cell
    _line_in_cell = find


def site_of(file: str, line: int) -> Site:
    """Returns the site of a line; in a cell, if the file is the source of one."""
    found = None if _line_in_cell is None else _line_in_cell(file, line)
    if found is None:
        return Site(file, line)
    number, line = found
    return Site(file, line, _runs.get(number, Cell(None, number)))


def call_site() -> Site:
    """Finds the line of user code that is running.

    In a notebook this is the line of the running cell; elsewhere it is the innermost line outside
    nbfn and TensorFlow.
    """
    cell, frame = current_cell(), _frame_of_user()
    return Site(None, None, cell) if frame is None else _site(frame, cell)


def _frame_of_user() -> FrameType | None:
    cells = cells_namespace()
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        code, names = frame.f_code, frame.f_globals
        if cells is None:
            is_users = _is_user_code(names.get("__name__"), code.co_filename)
        else:
            is_users = names is cells and code.co_name == "<module>"
        if is_users:
            return frame
    return None


def definition_site(code: CodeType | None) -> Site:
    """Returns where a function with this code is defined: its file, or the running line.

    The code of a cell also has a file name, but no such file exists.
    """
    here = call_site()
    if here.cell is not None and code is not None and os.path.isfile(code.co_filename):
        return Site(code.co_filename, code.co_firstlineno)
    return here


def _site(frame: FrameType, cell: Cell | None = None) -> Site:
    # `co_positions` has one entry for each unit of two bytes.
    position = frame.f_lasti // 2
    span = next(itertools.islice(frame.f_code.co_positions(), position, None), None)
    return Site(frame.f_code.co_filename, frame.f_lineno, cell, span)


def warn(message: str) -> None:
    """Warns at the line of user code that is running, once a line as Python does."""
    frame = _frame_of_user()
    if frame is None:
        warnings.warn(message, NbfnWarning, stacklevel=3)
        return
    # Python keeps what it has shown in the module of the line. IPython clears it before each cell.
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        message, NbfnWarning, frame.f_code.co_filename, frame.f_lineno, registry=registry
    )


@functools.lru_cache(4096)
def _is_user_code(module: str | None, file: str) -> bool:
    return not (f"{module}.".startswith(_NOT_USER_CODE) or GENERATED in file)
