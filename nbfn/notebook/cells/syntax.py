"""Compiles cells and reports their syntax errors as IPython does."""

from __future__ import annotations
import __future__

import linecache
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import NbfnError

MAGIC = "%%tf_function"


class CellSyntaxError(NbfnError):
    """A syntax error in a traced cell.

    It does not derive from ``SyntaxError``, because IPython puts all frames above its report of a
    ``SyntaxError`` that is raised while code runs.
    """

    def __init__(self, error: SyntaxError, report: list[str]) -> None:
        super().__init__(error.msg)
        self._report = report

    # IPython shows what this returns in place of the traceback (IPython 9.18).
    def _render_traceback_(self) -> list[str]:
        return self._report


# IPython shows the name of the class. A real `SyntaxError` it would report in another way
# (`showsyntaxerror`, IPython 9.18).
CellSyntaxError.__name__ = "SyntaxError"


def ipython_syntax_error(error: SyntaxError, shell: InteractiveShell) -> CellSyntaxError:
    """Returns an error with the report that IPython shows for the same error in a plain cell."""
    report = shell.SyntaxTB.structured_traceback(type(error), error, [])
    return CellSyntaxError(error, list(report))


def to_python(cell: str, shell: InteractiveShell) -> str:
    """Converts IPython's syntax in a cell to Python; keeps leading empty lines."""
    lines = cell.split("\n")
    empty = next((i for i, line in enumerate(lines) if line.strip()), 0)
    return "\n" * empty + str(shell.transform_cell(cell))


def features(shell: InteractiveShell) -> int:
    """Returns the compiler flags of the ``__future__`` imports of earlier cells."""
    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    # IPython adds flags of its own, such as PyCF_DONT_IMPLY_DEDENT (IPython 9.18).
    return flags & int(shell.compile.flags)


def cache_source(source: str, shell: InteractiveShell) -> str:
    """Registers a text with ``linecache`` and returns its file name."""
    # `inspect.getsource`, and so AutoGraph, needs this:
    # https://github.com/ipython/ipython/issues/13797.
    # While a cell runs, `shell.execution_count` is already that of the next one (IPython 9.18).
    name = str(shell.compile.cache(source, shell.displayhook.prompt_count))
    # IPython splits by `str.splitlines`, which also splits at characters that Python does not.
    lines = [f"{line}\n" for line in source.removesuffix("\n").split("\n")]
    size, changed, _, file = linecache.cache[name]  # type: ignore[misc]
    linecache.cache[name] = size, changed, lines, file
    return name


def compile_code(code: Any, file: str, flags: int, mode: str = "exec") -> Any:
    """Compiles code without the ``__future__`` imports of this file.

    Args:
        code: Text or a syntax tree.
        file: Its file name.
        flags: The `features` of the notebook.
        mode: As for ``compile``.
    """
    return compile(code, file, mode, flags, dont_inherit=True)
