"""Variables inside graphs, and the entries of lookup tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn._tensorflow.base import internal

_resource_variables = internal("ops.resource_variable_ops")

_ResourceVariable: Any = getattr(_resource_variables, "BaseResourceVariable", object)


def distributed_variable(variable: Any) -> Any:
    """Returns the variable on all replicas of which this is one's part; else the variable."""
    handle = getattr(variable, "handle", None)
    container = getattr(handle, "_distributed_container", None)  # a weak reference (2.21)
    found = container() if callable(container) else None
    return variable if found is None else found


def entries(table: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns a copy of the keys and values of a mutable lookup table.

    A ``DenseHashTable`` exports its internal buffers, which it continues to modify. They include
    its two reserved keys, which cannot be imported again.
    """
    keys, values = (each.numpy() for each in table.export())
    live = np.ones(len(keys), bool)
    for name in ("_empty_key", "_deleted_key"):
        if hasattr(table, name):
            same = keys == np.asarray(getattr(table, name))
            live &= ~same.all(axis=tuple(range(1, same.ndim)))
    return tf.constant(keys[live], table.key_dtype), tf.constant(values[live], table.value_dtype)


class LocalVariable(_ResourceVariable):
    """A variable that exists for one execution of the graph that creates it."""


def constrain(variable: Any, constraint: Any) -> bool:
    """Sets the constraint of an existing variable; returns whether it succeeded.

    Args:
        variable: A `tf.Variable`; TensorFlow accepts a constraint only at creation.
        constraint: A function from the variable's value to the constrained one.
    """
    # The variable of a strategy has no constraint of its own: it delegates to its first component.
    each_replica = getattr(variable, "values", None)
    for each in each_replica if isinstance(each_replica, tuple) else (variable,):
        if not hasattr(each, "_constraint"):
            return False
        each._constraint = constraint
    return variable.constraint is constraint


def is_local_variable(value: Any) -> bool:
    """Returns whether a value was created by `local_variable`."""
    return isinstance(value, LocalVariable)


def local_variable(**options: Any) -> Any:
    """Creates a variable whose memory belongs to one execution of the graph.

    `options` are those of a variable creator.

    Raises:
        NotImplementedError: If TensorFlow lacks the internals.
    """
    if _ResourceVariable is object:
        raise NotImplementedError(f"TensorFlow {tf.__version__} cannot keep variables in a graph")
    value = options["initial_value"]
    value = tf.convert_to_tensor(value() if callable(value) else value, options.get("dtype"))
    name = options.get("name") or "Variable"
    shape = tf.TensorShape(options.get("shape") or value.shape)
    with tf.name_scope(name):
        handle = tf.raw_ops.VarHandleOp(
            dtype=value.dtype, shape=shape, shared_name=_ANONYMOUS, container=""
        )
    variable = LocalVariable(
        trainable=options.get("trainable") is not False,
        shape=shape,
        dtype=value.dtype,
        handle=handle,
        name=name,
        handle_name=name,
        unique_id=f"{name}_{id(handle)}",
        initial_value=value,
        constraint=options.get("constraint"),
    )
    tf.raw_ops.AssignVariableOp(resource=handle, value=value)
    return variable


def unwatch(graphs: Iterable[Any], variable: Any) -> None:
    """Removes a variable from those that calls of these graphs expect to exist."""
    for graph in graphs:
        # A `WeakSet` of each `FuncGraph` (TensorFlow 2.21).
        watched: Any = getattr(graph, "_watched_variables", None)
        if hasattr(watched, "discard"):
            watched.discard(variable)


_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""The shared name for which the runtime creates a new resource in each execution.

It is ``ResourceHandle::ANONYMOUS_NAME`` in TensorFlow's ``resource_handle.h`` (2.21).
"""
