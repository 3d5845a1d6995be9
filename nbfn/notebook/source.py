"""A cell's text turned into the text of a function, line for line."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence

INDENT = "    "


def as_function(
    body: str, last: ast.Expr | None, name: str, parameters: Sequence[str], ending: str
) -> str:
    """Makes a ``def`` of a cell's body.

    The ``def`` line takes the place of the magic's own line, so that line n of the function is line
    n of the cell. Lines inside a multi-line string keep their text.

    Args:
        body: The cell below the magic's line.
        last: The last statement, if it is an expression; its value becomes ``__value__``. Its
            positions count from the first line of the body.
        name: The function's name.
        parameters: The function's parameters.
        ending: The line that returns, without indentation.

    Returns:
        Python source of one function.
    """
    lines = body.split("\n")
    if last is not None:
        _assign_value(lines, last)
    inside = _lines_inside_strings(body)
    indented = [
        line if number in inside or not line.strip() else INDENT + line
        for number, line in enumerate(lines, start=1)
    ]
    head = f"def {name}({', '.join(parameters)}):"
    return "\n".join([head, *indented, INDENT + ending]) + "\n"


def _assign_value(lines: list[str], last: ast.Expr) -> None:
    """Puts ``__value__ = ( … )`` around the last expression, in place."""
    end_line, end = (last.end_lineno or last.lineno) - 1, last.end_col_offset or 0
    text = lines[end_line].encode()
    lines[end_line] = (text[:end] + b")" + text[end:]).decode()
    start_line, start = last.lineno - 1, last.col_offset
    text = lines[start_line].encode()
    lines[start_line] = (text[:start] + b"__value__ = (" + text[start:]).decode()


def _lines_inside_strings(body: str) -> set[int]:
    """Numbers, from 1, of the lines that begin inside a string or after a backslash."""
    inside: set[int] = set()
    fstring_starts: list[int] = []
    start_types = {getattr(tokenize, name, None) for name in ("FSTRING_START", "TSTRING_START")}
    end_types = {getattr(tokenize, name, None) for name in ("FSTRING_END", "TSTRING_END")}
    for token in tokenize.generate_tokens(io.StringIO(body + "\n").readline):
        if token.type == tokenize.STRING:
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
        elif token.type in start_types:
            fstring_starts.append(token.start[0])
        elif token.type in end_types and fstring_starts:
            inside.update(range(fstring_starts.pop() + 1, token.end[0] + 1))
    return inside
