"""Names that an eager cell leaves as numbers, strings or bools of Python."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbfn.notebook.cells.names import names_of
from nbfn.notebook.cells.refusal import same_scope

_PLAIN = (bool, int, float, str, bytes)
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)


@dataclass(frozen=True)
class PlainName:
    """A name that an eager cell leaves as a plain value of Python.

    Attributes:
        name: The name.
        line: The line that gives it its first value.
        is_constant: Whether no call gives it a value.
    """

    name: str
    line: int
    is_constant: bool


def plain_names(body: Sequence[ast.stmt], namespace: Mapping[str, Any]) -> tuple[PlainName, ...]:
    """The names to which a cell gives nothing but constants, and what Python computes of them.

    Args:
        body: The cell's statements.
        namespace: The notebook's names, before the cell runs.
    """
    given: dict[str, list[tuple[ast.expr | None, int]]] = {}
    for name, value, line in _bindings(body):
        given.setdefault(name, []).append((value, line))
    found = names_of(body)
    for name in {*found.bound} - given.keys():
        given[name] = [(None, 0)]  # an import, a definition
    kept = [name for name in given if name not in found.writes or name in found.reads]
    for name in kept:
        if name in namespace and type(namespace[name]) not in _PLAIN:
            given[name].append((None, 0))
    plain = set(given)
    while True:
        other = {
            n for n in plain if not all(_is_plain(v, plain, given, namespace) for v, _ in given[n])
        }
        if not other:
            break
        plain -= other
    return tuple(
        PlainName(name, given[name][0][1], not any(_has_call(value) for value, _ in given[name]))
        for name in given
        if name in plain
    )


def _bindings(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr | None, int]]:
    """Each name that is bound, and the expression that it is given, if it is one."""
    simple: set[int] = set()
    for node in same_scope(body):
        pairs: list[tuple[ast.expr, ast.expr | None]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            pairs = [(node.target, node.value)] if node.value is not None else []
        elif isinstance(node, ast.AugAssign):
            whole = ast.BinOp(ast.Name(getattr(node.target, "id", "")), node.op, node.value)
            pairs = [(node.target, whole)]
        for target, value in pairs:
            if isinstance(target, ast.Name):
                simple.add(id(target))
                yield target.id, value, target.lineno
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield from [] if id(node) in simple else [(node.id, None, node.lineno)]


def _is_plain(
    node: ast.expr | None,
    plain: set[str],
    given: Mapping[str, Any],
    namespace: Mapping[str, Any],
) -> bool:
    def is_plain(each: ast.expr) -> bool:
        return _is_plain(each, plain, given, namespace)

    if isinstance(node, ast.Constant):
        return isinstance(node.value, _PLAIN)
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.Name):
        return node.id in plain if node.id in given else type(namespace.get(node.id)) in _PLAIN
    if isinstance(node, ast.IfExp):
        return is_plain(node.body) and is_plain(node.orelse)
    if isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        return called in ("int", "float", "len", "str", "bool") and not (
            called in given or called in namespace
        )
    if isinstance(node, _OPERATIONS):
        return all(
            is_plain(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)
        )
    return False


def _has_call(node: ast.expr | None) -> bool:
    return node is not None and any(isinstance(each, ast.Call) for each in ast.walk(node))
