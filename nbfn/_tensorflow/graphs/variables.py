"""Variables that live in a graph, the entries of tables, and the state of summaries."""

from __future__ import annotations

import os
import traceback
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn._tensorflow.base import internal

_resource_variables = internal("ops.resource_variable_ops")

_summary_ops = internal("ops.summary_ops_v2")

_tf_stack = internal("util.tf_stack")

_ResourceVariable: Any = getattr(_resource_variables, "BaseResourceVariable", object)


def entries(table: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """The keys of a mutable lookup table and their values, copied.

    A ``DenseHashTable`` exports its buckets themselves: their memory is the table's, which goes on
    writing into it, and its two reserved keys, which it refuses to take back, stand among them.
    """
    keys, values = (each.numpy() for each in table.export())
    live = np.ones(len(keys), bool)
    for name in ("_empty_key", "_deleted_key"):
        if hasattr(table, name):
            same = keys == np.asarray(getattr(table, name))
            live &= ~same.all(axis=tuple(range(1, same.ndim)))
    return tf.constant(keys[live], table.key_dtype), tf.constant(values[live], table.value_dtype)


class LocalVariable(_ResourceVariable):
    """A variable that lives for one execution of the graph that creates it."""


def constrain(variable: Any, constraint: Any) -> bool:
    """Gives a variable a constraint, which optimizers apply; whether that was possible.

    Args:
        variable: A `tf.Variable`, which TensorFlow takes a constraint of when it is created only.
        constraint: A function from the variable's value to the constrained one.
    """
    each_replica = getattr(variable, "values", None)
    for each in each_replica if isinstance(each_replica, tuple) else (variable,):
        if not hasattr(each, "_constraint"):
            return False
        each._constraint = constraint
    return variable.constraint is constraint


def is_local_variable(value: Any) -> bool:
    """Whether a value is what `local_variable` creates."""
    return isinstance(value, LocalVariable)


def local_variable(**options: Any) -> Any:
    """Creates a variable whose memory is the graph's own: each execution has a new one.

    The options are those that a variable creator is given.

    Raises:
        NotImplementedError: If TensorFlow lacks what it takes.
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


_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""The name by which the runtime makes a resource anew for each execution."""


def user_line() -> tuple[str, int] | None:
    """File and line of the user's code that runs, also where AutoGraph has converted it."""
    stack = _tf_stack.extract_stack() if _tf_stack is not None else traceback.extract_stack()
    for frame in reversed(list(stack)):
        file = str(frame.filename)
        if not any(part in file for part in _NOT_THE_USERS):
            return file, frame.lineno
    return None


def users_line(op: Any) -> int | None:
    """The line of the user's code that made an operation; None if it is not known."""
    for frame in reversed(list(op.traceback or ())):
        if not any(part in str(frame.filename) for part in _NOT_THE_USERS):
            return int(frame.lineno)
    return None


_NOT_THE_USERS = (
    *(f"{os.sep}{name}{os.sep}" for name in ("tensorflow", "keras", "nbfn")),
    *("__autograph_generated_file", "contextlib.py"),
)


def summary_state() -> tuple[Any, Any]:
    """The default summary writer and the recording condition; None and None if not known."""
    state: Any = getattr(_summary_ops, "_summary_state", None)
    return getattr(state, "writer", None), getattr(state, "is_recording", None)
