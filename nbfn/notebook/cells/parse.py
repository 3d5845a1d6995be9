"""A cell's text as statements, with the line numbers that the user sees."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbfn.functions.segments.text import same_scope
from nbfn.notebook.cells.source import text_of
from nbfn.notebook.cells.syntax import as_ipython_reports, cached, compiled, features, transformed
from nbfn.notebook.frames import show_as

MAGIC = "%%tf_function"


@dataclass
class ParsedCell:
    """A cell as Python.

    Attributes:
        cell: Its text, below the magic's line if it has one.
        body: Its statements.
        source: Its Python, line for line.
        file: The file under which tracebacks find it.
        flags: What the notebook has imported from ``__future__``.
    """

    cell: str
    body: list[ast.stmt]
    source: str
    file: str
    flags: int

    def compiled(self, tree: Any) -> CodeType:
        """Compiles statements of the cell."""
        code: CodeType = compiled(tree, self.file, self.flags)
        return code


def parsed(cell: str, shell: InteractiveShell, *, has_magic: bool = True) -> ParsedCell:
    """Parses a cell.

    Args:
        cell: Its text, below the magic's line if it has one.
        shell: The shell.
        has_magic: Whether a line of a magic stands above it.

    Raises:
        CellSyntaxError: As IPython reports it, at the right line.
        UsageError: If there is nothing in the cell.
    """
    source = "\n" * has_magic + transformed(cell, shell)
    file, flags = cached(source, shell), features(shell)
    if has_magic:  # IPython shows no line of a source without an end
        show_as(file, cached(f"{MAGIC}\n{cell.rstrip()}\n", shell))
    try:
        tree = compiled(source, file, flags | ast.PyCF_ONLY_AST)
        before = ast.dump(tree) if shell.ast_transformers else ""
        tree = shell.transform_ast(tree)
        if shell.ast_transformers and ast.dump(tree) != before:  # AutoGraph reads text
            source = "\n" * has_magic + text_of(tree.body, 1 + has_magic)
            file = cached(source, shell)
            tree = compiled(source, file, flags | ast.PyCF_ONLY_AST)
        compiled(tree, file, flags)  # `return`, `break` and others are errors of their own
    except SyntaxError as error:
        raise as_ipython_reports(error, shell) from None
    if not tree.body:
        raise UsageError("the cell holds no code")
    return ParsedCell(cell, list(tree.body), source, file, flags)


def awaits(body: Iterable[ast.stmt]) -> bool:
    """Whether a cell awaits something at its top level."""
    kinds = ast.Await | ast.AsyncFor | ast.AsyncWith
    return any(
        isinstance(node, kinds) or any(g.is_async for g in getattr(node, "generators", ()))
        for node in same_scope(body)
    )


def is_definitions(body: list[ast.stmt]) -> bool:
    """Whether a cell holds definitions only, at least one of a function."""
    kinds = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    rest = body[1:] if docstring else body
    return all(isinstance(node, kinds) or _is_constant(node) for node in rest) and any(
        isinstance(node, ast.FunctionDef) for node in rest
    )


def _is_constant(node: ast.stmt) -> bool:
    """Whether a statement gives a name to a constant, such as ``RATE = 0.1``."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    try:
        ast.literal_eval(node.value)
    except (ValueError, TypeError):
        return False
    return True
