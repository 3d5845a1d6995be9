"""Runs a loop whose body is one segment as one graph that contains the loop.

The loop first runs as Python, its body as a segment. If an iteration takes little time, the graph's
own loop saves the calls: simulations, solvers, samplers. The first iteration is traced outside the
loop, so that every name has its value, and its kind, when the loop begins.
"""

from __future__ import annotations

import ast
import operator
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import copy_of_tree
from nbfn.functions.segments.analysis import Statement
from nbfn.functions.segments.body import Surroundings
from nbfn.functions.segments.numbers import is_used_with_tensors
from nbfn.functions.segments.segment import Segment

_ITEM, _LOOP, _ITERATION = "nbfn·item", "nbfn·loop", "nbfn·turn"
_BODY, _TEST = "nbfn·body", "nbfn·test"
_COUNT, _ITEMS = "nbfn·count", "nbfn·items"
# Heuristic: the first iteration is outside of the loop, and the loop must repay its overhead.
MIN_ITERATIONS = 4
"""Minimum number of iterations over a range or a tensor for which a loop is one graph."""
_EVALUATED = (tf.Tensor, tf.Variable, bool, int, float, np.number)
_PURE = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)


class Loop(Segment):
    """A ``for`` over a range or a tensor, or a ``while``, whose body is one segment.

    Args:
        statement: The statement.
        body: The segment of its body.
        label: The name of the function.
    """

    def __init__(self, statement: Statement, body: Segment, label: str) -> None:
        node: Any = statement.node
        self.body = body
        self._target = "" if isinstance(node, ast.While) else str(node.target.id)
        self._over_range = isinstance(node, ast.For) and _is_call_of(node.iter, "range")
        iterated = ast.Expression(node.iter if self._target else node.test)
        self._iterated = compile(ast.fix_missing_locations(iterated), "<loop>", "eval")
        carried = [name for name in body.writes if name != self._target]
        if self._target and not self._over_range:
            carried.append(self._target)
        self._carried = tuple(carried)
        super().__init__([statement], label)
        self.writes = self._carried
        self.changes = (*self.writes, self._target)
        self.reads = tuple(n for n in self.reads if n not in (_ITEM, _LOOP, "range"))
        self.closed = {_ITEM: operator.getitem, _LOOP: _loop}

    @property
    def nodes(self) -> list[ast.stmt]:
        """The first iteration, and a graph loop for the others."""
        return _with_while_loop(self.statements[0].node, self._carried, self._target)

    def beginning(self, namespace: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Returns the names and number of iterations at its start; None if it cannot be a graph."""
        # A user's operators may have effects, and Python evaluates them, too.
        names = [namespace[each] for each in self._iterated.co_names if each in namespace]
        if not all(isinstance(each, _EVALUATED) for each in names if each is not range):
            return None
        try:
            # A copy, as `eval` adds `__builtins__`; and globals must be a dict, not a ChainMap.
            value = eval(self._iterated, dict(namespace))
        except Exception:  # Python raises it next
            return None
        if not self._target:
            is_tensor = isinstance(value, tf.Tensor) and value.shape.rank == 0
            return namespace if is_tensor and bool(value) else None
        if self._over_range:
            # The graph counts in int32.
            is_range = isinstance(value, range) and all(
                abs(each) < 2**31 for each in (value.start, value.stop, value.step)
            )
            count = len(value) if is_range else 0
        else:
            is_range = False
            count = int(value.shape[0]) if isinstance(value, tf.Tensor) and value.shape.rank else 0
        if count < MIN_ITERATIONS:
            return None
        if is_range:
            self._last = value[-1]
            value = tf.range(value.start, value.stop, value.step, tf.int32)
        return ChainMap({_ITEMS: value, _COUNT: tf.constant(count)}, dict(namespace))

    def run(self, namespace: Mapping[str, Any]) -> dict[str, Any] | None:
        """Runs the trace that serves the loop in its current state."""
        __tracebackhide__ = True
        beginning = None if self.function is None else self.beginning(namespace)
        values = None if beginning is None else super().run(beginning)
        if values is not None and self._over_range:
            values[self._target] = self._last
        return values

    def learn(
        self, before: Mapping[str, Any], after: Mapping[str, Any], surroundings: Surroundings
    ) -> bool:
        """Traces the loop for the values of the names before Python ran it."""
        tensors = {name: value for name, value in after.items() if isinstance(value, tf.Tensor)}
        is_read = self._over_range and self._target in self.body.reads
        may_be_tensor = self.body.numbers.may_be(self._target, tf.int32) and is_used_with_tensors(
            self._target, self.body.nodes, {**before, **tensors}
        )
        if is_read and not may_be_tensor:
            self.reason = f"`{self._target}` is used as a Python number"
        elif len(tensors) < len(self.writes):
            self.reason = "leaves something that is not a tensor"
        else:
            return super().learn(before, tensors, surroundings)
        return True


def may_be_loop(statement: Statement) -> bool:
    """Returns whether a statement is a loop that a graph could have."""
    node = statement.node
    if not isinstance(node, ast.For | ast.While) or node.orelse:
        return False
    if isinstance(node, ast.While):
        # AutoGraph does not convert the test, so `and` and `or` would need the bool of a tensor.
        # What a call in it does is not examined.
        return not any(isinstance(each, ast.Call | ast.BoolOp) for each in ast.walk(node.test))
    if not isinstance(node.target, ast.Name):
        return False
    parts = [node.iter]
    if isinstance(node.iter, ast.Call):
        parts = node.iter.args
        # The target keeps the last number, unless the body assigns it.
        is_bound = any(node.target.id in each.writes for each in statement.blocks[0])
        if is_bound or not _is_call_of(node.iter, "range"):
            return False
    return all(isinstance(each, _PURE) for part in parts for each in ast.walk(part))


def _with_while_loop(node: Any, carried: Sequence[str], target: str) -> list[ast.stmt]:
    """Returns the function's statements: the first iteration, and a graph loop for the others."""
    names = ", ".join(carried)
    count = f"{_ITERATION} < {_COUNT}" if target else ast.unparse(node.test)
    item = f"{target} = {_ITEM}({_ITEMS}, {{}})" if target else "pass"
    text = f"""
{item.format(0)}
def {_BODY}({_ITERATION}, {names}):
    {item.format(_ITERATION)}
    return {_ITERATION} + 1, {names}
def {_TEST}({_ITERATION}, {names}):
    return {count}
{_ITERATION}, {names} = {_LOOP}({_TEST}, {_BODY}, 1, {names})
"""
    tree = ast.parse(text.strip())
    for each in ast.walk(tree):
        ast.copy_location(each, node)
    first, body, test, loop = tree.body
    assert isinstance(body, ast.FunctionDef)
    body.body[1:1] = map(copy_of_tree, node.body)
    return [first, *map(copy_of_tree, node.body), body, test, loop]


def _loop(test: Any, body: Any, *state: Any) -> Any:
    """Runs the loop; names that an iteration leaves with one tensor share the result."""
    following: Sequence[Any] = ()

    def kept(*state: Any) -> Any:
        nonlocal following
        following = body(*state)
        idle = _tensorflow.unused_operations(following)
        _tensorflow.keep_order(tf.compat.v1.get_default_graph())
        with tf.control_dependencies(idle):
            return tuple(tf.identity(each) for each in following)

    # An iteration must not begin before the previous one has ended.
    start = (tf.constant(state[0]), *state[1:])
    results = list(tf.while_loop(test, kept, start, parallel_iterations=1))
    for i, one in enumerate(state):
        if following[i] is one:  # unchanged by the loop
            results[i] = one
        for j in range(i):
            if one is state[j] and following[i] is following[j]:
                results[i] = results[j]
    return results


def _is_call_of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
