"""Finds strings that code formats from tensors, which have no values while it is traced."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from types import FunctionType

from nbfn.functions.effects.source import source_of

_SKIPPED = (ast.Raise, ast.Assert)
"""Skipped: their messages also appear while tracing."""


def texts_of_tensors(function: FunctionType, tensors: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yields the line and the name wherever a function formats a tensor as text.

    Covers f-strings, ``str``, ``format`` and ``%``, for names that are certainly tensors.

    Args:
        function: The function.
        tensors: Those of its parameters that are tensors.
    """
    tree = source_of(function.__code__)
    if tree is None:
        return
    sure = _sure(tree, set(tensors))
    waiting: list[ast.AST] = list(ast.iter_child_nodes(tree))
    for node in waiting:
        if isinstance(node, _SKIPPED):
            continue
        waiting += ast.iter_child_nodes(node)
        for each in _formatted(node):
            if isinstance(each, ast.Name) and each.id in sure:
                yield each.lineno, each.id


def _formatted(node: ast.AST) -> list[ast.expr]:
    """Returns the expressions that a node formats as text."""
    match node:
        case ast.FormattedValue(value):
            return [value]
        case ast.Call(ast.Name("str"), [value]):
            return [value]
        case ast.Call(ast.Attribute(ast.Constant(str()), "format"), values):
            return values
        case ast.BinOp(ast.Constant(str()), ast.Mod(), ast.Tuple(values)):
            return values
        case ast.BinOp(ast.Constant(str()), ast.Mod(), value):
            return [value]
    return []


def _sure(tree: ast.AST, parameters: set[str]) -> set[str]:
    """Returns the names that are tensors wherever they are used."""
    stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not _is_read(n)]
    made = [
        node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and _is_made_by_tensorflow(node.value)
    ]
    # A name that is also assigned by a loop, by unpacking or another value is not certain.
    always = {name for name in made if stored.count(name) == made.count(name)}
    return always | (parameters - set(stored))


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_made_by_tensorflow(node: ast.expr) -> bool:
    """Returns whether an expression is a call of a ``tf`` function, judged by its text.

    A heuristic that knows only functions whose result is a tensor, under the name ``tf``; see
    ``names_by_a_tensor`` in ``tests/functions/traced/test_early_warnings.py``.
    """
    parts = ast.unparse(node.func).split(".") if isinstance(node, ast.Call) else [""]
    return parts[0] == "tf" and (
        parts[1] in ("math", "linalg", "nn", "random", "strings")
        or parts[-1].startswith(("reduce_", "cast", "matmul", "ones", "zeros", "exp", "sqrt"))
    )
