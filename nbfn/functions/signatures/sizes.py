"""Finds static sizes that code reads, such as ``x.shape[0]``, and advises on open ones."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nbfn.code import plain_function
from nbfn.text import join

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Pow)


@dataclass(frozen=True)
class StaticSize:
    """A size that code reads while it is traced.

    Attributes:
        of: The expression whose size it is.
        written: The expression for the size.
        axis: The dimension, if the code gives it as a number.
        instead: What to write if the size may differ between calls.
    """

    of: str
    written: str
    axis: int | None
    instead: str


def static_sizes(tree: ast.AST) -> Iterator[StaticSize]:
    """Yields the static sizes that code reads, those of single dimensions first."""
    cast = {id(side) for node in ast.walk(tree) for side in _beside_tensors(node)}
    found: dict[int, StaticSize] = {}
    whole: list[StaticSize] = []
    expressions = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    for node in sorted(expressions, key=lambda each: (each.lineno, each.col_offset)):
        match node:
            case ast.Subscript(ast.Attribute(of, "shape") as shape, axis):
                instead = f"tf.shape({ast.unparse(of)})[{ast.unparse(axis)}]"
                found[id(shape)] = _size(of, node, _number(axis), instead, id(node) in cast)
            case ast.Call(ast.Name("len"), [of]):
                instead = f"tf.shape({ast.unparse(of)})[0]"
                found[id(node)] = _size(of, node, 0, instead, id(node) in cast)
            case ast.Attribute(of, "shape") if id(node) not in found:
                whole.append(_size(of, node, None, f"tf.shape({ast.unparse(of)})", False))
    yield from (*found.values(), *whole)


def _number(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _size(
    of: ast.expr, node: ast.expr, axis: int | None, instead: str, is_cast: bool
) -> StaticSize:
    owner = ast.unparse(of)
    if is_cast:
        instead = f"tf.cast({instead}, {owner}.dtype)"
    return StaticSize(owner, ast.unparse(node), axis, instead)


def _beside_tensors(node: ast.AST) -> Iterator[ast.expr]:
    """Yields operands combined with tensors, which need a cast: sizes are int32."""
    match node:
        case ast.BinOp(left, ast.Div(), right):
            yield from (left, right)
        case ast.BinOp(left, op, right) if isinstance(op, _ARITHMETIC):
            for side, other in ((left, right), (right, left)):
                if any(_is_computed(each) for each in ast.walk(other)):
                    yield side


def _is_computed(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)


def varied_sizes(traces: Iterable[Any]) -> dict[str, list[list[int]]]:
    """Returns the sizes in calls, in order, by argument and dimension.

    Only arguments of constant rank in which some dimension has varied are included.
    """
    shapes: dict[str, list[tuple[int | None, ...]]] = {}
    for trace in traces:
        for path, leaf in trace.key.leaves.items():
            shape = getattr(leaf, "shape", None)
            if shape is not None:
                shapes.setdefault(path, []).append(shape)
    found = {
        path: [sorted({size for size in sizes if size}) for sizes in zip(*seen, strict=True)]
        for path, seen in shapes.items()
        if len({len(shape) for shape in seen}) == 1
    }
    return {path: axes for path, axes in found.items() if any(len(each) > 1 for each in axes)}


def advice_on_sizes(python_function: Any, traces: Iterable[Any]) -> str | None:
    """Advises what to write in place of varying static sizes that a function reads.

    Args:
        python_function: The function; only sizes of its own parameters are considered.
        traces: Its traces.
    """
    plain = plain_function(python_function)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
    except (OSError, SyntaxError, TypeError, ValueError):
        return None
    varied = varied_sizes(traces)
    found: dict[str, str] = {}
    for size in static_sizes(tree):
        axes = varied.get(size.of, [])
        index = size.axis
        is_there = index is not None and -len(axes) <= index < len(axes)
        if is_there and len(axes[index or 0]) > 1:
            found.setdefault(size.written, size.instead)
    if not found:
        return None
    changes = join([f"{new} in place of `{old}`" for old, new in found.items()])
    return f"Write {changes}, which is not known while the function is traced"
