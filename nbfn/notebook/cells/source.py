"""Statements of a cell as text, each on its own line."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def text_of(body: Sequence[ast.stmt], first: int = 2, *, indented: bool = False) -> str:
    """The text of statements that have no text of their own, each at its line if it can be.

    Args:
        body: The statements.
        first: The line on which the text begins.
        indented: Whether the text is to stand inside a function.
    """
    lines: list[str] = []
    for statement in body:
        lines += [""] * (statement.lineno - first - len(lines))
        if indented:  # which may not change a text of several lines
            inside = ast.unparse(ast.If(ast.Constant(value=True), [statement], []))
            lines += inside.split("\n")[1:]
        else:
            lines += ast.unparse(statement).split("\n")
    return "\n".join(lines) + "\n"


def as_function(body: Sequence[ast.stmt], name: str, parameters: Sequence[str], ending: str) -> str:
    """Makes a ``def`` of a cell's body, whose line takes the place of the magic's own.

    Args:
        body: The statements.
        name: The function's name.
        parameters: The function's parameters.
        ending: The line that returns, without indentation.
    """
    head = f"def {name}({', '.join(parameters)}):\n"
    return f"{head}{text_of(body, indented=True)}    {ending}\n"
