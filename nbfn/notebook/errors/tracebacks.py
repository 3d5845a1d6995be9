"""Shows errors with the frames of user code only."""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from nbfn.errors import NbfnError, reporting
from nbfn.notebook.errors.messages import parse_message
from nbfn.notebook.frames import (
    CodeLine,
    as_shown,
    entry_for,
    is_machinery,
    is_users,
    linked,
    walk,
)

_SHOWN = (Exception, KeyboardInterrupt)
_RUN_OF_A_CELL = os.path.join("segments", "cell_run.py")


@dataclass(frozen=True)
class ShownError:
    """The parts of an error that are shown.

    Attributes:
        name: The name of its class.
        message: Its message, without quoted lines of code.
        traceback: Frames of user code, plus an entry for each line of user code that the message
            quotes.
    """

    name: str
    message: str
    traceback: TracebackType | None


def shown(error: BaseException, traceback: TracebackType | None) -> ShownError | None:
    """Returns what to show of an error; None if no internal frames are involved."""
    entries = list(walk(traceback))
    if not any(is_machinery(entry.tb_frame.f_code.co_filename) for entry in entries):
        return None
    if isinstance(error, KeyboardInterrupt):
        from nbfn.notebook.errors.interrupts import innermost, line_of

        return ShownError(
            "KeyboardInterrupt", str(error), linked(_user_entries(innermost(entries), line_of))
        )
    name, message, lines = parse_message(error)
    in_cells = (within(as_shown(line), message) for line in lines)
    quoted = {(line.file, line.number): line for line in in_cells if line is not None}
    own = _user_entries(entries, _line_of, message, quoted)
    there = {(entry.tb_frame.f_code.co_filename, entry.tb_lineno) for entry in own}
    own += [entry_for(line) for place, line in quoted.items() if place not in there]
    return ShownError(name, message, linked(own))


def _user_entries(
    entries: list[TracebackType],
    line_of: Callable[[TracebackType], CodeLine | None],
    message: str = "",
    quoted: Collection[tuple[str, int]] = (),
) -> list[TracebackType]:
    """Returns the entries of user code, each at the line to show.

    A segment's frame is at its first line. If the error quotes another line of the cell, only that
    line is shown.
    """
    own: list[TracebackType] = []
    for entry, inner in zip(entries, [*entries[1:], None], strict=True):
        line = line_of(entry)
        if line is None or (inner is not None and _runs_a_magic(inner)):
            continue
        in_cell = within(as_shown(line), message)
        if inner is not None and _runs_a_segment(inner) and _is_elsewhere(in_cell, quoted):
            continue
        if line.file == entry.tb_frame.f_code.co_filename and as_shown(line) == line:
            own.append(entry)
        elif in_cell is not None:
            own.append(entry_for(in_cell))
    return own


def _line_of(entry: TracebackType) -> CodeLine | None:
    code = entry.tb_frame.f_code
    line = CodeLine(code.co_filename, entry.tb_lineno, code.co_name)
    return line if is_users(line.file) else None


def within(line: CodeLine, message: str) -> CodeLine | None:
    """Returns a line of a cell; a line added by nbfn is replaced by the one in the message."""
    if linecache.getline(line.file, line.number):
        return line
    named = re.search(r"at line (\d+)", message)
    return replace(line, number=int(named[1])) if named else None


def _runs_a_magic(entry: TracebackType) -> bool:
    """Returns whether a frame runs a cell magic, whose own lines follow."""
    return entry.tb_frame.f_code.co_name == "run_cell_magic"


def _runs_a_segment(entry: TracebackType) -> bool:
    code = entry.tb_frame.f_code
    return code.co_name == "runs_as_python" and code.co_filename.endswith(_RUN_OF_A_CELL)


def _is_elsewhere(line: CodeLine | None, quoted: Collection[tuple[str, int]]) -> bool:
    """Returns whether an error quotes other lines of a cell than this one."""
    if line is None or (line.file, line.number) in quoted:
        return False
    return any(file == line.file for file, _ in quoted)


