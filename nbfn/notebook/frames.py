"""Which frames of a traceback are the user's, and frames for lines that only a message names."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from IPython.core.getipython import get_ipython

import nbfn

_PACKAGES = ("tensorflow", "keras", "IPython", "ipykernel", "autograph", "executing")
_LIBRARY = Path(sysconfig.get_paths()["stdlib"])
_NBFN = Path(nbfn.__file__).parent
_GENERATED = "__autograph_generated_file"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+?)(?:  \*+)?$')


@dataclass(frozen=True)
class Line:
    """A line of code that a message names."""

    file: str
    number: int
    function: str


_shown_as: dict[str, str] = {}


def show_as(file: str, other: str) -> None:
    """Says that lines of a generated source are shown as those of the cell it was made of."""
    _shown_as[file] = other


def as_shown(line: Line) -> Line:
    """The line of the cell that a line of its generated source was made of."""
    return replace(line, file=_shown_as.get(line.file, line.file))


def is_cell(file: str) -> bool:
    """Whether a file name is that of a cell."""
    shell = get_ipython()
    return shell is not None and shell.compile.format_code_name(file) is not None


def is_users(file: str) -> bool:
    """Whether a file is the user's: a cell or a module, but none of the machinery."""
    if is_cell(file):
        return True
    path = Path(file)
    if _GENERATED in file or path.is_relative_to(_NBFN) or file.startswith("<"):
        return False
    if "site-packages" in path.parts or "dist-packages" in path.parts:
        return not any(package in path.parts for package in _PACKAGES)
    return not path.is_relative_to(_LIBRARY)


def is_machinery(file: str) -> bool:
    """Whether a file belongs to nbfn, TensorFlow or Keras."""
    path = Path(file)
    return (
        _GENERATED in file
        or path.is_relative_to(_NBFN)
        or bool({"tensorflow", "keras"} & set(path.parts))
    )


def walk(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """The entries of a traceback, outermost first."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def lines_in(text: str) -> list[Line]:
    """The lines of the user's code that a message names, outermost first."""
    found = []
    for each in text.splitlines():
        match = _FRAME.match(each)
        if match is not None and is_users(match["file"]):
            found.append(Line(match["file"], int(match["line"]), match["name"]))
    cells = [number for number, line in enumerate(found) if is_cell(line.file)]
    return found[cells[0] :] if cells else found


def is_frame(line: str) -> bool:
    """Whether a line of a message names a line of code."""
    return _FRAME.match(line) is not None


def without_machinery(text: str) -> str:
    """A message without the lines of code that it quotes from the machinery."""
    kept: list[str] = []
    indent: int | None = None
    own = {(line.file, line.number) for line in lines_in(text)}
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        match = _FRAME.match(line)
        if match is not None:
            indent = None if (match["file"], int(match["line"])) in own else depth
        elif indent is not None and depth <= indent:
            indent = None
        if indent is None:
            kept.append(line)
    return "\n".join(kept)


def linked(entries: Sequence[TracebackType]) -> TracebackType | None:
    """A traceback of these entries only."""
    chained: TracebackType | None = None
    for entry in reversed(entries):
        chained = TracebackType(chained, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return chained


def entry_for(line: Line) -> TracebackType:
    """A traceback entry that shows a line which no frame stands at any more."""
    code = compile("\n" * (line.number - 1) + "raise RuntimeError", line.file, "exec")
    try:
        exec(code.replace(co_name=line.function, co_qualname=line.function), {})
    except RuntimeError as error:
        entries = list(walk(error.__traceback__))
        return entries[-1]
    raise AssertionError
