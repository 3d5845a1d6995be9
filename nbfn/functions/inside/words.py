"""What the user calls things: the expression that made an operation, and names of tensors.

The frame that makes an operation knows which expression it is in, to the column. Where AutoGraph
has written the code, its text is read back into the user's.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import re
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow, code
from nbfn.code import is_installed, is_library
from nbfn.site import GENERATED, Site, site_of
from nbfn.text import cut

MAX_EXPRESSION = 80
_AUTOGRAPH = "ag__"


@dataclass(frozen=True)
class Spot:
    """A place in the user's code, and the expression there.

    Attributes:
        site: The line.
        text: The expression, or the whole line where that is not known.
        function: The name of the function it is in.
        is_statement: Whether it is in a statement as a whole, such as a loop that AutoGraph makes.
    """

    site: Site
    text: str
    function: str = ""
    is_statement: bool = False


NOWHERE = Spot(Site(None, None), "")


def frames(frame: FrameType | None, until: CodeType | None = None) -> Iterator[FrameType]:
    """A frame and those around it, innermost first, up to one that runs this code."""
    while frame is not None and frame.f_code is not until:
        yield frame
        frame = frame.f_back


def is_users(frame: FrameType) -> bool:
    """Returns whether a frame runs code of the user's, converted or not."""
    file = frame.f_code.co_filename
    if GENERATED in file or not is_library(file):
        return True
    return file.startswith("<") and site_of(file, 1).cell is not None


def is_of_library(frame: FrameType) -> bool:
    """Whether a frame runs code of a package that was built on TensorFlow, such as Keras."""
    file = frame.f_code.co_filename
    return is_installed(file) and not file.startswith(_BELOW)


_BELOW = tuple(os.path.dirname(str(each.__file__)) + os.sep for each in (tf, np, code))


def spot_of(frame: FrameType) -> Spot:
    """Where a frame of the user's is now."""
    return _spot(frame.f_code, frame.f_lasti, frame.f_code.co_filename)


@functools.lru_cache(4096)
def _spot(code: CodeType, instruction: int, file: str) -> Spot:
    # Code of two files may be equal: CPython does not compare their names.
    positions = list(code.co_positions())[instruction // 2]
    line = positions[0] or code.co_firstlineno
    number, function = line, code.co_name
    origin = _tensorflow.original_line(file, line) if GENERATED in file else None
    if origin is not None:
        file, number, function = origin
    expression = _expression(code.co_filename, positions)
    if expression is not None and origin is None and GENERATED in code.co_filename:
        return Spot(Site(None, None), _text(expression), function)
    whole = linecache.getline(file, number).strip()
    if expression is None:
        return Spot(site_of(file, number), cut(whole, MAX_EXPRESSION), function, True)
    return Spot(site_of(file, number), _text(expression), function)


def _expression(file: str, positions: tuple[int | None, ...]) -> ast.expr | None:
    """The expression at a place, in the user's words; None if it is none, or not known."""
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
    """Takes AutoGraph's operators out of an expression."""

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
    function, given, named = node.args[0], *node.args[1:3]
    args: list[ast.expr] = [ast.Starred(given, ast.Load())]
    if isinstance(given, ast.Tuple):
        args = given.elts
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
"""What AutoGraph writes instead of plain Python, and how it reads there."""


def _text(node: ast.AST) -> str:
    return cut(" ".join(ast.unparse(node).split()), MAX_EXPRESSION)


class Names:
    """What the user calls the tensors of a graph while it is made.

    A tensor is called as the variable that holds it where it is used; else as the expression that
    it is the value of. It keeps no tensor alive.
    """

    def __init__(self) -> None:
        self._texts: dict[int, tuple[weakref.ReferenceType[Any], str]] = {}

    def note(self, tensor: Any, text: str) -> None:
        """Says of which expression a tensor is the value; the outermost one comes last."""
        self._texts[id(tensor)] = weakref.ref(tensor), text

    def of(self, tensor: Any, frame: FrameType | None, text: str) -> str:
        """What a tensor is called in a frame of the user's, in an expression with this text.

        Returns:
            The name of a variable or an expression; empty if nothing is known.
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
        for known in (tensor, outer):
            noted = self._texts.get(id(known))
            if noted is not None and noted[0]() is known and noted[1] != text:
                return noted[1]
        return "" if frame is None else _name_of_source(outer, frame)


def _names_in(frame: FrameType, is_wanted: Callable[[Any], bool]) -> list[str]:
    """The names of the user's that have some value in a frame."""
    found = [name for name, value in list(frame.f_locals.items()) if is_wanted(value)]
    if not found:
        known = frame.f_globals
        found = [n for n in frame.f_code.co_names if n in known and is_wanted(known[n])]
    return [name for name in found if not name.endswith("_")]


def _constant(tensor: Any) -> np.ndarray | None:
    """The value of a constant: TensorFlow makes one of each small tensor that a trace captures."""
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
    """The name of an argument, or of a variable whose value was read; empty if it is neither."""
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
