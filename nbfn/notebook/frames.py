"""Selects the frames of user code in tracebacks, and makes frames for lines in messages."""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from IPython.core.getipython import get_ipython

from nbfn.code import is_installed
from nbfn.site import GENERATED

_TENSORFLOW = ("tensorflow", "keras")
_PACKAGES = (*_TENSORFLOW, "IPython", "ipykernel", "executing")
_LIBRARY = Path(sysconfig.get_paths()["stdlib"])
_NBFN = Path(__file__).parents[1]
# AutoGraph puts `*` behind frames of converted code, and `**` behind those that it left alone
# (TensorFlow 2.21, `autograph/pyct/error_utils.py`).
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+?)(?:  \*+)?$')


@dataclass(frozen=True)
class CodeLine:
    """A line of code that a message names."""

    file: str
    number: int
    function: str


_shown_as: dict[str, str] = {}


def show_as(file: str, other: str) -> None:
    """Registers that lines of generated source are shown as lines of a cell."""
    _shown_as[file] = other


_moved: dict[tuple[str, int], tuple[int, str, int]] = {}


def move_lines(file: str, lines: range, other: str, first: int) -> None:
    """Registers where lines of a cell are after an edit.

    Args:
        file: File name of the text before the edit.
        lines: Lines in it.
        other: File name of the text after the edit.
        first: The new line number of the first line.
    """
    _moved[file, lines[0]] = lines[-1], other, first - lines[0]


def stop_moving(file: str) -> None:
    """Registers that the lines of a text are where they were: it is the cell's text again."""
    for moved in [each for each in _moved if each[0] == file]:
        del _moved[moved]


def as_shown(line: CodeLine) -> CodeLine:
    """Returns the line of a cell from which a line of generated source was made."""
    for (file, first), (last, other, shift) in _moved.items():
        if file == line.file and first <= line.number <= last:
            line = replace(line, file=other, number=line.number + shift)
            break
    return replace(line, file=_shown_as.get(line.file, line.file))


def cell_name(file: str) -> str | None:
    """Returns the name of the cell with this file name: ``In [3]``."""
    shell = get_ipython()
    name = None if shell is None else shell.compile.format_code_name(_shown_as.get(file, file))
    return None if name is None else str(name[1]).replace("In[", "In [")


def line_in_cell(file: str, line: int) -> tuple[int, int] | None:
    """Returns the n of ``In [n]`` and the line in that cell; None for other files."""
    line_shown = as_shown(CodeLine(file, line, ""))
    found = re.fullmatch(r"In \[(\d+)\]", cell_name(line_shown.file) or "")
    return None if found is None else (int(found[1]), line_shown.number)


def is_cell(file: str) -> bool:
    """Returns whether a file name is that of a cell."""
    shell = get_ipython()
    return shell is not None and shell.compile.format_code_name(file) is not None


def is_users(file: str) -> bool:
    """Returns whether a file is user code: a cell or module outside nbfn, TensorFlow and Python."""
    if is_cell(file):
        return True
    if file.startswith("<") or _belongs_to(file, _PACKAGES):
        return False
    return is_installed(file) or not Path(file).is_relative_to(_LIBRARY)


def is_machinery(file: str) -> bool:
    """Returns whether a file belongs to nbfn, TensorFlow or Keras."""
    return _belongs_to(file, _TENSORFLOW)


def _belongs_to(file: str, packages: Iterable[str]) -> bool:
    """Returns whether a file belongs to nbfn or one of these packages, wherever installed."""
    modules = (sys.modules.get(package) for package in packages)
    folders = [_NBFN, *(each for module in modules for each in getattr(module, "__path__", ()))]
    return GENERATED in file or any(map(Path(file).is_relative_to, folders))


def walk(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """Yields the entries of a traceback, outermost first."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def lines_in(text: str) -> list[CodeLine]:
    """Returns the lines of user code that a message names, outermost first."""
    found = []
    for each in text.splitlines():
        match = _FRAME.match(each)
        if match is None:
            continue
        file = _with_root(match["file"])
        if is_users(file):
            found.append(CodeLine(file, int(match["line"]), match["name"]))
    cells = [number for number, line in enumerate(found) if is_cell(line.file)]
    return found[cells[0] :] if cells else found


def _with_root(file: str) -> str:
    """Restores the leading slash of a file name in a message; XLA omits a common root."""
    rooted = os.sep + file
    return rooted if not file.startswith((os.sep, "<")) and linecache.getlines(rooted) else file


def is_frame(line: str) -> bool:
    """Returns whether a line of a message names a line of code."""
    return _FRAME.match(line) is not None


def without_machinery(text: str) -> str:
    """Removes quoted lines of internal code from a message."""
    lines: list[str] = []
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
            lines.append(line)
    return "\n".join(lines)


def tree_of(file: str) -> ast.Module | None:
    """Parses a file, without the line of a magic; None if it cannot be parsed."""
    lines = linecache.getlines(file)
    if lines and lines[0].startswith("%%"):
        lines = ["\n", *lines[1:]]
    try:
        return ast.parse("".join(lines))
    except SyntaxError:
        return None


def linked(entries: Sequence[TracebackType]) -> TracebackType | None:
    """Links entries to a traceback."""
    chained: TracebackType | None = None
    for entry in reversed(entries):
        chained = TracebackType(chained, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return chained


def entry_for(line: CodeLine) -> TracebackType:
    """Makes a traceback entry for a line without a frame."""
    # Python code cannot make a frame, so code that raises at this line runs.
    first, name = _definition_around(line)
    code = compile("\n" * (line.number - first) + "raise RuntimeError", line.file, "exec")
    try:
        exec(code.replace(co_name=name, co_qualname=name, co_firstlineno=first), {})
    except RuntimeError as error:
        entries = list(walk(error.__traceback__))
        return entries[-1]
    raise AssertionError


def _definition_around(line: CodeLine) -> tuple[int, str]:
    """Returns the first line and the name of the function that contains a line.

    IPython shows the lines of that function. A top-level line of a cell is in the module, as
    without nbfn.
    """
    tree = tree_of(line.file)
    if tree is None:
        return 1, line.function
    node = function_around(tree, line.number)
    if node is None:
        return 1, "<module>"
    return min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.name


def function_around(tree: ast.Module, line: int) -> ast.FunctionDef | None:
    """Returns the innermost function definition that contains a line, if any."""
    found = None
    for node in ast.walk(tree):  # from the outermost
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            found = node
    return found
