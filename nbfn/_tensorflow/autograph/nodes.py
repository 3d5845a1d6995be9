"""Nodes of the syntax trees that AutoGraph reads, made at the place of others."""

from __future__ import annotations

import copy
from typing import Any

try:
    import gast as _gast  # type: ignore[import-untyped]
    from tensorflow.python.autograph.pyct import anno as _anno
except ImportError:
    _gast = _anno = None

gast: Any = _gast
"""The syntax trees that AutoGraph reads, in every Python; None where there is no such module."""

Node = Any
"""A node of a syntax tree, of ``gast``."""


def placed(node: Node, like: Node) -> Node:
    """A new node at the place of another, for AutoGraph's lines."""
    gast.copy_location(node, like)
    for each in gast.walk(node):
        if not hasattr(each, "lineno"):
            gast.copy_location(each, like)
        origin = _anno.getanno(like, _anno.Basic.ORIGIN, default=None)
        if origin is not None and not _anno.hasanno(each, _anno.Basic.ORIGIN):
            _anno.setanno(each, _anno.Basic.ORIGIN, origin)
    return node


def name_of(name: str, like: Node) -> Node:
    """A name that is read."""
    return placed(gast.Name(name, gast.Load(), None, None), like)


def assigned(name: Node, value: Any, like: Node) -> Node:
    """An assignment of an expression, or of a constant."""
    if not isinstance(value, gast.AST):
        value = gast.Constant(value, None)
    target = placed(gast.Name(name.id, gast.Store(), None, None), like)
    return placed(gast.Assign([target], copy.deepcopy(value), None), like)


def compared(left: Node, sign: Node, right: Node, like: Node) -> Node:
    """A comparison of two expressions."""
    return placed(gast.Compare(left, [sign], [right]), like)


def if_statement(test: Node, body: list[Node], orelse: list[Node], like: Node) -> Node:
    """A branch."""
    return placed(gast.If(test, body or [placed(gast.Pass(), like)], orelse), like)
