"""How places are written."""

from __future__ import annotations

from nbfn import protocol


def place(cell: protocol.Cell | None) -> str:
    """A place in the user's code, such as ``In [3], line 2``."""
    if cell is None:
        return "unknown place"
    if cell.file is not None:
        name = cell.file
    else:
        name = f"In [{cell.execution_count}]" if cell.execution_count else "the notebook"
    return name if cell.line is None else f"{name}, line {cell.line}"
