"""Errors as the user should see them: the lines of the user's code, and no machinery between."""

from __future__ import annotations

import linecache
import re
import sys
import textwrap
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import NbfnError
from nbfn.notebook.frames import (
    Line,
    as_shown,
    entry_for,
    is_frame,
    is_machinery,
    is_users,
    lines_in,
    linked,
    walk,
    without_machinery,
)

_IN_USER_CODE = "in user code:"
_DETECTED = "Detected at node"


@dataclass(frozen=True)
class Shown:
    """What is shown of an error.

    Attributes:
        name: The name of its class.
        message: Its message, without the lines of code that it quotes.
        traceback: The user's frames, and one for each line of the user's that the message quotes.
    """

    name: str
    message: str
    traceback: TracebackType | None


def shown(error: BaseException, traceback: TracebackType | None) -> Shown | None:
    """What to show of an error; None if it never was in the machinery and so needs nothing."""
    entries = list(walk(traceback))
    if not any(is_machinery(entry.tb_frame.f_code.co_filename) for entry in entries):
        return None
    name, message, lines = parsed(error)
    own: list[TracebackType] = []
    for entry, inner in zip(entries, [*entries[1:], None], strict=True):
        code = entry.tb_frame.f_code
        line = Line(code.co_filename, entry.tb_lineno, code.co_name)
        if not is_users(line.file) or (inner is not None and _runs_a_magic(inner)):
            continue
        if as_shown(line) == line:
            own.append(entry)
        elif (in_cell := within(as_shown(line), message)) is not None:
            own.append(entry_for(in_cell))
    there = {(entry.tb_frame.f_code.co_filename, entry.tb_lineno) for entry in own}
    for quoted in map(as_shown, lines):
        in_cell = within(quoted, message)
        if in_cell is not None and (in_cell.file, in_cell.number) not in there:
            own.append(entry_for(in_cell))
    return Shown(name, message, linked(own))


def within(line: Line, message: str) -> Line | None:
    """A line of a cell; one beyond its end, which nbfn has added, is the one the message names."""
    if linecache.getline(line.file, line.number):
        return line
    named = re.search(r"at line (\d+)", message)
    return replace(line, number=int(named[1])) if named else None


def _runs_a_magic(entry: TracebackType) -> bool:
    """Whether a frame runs a cell magic, whose lines follow below."""
    return entry.tb_frame.f_code.co_name == "run_cell_magic"


def parsed(error: BaseException) -> tuple[str, str, list[Line]]:
    """Parts an error of TensorFlow into its class, what happened, and the user's lines."""
    text = str(error)
    name = type(error).__name__
    if text.startswith(_IN_USER_CODE):
        return _traced(name, text)
    if _DETECTED in text:
        return name, *_run(text)
    return name, without_machinery(text), []


def _traced(name: str, text: str) -> tuple[str, str, list[Line]]:
    """A message of AutoGraph: lines of code, an empty line, the error as ``Class: message``.

    Where AutoGraph cannot make an error of the same class, the message has its name.
    """
    body = text.removeprefix(_IN_USER_CODE).split("\n")
    last = max((i for i, line in enumerate(body) if is_frame(line)), default=-1)
    rest = textwrap.dedent("\n".join(body[last + 2 :])).strip("\n")
    kind, found, message = rest.partition(":")
    if not (found and kind.isidentifier()):
        return name, rest, lines_in(text)
    return kind, message.lstrip(" "), lines_in(text)


def _run(text: str) -> tuple[str, list[Line]]:
    """A message of the runtime: where each failing node was defined, then what happened."""
    lines = text.split("\n")
    last = max((i for i, line in enumerate(lines) if is_frame(line)), default=-1)
    rest = [line for line in lines[last + 1 :] if line.strip()]
    quoted = lines_in(text[text.index(_DETECTED) :].split("\n\n" + _DETECTED)[0])
    inner = [line for line in quoted if line.function != "<module>"]
    return "\n".join(rest) or lines[0], inner or quoted[-1:]


class Tracebacks:
    """Shows errors of one shell; what another extension shows stays as it is."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._registered = False

    def register(self) -> None:
        """Registers with the shell, unless another handler has."""
        if not self._shell.custom_exceptions:
            self._shell.set_custom_exc((Exception,), _show)
            self._registered = True

    def unregister(self) -> None:
        """Takes the registration back."""
        if self._registered and self._shell.custom_exceptions == (Exception,):
            self._shell.custom_exceptions = ()
        self._registered = False


def _show(
    shell: InteractiveShell,
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    """Is called by the shell with each error; the whole traceback stays reachable by ``%tb``."""
    view = None
    try:
        if "tensorflow" in sys.modules and not _has_its_own_view(error):
            from nbfn.notebook.notes import add_notes

            view = shown(error, traceback)
            add_notes(error, traceback, shell.user_ns)
    except Exception:  # an error must be shown, whatever becomes of its dress
        view = None
    if view is None or (view.traceback is None and not isinstance(error, NbfnError)):
        whole: Any = (kind, error, traceback)
        shell.showtraceback(whole, tb_offset=tb_offset, running_compiled_code=True)
        return
    stand_in = _stand_in(kind, error, view)
    exception: Any = (type(stand_in), stand_in, view.traceback)
    shell.showtraceback(exception, tb_offset=0, running_compiled_code=True)
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, traceback
    sys.last_exc = error  # type: ignore[attr-defined]


def _has_its_own_view(error: BaseException) -> bool:
    """Whether IPython shows an error in its own way: in one line, or as the error itself says."""
    return isinstance(error, UsageError | SyntaxError) or hasattr(error, "_render_traceback_")


def _stand_in(kind: type[BaseException], error: BaseException, view: Shown) -> Exception:
    """An error of the same name, with the message to show and the notes of the error."""
    made: Any = type(view.name, (Exception,), {"__module__": kind.__module__})(view.message)
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    cause = error.__cause__
    if cause is not None and not is_machinery_only(cause.__traceback__):
        made.__cause__ = cause
    return made  # type: ignore[no-any-return]


def is_machinery_only(traceback: TracebackType | None) -> bool:
    """Whether no frame of a traceback is the user's."""
    return not any(is_users(entry.tb_frame.f_code.co_filename) for entry in walk(traceback))
