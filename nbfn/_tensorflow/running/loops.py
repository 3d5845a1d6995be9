"""Loops over objects that AutoGraph does not know, and counters that no graph captures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import internal

_control_flow = internal("autograph.operators.control_flow")


class Counter:
    """Two int64 numbers, done and total, that graphs write and any thread reads.

    It is found by its name, unique in this process, when a graph runs: no graph captures it, so
    nothing has to be kept alive, and a SavedModel needs nothing but the graph.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def _handle(self) -> Any:
        return tf.raw_ops.VarHandleOp(
            dtype=tf.int64, shape=[2], shared_name=self._name, container=""
        )

    def begin(self, total: Any) -> Any:
        """Puts done to 0; returns the operation. `total` is an int64 scalar."""
        with tf.device("CPU:0"):
            value = tf.stack([tf.constant(0, tf.int64), total])
            return tf.raw_ops.AssignVariableOp(resource=self._handle(), value=value)

    def count(self) -> None:
        """Counts one more."""
        with tf.device("CPU:0"):
            one = tf.constant([1, 0], tf.int64)
            tf.raw_ops.AssignAddVariableOp(resource=self._handle(), value=one)

    def read(self) -> tuple[int, int] | None:
        """Done and total now; None if no graph has begun yet."""
        with tf.init_scope(), tf.device("CPU:0"):
            handle = self._handle()
            if not tf.raw_ops.VarIsInitializedOp(resource=handle):
                return None
            done, total = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.int64).numpy()
            return int(done), int(total)


Loop = Callable[[Any, Callable[[Any], None], Callable[[Any, Callable[[Any], None]], None]], None]


def register_loop(kind: type, loop: Loop) -> bool:
    """Says what AutoGraph does with a ``for`` over objects of a class.

    Args:
        kind: The class.
        loop: Is given the object, the loop's body, and what loops over something that AutoGraph
            knows with some body.

    Returns:
        False where this TensorFlow cannot be told; AutoGraph then loops in Python.
    """
    registry: Any = getattr(_control_flow, "for_loop_registry", None)
    if not hasattr(registry, "register"):
        return False

    def statement(iterated: Any, extra_test: Any, body: Any, *state: Any) -> None:
        def over(known: Any, counted: Callable[[Any], None]) -> None:
            _control_flow.for_stmt(known, extra_test, counted, *state)

        loop(iterated, body, over)

    registry.register(kind, statement)
    return True


def enclosing_graphs() -> list[Any]:
    """The function's graph that is being made on this thread, and those around it."""
    graph: Any = tf.compat.v1.get_default_graph()
    found = []
    while getattr(graph, "building_function", False):
        found.append(graph)
        graph = getattr(graph, "outer_graph", None)
    return found
