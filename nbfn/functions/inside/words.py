"""Finds the user's words: the expression that made an operation, and names of tensors.

The frame that makes an operation has the position of the current expression, including columns.
Code that AutoGraph generated is translated back to the user's.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow, code
from nbfn.code import is_installed, is_library
from nbfn.serial import ByIdentity
from nbfn.site import GENERATED, Site, site_of
from nbfn.text import cut

MAX_EXPRESSION = 80
_AUTOGRAPH = "ag__"


@dataclass(frozen=True)
class Spot:
    """A position in user code, with the expression there.

    Attributes:
        site: The line.
        text: The expression, or the whole line if it is not known.
        is_statement: Whether it is a whole statement, such as a loop that AutoGraph builds.
    """

    site: Site
    text: str
    is_statement: bool = False


NOWHERE = Spot(Site(None, None), "")


def frames(frame: FrameType | None, until: CodeType | None = None) -> Iterator[FrameType]:
    """Yields a frame and its callers, innermost first, up to one that runs this code."""
    while frame is not None and frame.f_code is not until:
        yield frame
        frame = frame.f_back


def is_user_frame(frame: FrameType) -> bool:
    """Returns whether a frame runs user code, converted or not."""
    file = frame.f_code.co_filename
    if GENERATED in file or not is_library(file):
        return True
    return file.startswith("<") and site_of(file, 1).cell is not None


def is_of_library(frame: FrameType) -> bool:
    """Returns whether a frame runs code of a package built on TensorFlow, such as Keras."""
    file = frame.f_code.co_filename
    return is_installed(file) and not file.startswith(_OWN_FOLDERS)


_OWN_FOLDERS = tuple(os.path.dirname(str(each.__file__)) + os.sep for each in (tf, np, code))


def spot_of(frame: FrameType) -> Spot:
    """Returns the current position of a user frame."""
    return _spot(frame.f_code, frame.f_lasti, frame.f_code.co_filename)


@functools.lru_cache(4096)
def _spot(code: CodeType, instruction: int, file: str) -> Spot:
    # `file` is part of the cache key: CPython does not compare file names of code objects.
    positions = list(code.co_positions())[instruction // 2]  # one for each code unit of 2 bytes
    line = positions[0] or code.co_firstlineno
    number = line
    origin = _tensorflow.original_line(file, line) if GENERATED in file else None
    if origin is not None:
        file, number, _ = origin
    expression = _expression(code.co_filename, positions)
    if expression is not None and origin is None and GENERATED in code.co_filename:
        return Spot(Site(None, None), _text(expression))
    whole = linecache.getline(file, number).strip()
    if expression is None:
        return Spot(site_of(file, number), cut(whole, MAX_EXPRESSION), True)
    return Spot(site_of(file, number), _text(expression))


def _expression(file: str, positions: tuple[int | None, ...]) -> ast.expr | None:
    """Returns the expression at a position, without AutoGraph's operators; None if unknown."""
    first, last, start, end = positions
    if first is None or last is None or start is None or end is None:
        return None
    lines = linecache.getlines(file)[first - 1 : last]
    if len(lines) != last - first + 1:
        return None
    encoded = [each.encode() for each in lines]
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][start:]
    try:
        tree = ast.parse(b"(" + b"".join(encoded) + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    plain = _WithoutAutograph().visit(tree)
    return None if _AUTOGRAPH in ast.unparse(plain) else plain


class _WithoutAutograph(ast.NodeTransformer):
    """Removes AutoGraph's operators from an expression."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        called = node.func
        if not (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and called.value.id == _AUTOGRAPH
        ):
            return node
        change = _OPERATORS.get(called.attr)
        return node if change is None or not node.args else change(node)


def _call(node: ast.Call) -> ast.expr:
    function, positional, named = node.args[0], *node.args[1:3]
    args: list[ast.expr] = [ast.Starred(positional, ast.Load())]
    if isinstance(positional, ast.Tuple):
        args = positional.elts
    keywords = named.keywords if isinstance(named, ast.Call) else []
    return ast.Call(function, args, keywords)


def _inner(node: ast.expr) -> ast.expr:
    return node.body if isinstance(node, ast.Lambda) else node


_OPERATORS: dict[str, Callable[[ast.Call], ast.expr]] = {
    "ld": lambda node: node.args[0],
    "autograph_artifact": lambda node: node.args[0],
    "converted_call": _call,
    "not_": lambda node: ast.UnaryOp(ast.Not(), node.args[0]),
    "and_": lambda node: ast.BoolOp(ast.And(), [_inner(each) for each in node.args]),
    "or_": lambda node: ast.BoolOp(ast.Or(), [_inner(each) for each in node.args]),
    "eq": lambda node: ast.Compare(node.args[0], [ast.Eq()], [node.args[1]]),
    "not_eq": lambda node: ast.Compare(node.args[0], [ast.NotEq()], [node.args[1]]),
    "if_exp": lambda node: ast.IfExp(node.args[0], *[_inner(each) for each in node.args[1:3]]),
}
"""AutoGraph's operators, and the Python expressions that they replace (TensorFlow 2.21)."""


def _text(node: ast.AST) -> str:
    return cut(" ".join(ast.unparse(node).split()), MAX_EXPRESSION)


class TensorNames:
    """Names the tensors of a graph while it is made.

    A tensor has the name of a variable in the frame that uses it; else the expression that computed
    it. Tensors are held weakly.
    """

    def __init__(self) -> None:
        self._texts: ByIdentity[str] = ByIdentity()

    def note(self, tensor: Any, text: str) -> None:
        """Records the expression that computed a tensor; the outermost one is recorded last."""
        self._texts[tensor] = text

    def of(self, tensor: Any, frame: FrameType | None, text: str) -> str:
        """Returns the name of a tensor in a user frame, within an expression of this text.

        Returns:
            The name of a variable or an expression; empty if neither is known.
        """
        outer = _tensorflow.captured_from(tensor)
        names = [] if frame is None else _names_in(frame, lambda v: v is tensor or v is outer)
        constant = None if names or frame is None else _constant(outer)
        if frame is not None and constant is not None:
            names = _names_in(frame, lambda v: _is_constant(v, constant))
            if not names:
                return ""
        if names:
            in_text = [name for name in names if re.search(rf"\b{re.escape(name)}\b", text)]
            return (in_text or names)[-1]
        for each in (tensor, outer):
            noted = self._texts.get(each)
            if noted is not None and noted != text:
                return noted
        return "" if frame is None else _name_of_source(outer, frame)


def _names_in(frame: FrameType, is_wanted: Callable[[Any], bool]) -> list[str]:
    """Returns the user's names for some value in a frame."""
    found = [name for name, value in list(frame.f_locals.items()) if is_wanted(value)]
    if not found:
        variables = frame.f_globals
        found = [n for n in frame.f_code.co_names if n in variables and is_wanted(variables[n])]
    # AutoGraph's `retval_` (TensorFlow 2.21) has the user's tensor, too. A heuristic: names of the
    # user that end like this are left out.
    return [name for name in found if not name.endswith("_")]


def _constant(tensor: Any) -> np.ndarray | None:
    """Returns the value of a constant: TensorFlow makes one of each small captured tensor."""
    if not tf.is_symbolic_tensor(tensor) or tensor.op.type != "Const":
        return None
    value = tf.get_static_value(tensor)
    return None if value is None else np.asarray(value)


def _is_constant(value: Any, constant: np.ndarray) -> bool:
    if not isinstance(value, tf.Tensor) or tf.is_symbolic_tensor(value):
        return False
    if value.shape != constant.shape or value.dtype != constant.dtype:
        return False
    return bool(np.array_equal(value.numpy(), constant))


def _name_of_source(tensor: Any, frame: FrameType) -> str:
    """Returns the name of an argument, or of a variable that was read; else an empty string."""
    operation = tensor.op if tf.is_symbolic_tensor(tensor) else None
    while operation is not None and operation.type == "Identity":
        operation = operation.inputs[0].op
    if operation is None:
        return ""
    if operation.type == "Placeholder":
        return str(operation.name)
    if operation.type != "ReadVariableOp":
        return ""
    handle = _tensorflow.captured_from(operation.inputs[0])
    names = _names_in(frame, lambda v: isinstance(v, tf.Variable) and v.handle is handle)
    variables = getattr(operation.graph, "variables", ())
    names += [str(each.name).removesuffix(":0") for each in variables if each.handle is handle]
    return names[0] if names else ""
