"""Static sizes that code reads, as ``x.shape[0]``, and what to write where a size is left open."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbfn.code import plain_function
from nbfn.text import join

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Pow)


@dataclass(frozen=True)
class StaticSize:
    """A size that code reads while it is traced.

    Attributes:
        of: Of what it is the size, as the code says it.
        written: How it is written.
        instead: What to write for a size that each call may have another of.
    """

    of: str
    written: str
    instead: str


def static_sizes(tree: ast.AST) -> Iterator[StaticSize]:
    """The static sizes that code reads, those of single dimensions first."""
    cast = {id(side) for node in ast.walk(tree) for side in _beside_tensors(node)}
    found: dict[int, StaticSize] = {}
    whole: list[StaticSize] = []
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(ast.Attribute(of, "shape") as shape, axis):
                instead = f"tf.shape({ast.unparse(of)})[{ast.unparse(axis)}]"
                found[id(shape)] = _size(of, node, instead, id(node) in cast)
            case ast.Call(ast.Name("len"), [of]):
                instead = f"tf.shape({ast.unparse(of)})[0]"
                found[id(node)] = _size(of, node, instead, id(node) in cast)
            case ast.Attribute(of, "shape") if id(node) not in found:
                whole.append(_size(of, node, f"tf.shape({ast.unparse(of)})", False))
    yield from (*found.values(), *whole)


def _size(of: ast.expr, node: ast.expr, instead: str, is_cast: bool) -> StaticSize:
    owner = ast.unparse(of)
    if is_cast:
        instead = f"tf.cast({instead}, {owner}.dtype)"
    return StaticSize(owner, ast.unparse(node), instead)


def _beside_tensors(node: ast.AST) -> Iterator[ast.expr]:
    """The sides of an operation that meets tensors, whose dtype is seldom that of sizes, int32."""
    match node:
        case ast.BinOp(left, ast.Div(), right):
            yield from (left, right)
        case ast.BinOp(left, op, right) if isinstance(op, _ARITHMETIC):
            for side, other in ((left, right), (right, left)):
                if any(_is_computed(each) for each in ast.walk(other)):
                    yield side


def _is_computed(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)


def advice_on_sizes(python_function: Any) -> str | None:
    """What to write in place of the static sizes that a function reads of its parameters."""
    plain = plain_function(python_function)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
        parameters = set(inspect.signature(plain).parameters)
    except (OSError, SyntaxError, TypeError, ValueError):
        return None
    found: dict[str, str] = {}
    for size in static_sizes(tree):
        if size.of in parameters and size.written != f"{size.of}.shape":
            found.setdefault(size.written, size.instead)
    if not found:
        return None
    said = join([f"{new} in place of `{old}`" for old, new in found.items()])
    return f"Write {said}, which is not known while the function is traced"
