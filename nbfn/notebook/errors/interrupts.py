"""Describes an interrupt: what was running, and at which line of user code."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from nbfn import _tensorflow
from nbfn.code import is_installed
from nbfn.functions.calls.interruption import add_note
from nbfn.functions.recording.registry import live_functions
from nbfn.notebook.frames import CodeLine, is_cell, is_users
from nbfn.site import GENERATED


def line_of(entry: TracebackType) -> CodeLine | None:
    """Returns the line of user code that a frame was running when an interrupt came, or None.

    Code converted by AutoGraph is mapped to its source: errors name that in their message, but
    interrupts do not. Lines of installed packages are omitted.
    """
    code = entry.tb_frame.f_code
    if GENERATED in code.co_filename:
        found = _tensorflow.original_line(code.co_filename, entry.tb_lineno)
        return None if found is None or not is_users(found[0]) else CodeLine(*found)
    is_own = is_users(code.co_filename) and not is_installed(code.co_filename)
    return CodeLine(code.co_filename, entry.tb_lineno, code.co_name) if is_own else None


def innermost(entries: Sequence[TracebackType]) -> list[TracebackType]:
    """Keeps only the innermost frame of each converted function.

    AutoGraph turns bodies of loops and branches into functions, so one function may have several
    nested frames.
    """
    files = [entry.tb_frame.f_code.co_filename for entry in entries]
    chosen = []
    for number, file in enumerate(files):
        following = next((f for f in files[number + 1 :] if is_cell(f) or GENERATED in f), None)
        if not (GENERATED in file and following == file):
            chosen.append(entries[number])
    return chosen


def add_note_of_interrupt(error: KeyboardInterrupt, entries: Sequence[TracebackType]) -> None:
    """Adds a note to an interrupt that says what it interrupted, unless it has one."""
    called = _tensorflow.called_in(entry.tb_frame for entry in entries)
    if called is None or hasattr(error, "__notes__"):
        return
    function, is_traced = called
    records = {id(getattr(each, "function", each)): each.recorder for each in live_functions()}
    record = records.get(id(function))
    name = str(getattr(function, "name", "function")) if record is None else record.name
    add_note(error, name, is_traced)
