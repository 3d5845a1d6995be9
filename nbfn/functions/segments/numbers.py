"""Passes Python numbers among a segment's arguments as tensors if they change.

This includes names that hold a tensor at other times, such as a sum after the first iteration.

A number becomes a tensor only if it is used directly as an argument of TensorFlow or in an
operation with a tensor: Python's arithmetic, comparisons and helpers would behave differently. This
is a heuristic, by the syntax: see ``tests/functions/segments/test_numbers.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from types import ModuleType
from typing import Any

import tensorflow as tf

from nbfn.code import package_of
from nbfn.functions.effects.abstract_values import is_tensor

# In the order in which they are tried; the first is the one of `tf.constant(number)`.
_DTYPES = {float: (tf.float32, tf.float64), int: (tf.int32, tf.float32, tf.float64)}


class Numbers:
    """The numbers that are passed as tensors, with their dtypes."""

    def __init__(self) -> None:
        self._values: dict[str, list[Any]] = {}
        self._tensors: dict[str, tf.DType] = {}
        self._kinds: dict[str, type] = {}
        self._dtypes: dict[str, list[tf.DType]] = {}
        """The dtypes still to be tried for a number; empty if it is passed by value."""

    def converted(self, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
        """Returns the arguments, with these numbers as tensors."""
        if not self._dtypes:
            return tuple(arguments.values())
        return tuple(
            tf.constant(value, self._dtypes[name][0])
            if self._dtypes.get(name) and type(value) is self._kinds[name]
            else value
            for name, value in arguments.items()
        )

    def note(
        self, arguments: Mapping[str, Any], nodes: Collection[ast.stmt], names: Mapping[str, Any]
    ) -> None:
        """Records numbers; one that has had a second value, or was a tensor, becomes a tensor.

        Args:
            arguments: The arguments.
            nodes: The segment's statements.
            names: Values of the names in the statements, before and after the run.
        """
        for name, value in arguments.items():
            if is_tensor(value) and value.shape.rank == 0:
                self._tensors[name] = value.dtype
            elif type(value) in _DTYPES:
                values = self._values.setdefault(name, [])
                if not self._dtypes.get(name) and value not in values:
                    values.append(value)
        for name, values in self._values.items():
            kind, dtype = type(values[0]), self._tensors.get(name)
            changes = dtype is not None or any(type(each) is kind for each in values[1:])
            if changes and name not in self._dtypes and is_used_with_tensors(name, nodes, names):
                self._kinds[name] = kind
                dtypes = list(_DTYPES[kind])
                # The trace of a tensor serves the number unchecked: only with its usual dtype.
                usual = [each for each in dtypes[:1] if each == dtype]
                self._dtypes[name] = dtypes if dtype is None else usual

    def may_be(self, name: str, dtype: tf.DType) -> bool:
        """Returns whether a number can be a tensor of this dtype, as far as known."""
        return name not in self._dtypes or self._dtypes[name][:1] == [dtype]

    def most_values(self) -> int:
        """Returns the largest number of different values of one number passed by value."""
        counts = (len(v) for name, v in self._values.items() if not self._dtypes.get(name))
        return max(counts, default=0)

    def try_next_dtype(self) -> bool:
        """Tries another dtype for a number that could not be traced; False if none is left."""
        for dtypes in self._dtypes.values():
            if dtypes:
                dtypes.pop(0)
                return True
        return False


def is_used_with_tensors(name: str, nodes: Iterable[ast.stmt], names: Mapping[str, Any]) -> bool:
    """Returns whether a name is only an argument of TensorFlow's or an operand with a tensor."""
    good: set[int] = set()
    uses: list[int] = []
    for node in (each for statement in nodes for each in ast.walk(statement)):
        if isinstance(node, ast.BinOp):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if _is_tensor(other, names):
                    good.add(id(one))
        elif isinstance(node, ast.AugAssign) and _is_tensor(node.target, names):
            good.add(id(node.value))
        elif isinstance(node, ast.Call):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if _is_tensorflows(node.func, names) or (owner and _is_tensor(owner, names)):
                good |= {id(each) for each in node.args}
        elif isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            uses.append(id(node))
    return bool(uses) and good.issuperset(uses)


def _is_tensor(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Returns whether an expression is certainly a tensor."""
    if isinstance(node, ast.Call):
        return _is_tensorflows(node.func, names)
    if isinstance(node, ast.BinOp):
        return _is_tensor(node.left, names) or _is_tensor(node.right, names)
    return isinstance(node, ast.Name) and is_tensor(names.get(node.id))


def _is_tensorflows(function: ast.expr, names: Mapping[str, Any]) -> bool:
    while isinstance(function, ast.Attribute):
        function = function.value
    value = names.get(function.id) if isinstance(function, ast.Name) else None
    attribute = "__name__" if isinstance(value, ModuleType) else "__module__"
    return package_of(getattr(value, attribute, None)) == "tensorflow"
