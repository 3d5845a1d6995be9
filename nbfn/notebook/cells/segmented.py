"""Builds the traced cell of a body cell, which runs in segments."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf
from IPython.core.interactiveshell import InteractiveShell

from nbfn.functions import stance
from nbfn.functions.segments.analysis import analyse_cell
from nbfn.functions.segments.body import Surroundings
from nbfn.functions.segments.cell import TracedCell
from nbfn.notebook.cells.cell_options import CellOptions
from nbfn.notebook.cells.parse import ParsedCell
from nbfn.notebook.cells.syntax import MAGIC
from nbfn.notebook.frames import move_lines, stop_moving
from nbfn.site import current_cell

DEFAULT_NAME = "cell"


def segmented_cell(
    cell: ParsedCell,
    name: str | None,
    options: CellOptions,
    shell: InteractiveShell,
    previous: TracedCell | None,
    *,
    lazily: bool = False,
) -> TracedCell:
    """Returns the traced cell of a body; the kept one if its text has not changed.

    Args:
        cell: The cell.
        name: Its name, if any.
        options: The options on the magic's line.
        shell: The shell.
        previous: The traced cell of its last run.
        lazily: Whether to trace only what runs often.
    """
    relaxing = f"{MAGIC} {name} --relax" if name else f"{MAGIC} --relax"
    surroundings = Surroundings(shell.user_ns, cell.compile, dict(options.function), relaxing)
    if previous is not None and previous.plan.surroundings.options != surroundings.options:
        previous = None
    if previous is not None and previous.plan.source == cell.source:
        traced = previous
    else:
        traced = TracedCell(
            analyse_cell(cell.body, cell.compile),
            name or DEFAULT_NAME,
            surroundings,
            previous,
            lazily=lazily,
        )
    traced.plan.source, traced.plan.file = cell.source, cell.file
    _move_lines(traced, cell.file)
    traced.plan.stance, traced.place = options.stance, current_cell()
    traced.plan.checks = options.checks
    return traced


def _move_lines(traced: TracedCell, file: str) -> None:
    """Registers where the lines of earlier traces are in the cell's text of now.

    In a terminal, each run of a text has a file name of its own.
    """
    stop_moving(file)
    for segment in traced.plan.segments.values():
        if segment.function is not None:
            code = segment.function.python_function.__code__
            first, last = segment.lines
            if code.co_filename != file:
                before = range(code.co_firstlineno, code.co_firstlineno + last - first + 1)
                move_lines(code.co_filename, before, file, first)


@contextlib.contextmanager
def surrounded(options: CellOptions) -> Iterator[None]:
    """Enters the device and the stance of a body cell."""
    device = options.device_scope()
    with contextlib.ExitStack() as stack:
        if options.stance is not None:
            stack.enter_context(stance(options.stance))
        if device is not None:
            stack.enter_context(tf.device(device))
        yield