class Tracebacks:
    """Shows the errors of one shell, unless another extension has registered a handler."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._registered = False

    def register(self) -> None:
        """Registers with the shell, unless another handler is registered."""
        # A shell has one handler (`set_custom_exc`, IPython 9.18), and a debugger's or another
        # extension's is not replaced.
        if not self._shell.custom_exceptions:
            self._shell.set_custom_exc(_SHOWN, _show)
            self._registered = True

    def unregister(self) -> None:
        """Removes the registration."""
        if self._registered and self._shell.custom_exceptions == _SHOWN:
            self._shell.custom_exceptions = ()
        self._registered = False


def _show(
    shell: InteractiveShell,
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    """Called by the shell for each error; ``%tb`` still shows the whole traceback."""
    whole: Any = (kind, error, traceback)
    try:
        _show_whole_or_part(shell, whole, tb_offset)
        _show_problems(shell, error)
    except KeyboardInterrupt:  # interrupted again while the traceback is rendered
        shell.showtraceback(whole, exception_only=True, running_compiled_code=True)


def _show_whole_or_part(shell: InteractiveShell, whole: Any, tb_offset: int | None) -> None:
    kind, error, traceback = whole
    view = None
    with reporting("could not add advice to an error"):  # which is shown anyway
        # An interrupted import leaves a partial module.
        imported = hasattr(sys.modules.get("tensorflow"), "function")
        if imported and not _has_its_own_view(error):
            view = shown(error, traceback)
            _note(error, traceback, shell.user_ns)
    if view is None or (
        view.traceback is None and not isinstance(error, NbfnError | KeyboardInterrupt)
    ):
        shell.showtraceback(whole, tb_offset=tb_offset, running_compiled_code=True)
        return
    stand_in = _replacement(kind, error, view)
    exception: Any = (type(stand_in), stand_in, view.traceback)
    shell.showtraceback(exception, tb_offset=0, running_compiled_code=True)
    # `%tb` and `%debug` show the original error.
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, traceback
    sys.last_exc = error  # type: ignore[attr-defined]


def _show_problems(shell: InteractiveShell, error: BaseException) -> None:
    """Displays the problems of a refused export as a page below the error."""
    # A magic converts the error to a `UsageError` in one line.
    refused = error.__context__ if isinstance(error, UsageError) else error
    problems = getattr(refused, "problems", None)
    if isinstance(refused, NbfnError) and problems and getattr(shell, "kernel", None) is not None:
        display(problems)


def _note(
    error: BaseException, traceback: TracebackType | None, namespace: Mapping[str, Any]
) -> None:
    """Adds advice to an error as a note."""
    if isinstance(error, KeyboardInterrupt):
        from nbfn.notebook.errors.interrupts import add_note_of_interrupt

        add_note_of_interrupt(error, list(walk(traceback)))
    else:
        from nbfn.notebook.errors.failed_inputs import add_values
        from nbfn.notebook.errors.notes import add_address, add_notes

        add_notes(error, traceback, namespace)
        add_values(error)
        add_address(error)


def _has_its_own_view(error: BaseException) -> bool:
    """Returns whether IPython has its own way to show an error: one line, or a custom renderer."""
    return isinstance(error, UsageError | SyntaxError) or hasattr(error, "_render_traceback_")


def _replacement(kind: type[BaseException], error: BaseException, view: ShownError) -> Exception:
    """Builds an error with the same name and notes, and with the message to show."""
    # IPython shows the class's name and module. An error of the original class may need arguments.
    shown: Any = type(view.name, (Exception,), {"__module__": kind.__module__})(view.message)
    for note in getattr(error, "__notes__", ()):
        shown.add_note(note)
    cause = error.__cause__
    entries = () if cause is None else walk(cause.__traceback__)
    if any(is_users(entry.tb_frame.f_code.co_filename) for entry in entries):
        shown.__cause__ = cause
    return shown  # type: ignore[no-any-return]
