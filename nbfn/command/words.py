"""How times, sizes and places are written."""

from __future__ import annotations

from jinja2.filters import do_filesizeformat

from nbfn import protocol

size = do_filesizeformat
"""A number of bytes, such as ``1.5 MB``."""


def duration(seconds: float | None) -> str:
    """A time as people write it: ``38 ms``, ``3.1 s``, ``2 min 5 s``; a dash for none."""
    if seconds is None:
        return "–"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.{1 if seconds < 0.001 else 0}f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def place(cell: protocol.Cell | None) -> str:
    """A place in the user's code, such as ``In [3], line 2``."""
    if cell is None:
        return "unknown place"
    if cell.file is not None:
        name = cell.file
    else:
        name = f"In [{cell.execution_count}]" if cell.execution_count else "the notebook"
    return name if cell.line is None else f"{name}, line {cell.line}"
