"""The text of a cell compiled as IPython compiles it, and its errors reported as IPython's are."""

from __future__ import annotations
import __future__

import linecache
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import NbfnError


class CellSyntaxError(NbfnError):
    """A syntax error in a traced cell.

    It is no ``SyntaxError``, because IPython puts every frame above its report of one that is
    raised while code runs.
    """

    def __init__(self, error: SyntaxError, report: list[str]) -> None:
        super().__init__(error.msg)
        self._report = report

    def _render_traceback_(self) -> list[str]:
        return self._report


CellSyntaxError.__name__ = "SyntaxError"


def as_ipython_reports(error: SyntaxError, shell: InteractiveShell) -> CellSyntaxError:
    """The error with the report that IPython gives of it in an ordinary cell."""
    report = shell.SyntaxTB.structured_traceback(type(error), error, [])
    return CellSyntaxError(error, list(report))


def transformed(cell: str, shell: InteractiveShell) -> str:
    """A cell with IPython's syntax made Python, its leading empty lines kept."""
    lines = cell.split("\n")
    empty = next((i for i, line in enumerate(lines) if line.strip()), 0)
    return "\n" * empty + str(shell.transform_cell(cell))


def features(shell: InteractiveShell) -> int:
    """What the notebook's cells have imported from ``__future__``, as flags for ``compile``."""
    known = 0
    for name in __future__.all_feature_names:
        known |= getattr(__future__, name).compiler_flag
    return known & int(shell.compile.flags)


def cached(source: str, shell: InteractiveShell) -> str:
    """The file under which tracebacks and AutoGraph find a text from now on."""
    name = str(shell.compile.cache(source, shell.displayhook.prompt_count))
    # IPython calls `str.splitlines`, which ends a line at more than Python's own reading does.
    lines = [f"{line}\n" for line in source.removesuffix("\n").split("\n")]
    size, changed, _, file = linecache.cache[name]  # type: ignore[misc]
    linecache.cache[name] = size, changed, lines, file
    return name


def compiled(code: Any, file: str, flags: int, mode: str = "exec") -> Any:
    """Compiles code of the notebook's, without what nbfn's own files import from ``__future__``.

    Args:
        code: Text, or a syntax tree.
        file: Its file.
        flags: The `features` of the notebook.
        mode: As of ``compile``.
    """
    return compile(code, file, mode, flags, dont_inherit=True)
