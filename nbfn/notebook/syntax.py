"""A syntax error in a cell, reported as IPython reports one, without frames."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import NbfnError


class CellSyntaxError(NbfnError):
    """A syntax error in a traced cell.

    It is no ``SyntaxError``, because IPython puts every frame above its report of one that is
    raised while code runs.
    """

    def __init__(self, error: SyntaxError, report: list[str]) -> None:
        super().__init__(*error.args)
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
