"""Augmented assignments to lists, sets, dicts and arrays, which change them in place."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbfn.notebook.cells.names import Names
from nbfn.notebook.cells.refusal import same_scope
from nbfn.notebook.cells.source import Edit, end_line, end_of


def extend_in_place(
    names: Names, body: Sequence[ast.stmt], namespace: dict[str, Any]
) -> list[Edit]:
    """Lets augmented assignment change lists, sets, dicts and arrays in place, as it does eagerly.

    The names are no longer ones that the cell writes.
    """
    edits: list[Edit] = []
    for name in names.extended:
        kinds = {list: "list", set: "set", dict: "dict", np.ndarray: "array"}
        kind = kinds.get(type(namespace.get(name)))
        if kind is None:
            continue
        statements = [
            node
            for node in same_scope(body)
            if isinstance(node, ast.AugAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id == name
        ]
        changed = [_edits(node, kind) for node in statements]
        if all(changed):
            edits += [edit for each in changed for edit in each]
            for names_of_a_kind in (names.writes, names.may_write):
                if name in names_of_a_kind:
                    names_of_a_kind.remove(name)
    return edits


def _edits(node: ast.AugAssign, kind: str) -> list[Edit]:
    """Makes ``total += parts`` say that it changes what ``total`` names, and not the name.

    Args:
        node: The statement.
        kind: What the name stands for: ``"list"``, ``"set"``, ``"dict"`` or ``"array"``.

    Returns:
        The changes; none if the statement means something else, as ``total *= 2`` does.
    """
    target = node.target
    if kind == "array":
        return [(end_line(target), end_of(target), end_of(target), "[...]")]
    method = _METHODS.get((kind, type(node.op)))
    if method is None or end_line(target) != node.value.lineno - 2:
        return []
    return [
        (end_line(target), end_of(target), node.value.col_offset, f".{method}(("),
        (end_line(node), end_of(node), end_of(node), "))"),
    ]


_METHODS = {
    ("list", ast.Add): "extend",
    ("set", ast.BitOr): "update",
    ("set", ast.BitAnd): "intersection_update",
    ("set", ast.Sub): "difference_update",
    ("set", ast.BitXor): "symmetric_difference_update",
    ("dict", ast.BitOr): "update",
}
