"""Variables inside graphs, table entries, source lines, and the state of summaries."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn._tensorflow.base import internal
from nbfn.code import is_installed
from nbfn.site import GENERATED

_resource_variables = internal("ops.resource_variable_ops")

_summary_ops = internal("ops.summary_ops_v2")

_tf_stack = internal("util.tf_stack")

Place = tuple[str, int]
"""A file and a line in it."""

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


_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""The shared name for which the runtime creates a new resource in each execution.

It is ``ResourceHandle::ANONYMOUS_NAME`` in TensorFlow's ``resource_handle.h`` (2.21).
"""


def current_user_line() -> tuple[str, int] | None:
    """Returns file and line of the running user code, also if AutoGraph has converted it."""
    stack = _tf_stack.extract_stack() if _tf_stack is not None else traceback.extract_stack()
    return next((place for place in _places(stack) if _is_users(place)), None)


def line_of_operation(op: Any) -> int | None:
    """Returns the line of user code that made an operation; None if unknown."""
    found = next((place for place in _places(op.traceback) if _is_users(place)), None)
    return None if found is None else found[1]


def user_lines_of(op: Any) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """Returns the lines of user code that led to an operation, and all lines; innermost first."""
    places = tuple(_places(op.traceback))
    return tuple(filter(_is_users, places)), places


def _places(stack: Any) -> Iterator[Place]:
    for frame in reversed(list(stack or ())):
        yield str(frame.filename), int(frame.lineno)


def _is_users(place: Place) -> bool:
    return not (is_installed(place[0]) or any(part in place[0] for part in _NOT_USER_CODE))


_NOT_USER_CODE = (
    *(f"{os.sep}{name}{os.sep}" for name in ("tensorflow", "keras", "nbfn")),
    *(GENERATED, "contextlib.py"),
)


def summary_state() -> tuple[Any, Any]:
    """Returns the default summary writer and the recording condition; None for unknown."""
    state: Any = getattr(_summary_ops, "_summary_state", None)
    return getattr(state, "writer", None), getattr(state, "is_recording", None)
