"""A cell's text turned into the text of a function, line for line."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Sequence

INDENT = "    "
Edit = tuple[int, int, int, str]
"""A line of the body from 0, the first and the last byte to replace in it, and the new text."""


def as_function(
    body: str,
    last: ast.Expr | None,
    name: str,
    parameters: Sequence[str],
    ending: str,
    edits: Iterable[Edit] = (),
) -> str:
    """Makes a ``def`` of a cell's body.

    The ``def`` line takes the place of the magic's own line, so that line n of the function is line
    n of the cell. Lines inside a multi-line string keep their text.

    Args:
        body: The cell below the magic's line.
        last: The last statement, if it is an expression; its value becomes ``__value__``. Its
            line counts from the magic's own.
        name: The function's name.
        parameters: The function's parameters.
        ending: The line that returns, without indentation.
        edits: What to change in the body; no change spans lines.

    Returns:
        Python source of one function.
    """
    lines = body.split("\n")
    for number, start, end, text in sorted([*edits, *_assign_value(last)], reverse=True):
        line = lines[number].encode()
        lines[number] = (line[:start] + text.encode() + line[end:]).decode()
    inside = _lines_inside_strings(body)
    indented = [
        line if number in inside or not line.strip() else INDENT + line
        for number, line in enumerate(lines, start=1)
    ]
    head = f"def {name}({', '.join(parameters)}):"
    return "\n".join([head, *indented, INDENT + ending]) + "\n"


def _assign_value(last: ast.Expr | None) -> list[Edit]:
    """Puts ``__value__ = ( … )`` around the last expression."""
    if last is None:
        return []
    return [
        (last.lineno - 2, last.col_offset, last.col_offset, "__value__ = ("),
        (end_line(last), end_of(last), end_of(last), ")"),
    ]


def end_line(node: ast.expr | ast.stmt) -> int:
    """The line of the body, from 0, on which a node of the cell ends."""
    return (node.end_lineno or node.lineno) - 2


def end_of(node: ast.expr | ast.stmt) -> int:
    """The byte of that line after a node."""
    return node.end_col_offset or 0


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


def text_of(body: Sequence[ast.stmt], first: int = 2) -> str:
    """The text of statements that have no text of their own, each at its line if it can be.

    Args:
        body: The statements.
        first: The line on which the text begins.
    """
    lines: list[str] = []
    for statement in body:
        lines += [""] * (statement.lineno - first - len(lines))
        lines += ast.unparse(statement).split("\n")
    return "\n".join(lines) + "\n"
