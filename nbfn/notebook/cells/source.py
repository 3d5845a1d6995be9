"""Converts the statements of a cell to text with the same line numbers."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def text_of(body: Sequence[ast.stmt], first: int = 2, *, indented: bool = False) -> str:
    """Converts statements to text, each at its own line if possible.

    Args:
        body: The statements.
        first: The line number of the first line.
        indented: Whether to indent the text as the body of a function.
    """
    lines: list[str] = []
    for statement in body:
        lines += [""] * (statement.lineno - first - len(lines))
        if indented:  # by `unparse`, as multi-line strings must not be indented
            inside = ast.unparse(ast.If(ast.Constant(value=True), [statement], []))
            lines += inside.split("\n")[1:]
        else:
            lines += ast.unparse(statement).split("\n")
    return "\n".join(lines) + "\n"


def as_function(body: Sequence[ast.stmt], name: str, parameters: Sequence[str], ending: str) -> str:
    """Builds a ``def`` with a cell's body; its first line replaces the magic's line.

    Args:
        body: The statements.
        name: The function's name.
        parameters: The function's parameters.
        ending: The return statement, without indentation.
    """
    head = f"def {name}({', '.join(parameters)}):\n"
    return f"{head}{text_of(body, indented=True)}    {ending}\n"
