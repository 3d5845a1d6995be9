"""Loops over objects unknown to AutoGraph, and counters that graphs do not capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import internal

_control_flow = internal("autograph.operators.control_flow")


class Counter:
    """Two int64 numbers, done and total, written by graphs and read by any thread.

    When a graph runs, it finds the counter by its name, which is unique in this process. It is not
    captured, so nothing has to keep it alive and a SavedModel does not contain it.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def _handle(self) -> Any:
        return tf.raw_ops.VarHandleOp(
            dtype=tf.int64, shape=[2], shared_name=self._name, container=""
        )

    def begin(self, total: Any) -> Any:
        """Sets done to 0 and the total to an int64 scalar; returns the operation."""
        with tf.device("CPU:0"):
            # Both numbers in one variable, so that no reader sees those of two loops.
            value = tf.stack([tf.constant(0, tf.int64), total])
            return tf.raw_ops.AssignVariableOp(resource=self._handle(), value=value)

    def count(self) -> None:
        """Increments done."""
        with tf.device("CPU:0"):
            one = tf.constant([1, 0], tf.int64)
            tf.raw_ops.AssignAddVariableOp(resource=self._handle(), value=one)

    def read(self) -> tuple[int, int] | None:
        """Returns done and total; None if no graph has begun."""
        # A view may read it while a graph is built on this thread.
        with tf.init_scope(), tf.device("CPU:0"):
            handle = self._handle()
            if not tf.raw_ops.VarIsInitializedOp(resource=handle):
                return None
            done, total = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.int64).numpy()
            return int(done), int(total)


Loop = Callable[[Any, Callable[[Any], None], Callable[[Any, Callable[[Any], None]], None]], None]


def register_loop(kind: type, loop: Loop) -> bool:
    """Registers how AutoGraph converts a ``for`` over objects of a class.

    Args:
        kind: The class.
        loop: Called with the object, the loop's body, and a function that loops over a known type
            with a given body.

    Returns:
        False if the internals are missing; AutoGraph then loops in Python.
    """
    registry: Any = getattr(_control_flow, "for_loop_registry", None)
    if not hasattr(registry, "register"):
        return False

    def statement(iterated: Any, extra_test: Any, body: Any, *state: Any) -> None:
        def over(iterated: Any, counted: Callable[[Any], None]) -> None:
            _control_flow.for_stmt(iterated, extra_test, counted, *state)

        loop(iterated, body, over)

    registry.register(kind, statement)
    return True


def enclosing_graphs() -> list[Any]:
    """Returns the function graphs being built on this thread, innermost first."""
    graph: Any = tf.compat.v1.get_default_graph()
    found = []
    while getattr(graph, "building_function", False):
        found.append(graph)
        graph = getattr(graph, "outer_graph", None)
    return found
