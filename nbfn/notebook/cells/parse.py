"""Parses a cell into statements with the line numbers of the cell."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbfn.functions.segments.analysis import same_scope
from nbfn.notebook.cells.source import text_of
from nbfn.notebook.cells.syntax import (
    MAGIC,
    cache_source,
    compile_code,
    features,
    ipython_syntax_error,
    to_python,
)
from nbfn.notebook.frames import show_as


@dataclass
class ParsedCell:
    """A parsed cell.

    Attributes:
        cell: Its text, below the magic's line if there is one.
        body: Its statements.
        source: Its Python code with the same line numbers.
        file: The file name under which tracebacks find the code.
        flags: The compiler flags of the notebook's ``__future__`` imports.
    """

    cell: str
    body: list[ast.stmt]
    source: str
    file: str
    flags: int

    def compile(self, tree: Any) -> CodeType:
        """Compiles statements of the cell."""
        code: CodeType = compile_code(tree, self.file, self.flags)
        return code


def parse_cell(cell: str, shell: InteractiveShell, *, has_magic: bool = True) -> ParsedCell:
    """Parses a cell.

    Args:
        cell: Its text, below the magic's line if there is one.
        shell: The shell.
        has_magic: Whether the text is below a magic's line.

    Raises:
        CellSyntaxError: If the cell has a syntax error; shown like IPython's.
        UsageError: If the cell is empty.
    """
    source = "\n" * has_magic + to_python(cell, shell)
    file, flags = cache_source(source, shell), features(shell)
    if has_magic:  # IPython shows no source lines of a text without final newline
        show_as(file, cache_source(f"{MAGIC}\n{cell.rstrip()}\n", shell))
    try:
        tree = compile_code(source, file, flags | ast.PyCF_ONLY_AST)
        before = ast.dump(tree) if shell.ast_transformers else ""
        tree = shell.transform_ast(tree)
        if shell.ast_transformers and ast.dump(tree) != before:  # AutoGraph reads source text
            source = "\n" * has_magic + text_of(tree.body, 1 + has_magic)
            file = cache_source(source, shell)
            tree = compile_code(source, file, flags | ast.PyCF_ONLY_AST)
        # Some errors, such as a `return` outside a function, need a compiler.
        compile_code(tree, file, flags)
    except SyntaxError as error:
        raise ipython_syntax_error(error, shell) from None
    if not tree.body:
        raise UsageError("the cell holds no code")
    return ParsedCell(cell, list(tree.body), source, file, flags)


def awaits(body: Iterable[ast.stmt]) -> bool:
    """Returns whether a cell awaits at its top level."""
    kinds = ast.Await | ast.AsyncFor | ast.AsyncWith
    return any(
        isinstance(node, kinds) or any(g.is_async for g in getattr(node, "generators", ()))
        for node in same_scope(body)
    )


def is_definitions(body: list[ast.stmt]) -> bool:
    """Returns whether a cell contains only definitions, and defines at least one function."""
    kinds = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    rest = body[1:] if docstring else body
    return all(isinstance(node, kinds) or _is_constant(node) for node in rest) and any(
        isinstance(node, ast.FunctionDef) for node in rest
    )


def _is_constant(node: ast.stmt) -> bool:
    """Returns whether a statement assigns a constant, such as ``RATE = 0.1``."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    try:
        ast.literal_eval(node.value)
    except (ValueError, TypeError):
        return False
    return True
