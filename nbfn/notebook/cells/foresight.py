"""Which branches and loops of a cell surely run, as far as the notebook's values tell.

A name that is written in a loop which runs at least once is surely written. So the second run of a
cell, when the names that the first has left are there, needs no more inputs than the first.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.notebook.cells.kinds import is_tensor

MAX_PARTS = 1_000
"""Of a number that is computed here, a tensor or an array has at most this many."""

_NUMBERS = (bool, int, float, complex)
_PLAIN = (*_NUMBERS, str, bytes, type(None), range)
_CONTAINERS = (list, tuple, dict, set, frozenset)
_ARRAYS = (np.ndarray, np.generic)
_SHAPE = {"shape", "ndim", "dtype", "size"}
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
"""What Python computes for each sign."""


class _UnknownError(Exception):
    """What an expression stands for cannot be told without running the user's code."""


class Foresight:
    """Tells which branches and loops surely run.

    Nothing of the user's runs: only plain values, arrays and eager tensors are looked at.

    Args:
        namespace: The notebook's names, as they are before the cell runs.
        builtins: The names of Python.
    """

    def __init__(self, namespace: Mapping[str, Any], builtins: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._builtins = builtins

    def enters(self, loop: ast.For | ast.While, written: Collection[str]) -> bool:
        """Whether a loop surely runs at least once.

        Args:
            loop: The loop.
            written: Names that the cell may have written before.
        """
        try:
            if isinstance(loop, ast.While):
                return bool(self._value(loop.test, written))
            return self._length(self._value(loop.iter, written)) > 0
        except Exception:  # whatever happens here, the cell tells of it when it runs
            return False

    def decides(self, test: ast.expr, written: Collection[str]) -> bool | None:
        """Which way a condition goes that Python decides; None if it is not known."""
        try:
            value = self._value(test, written)
            return None if _is_array(value) else bool(value)
        except Exception:  # as above
            return None

    @staticmethod
    def _length(value: Any) -> int:
        if _is_array(value):
            return int(value.shape[0])
        return len(value)

    def _value(self, node: ast.expr, written: Collection[str]) -> Any:
        value = self._computed(node, written)
        known = isinstance(value, (*_PLAIN, *_CONTAINERS, enumerate, zip, tf.TensorShape))
        if not (known or _is_array(value)):
            raise _UnknownError
        return value

    def _computed(self, node: ast.expr, written: Collection[str]) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._named(node.id, written)
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and not any(
            isinstance(item, ast.Starred) for item in node.elts
        ):
            return tuple(node.elts)
        if isinstance(node, ast.UnaryOp):
            return self._applied(node.op, [self._value(node.operand, written)])
        if isinstance(node, ast.BinOp):
            sides = [self._value(node.left, written), self._value(node.right, written)]
            return self._applied(node.op, sides)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = [self._value(node.left, written), self._value(node.comparators[0], written)]
            return self._applied(node.ops[0], sides)
        if isinstance(node, ast.Attribute) and node.attr in _SHAPE:
            value = self._value(node.value, written)
            return getattr(value, node.attr) if _is_array(value) else self._unknown()
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self._value(node.value, written)[node.slice.value]
        if isinstance(node, ast.Call) and not node.keywords:
            return self._called(node, written)
        raise _UnknownError

    def _named(self, name: str, written: Collection[str]) -> Any:
        if name in written:
            raise _UnknownError
        if name in self._namespace:
            return self._namespace[name]
        return self._builtins[name]

    @staticmethod
    def _applied(sign: ast.AST, values: list[Any]) -> Any:
        """A number computed of plain numbers and small arrays."""
        for value in values:
            if _is_array(value):
                if int(np.prod(value.shape)) > MAX_PARTS:
                    raise _UnknownError
            elif not isinstance(value, (*_NUMBERS, str, type(None))):
                raise _UnknownError
        return OPERATORS[type(sign)](*values)

    def _called(self, node: ast.Call, written: Collection[str]) -> Any:
        """What a call gives that only counts or goes through other values."""
        function, owner = self._function(node.func, written)
        if owner is not None:
            return owner
        values = [self._value(each, written) for each in node.args]
        if function is tf.range:
            function = range
        if function is range:
            return range(*(int(value) for value in values))
        if function is len:
            return self._length(values[0])
        if function in (enumerate, reversed, sorted, list, tuple):
            return values[0]
        if function is zip and values:
            return min(values, key=self._length)
        raise _UnknownError

    def _function(self, node: ast.expr, written: Collection[str]) -> tuple[Any, Any]:
        """A known function; or the dict whose items, keys or values a method goes through."""
        if isinstance(node, ast.Name):
            return self._named(node.id, written), None
        if isinstance(node, ast.Attribute):
            owner = self._computed(node.value, written)
            if owner is tf and node.attr == "range":
                return tf.range, None
            if type(owner) is dict and node.attr in ("items", "keys", "values"):
                return None, owner
        raise _UnknownError

    @staticmethod
    def _unknown() -> Any:
        raise _UnknownError


def _is_array(value: Any) -> bool:
    """Whether a value is an array or a tensor that has a value."""
    return isinstance(value, _ARRAYS) or (is_tensor(value) and hasattr(value, "numpy"))
