"""Finds tensors and operations of a graph from tensors or names."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from nbfn.errors import NbfnError
from nbfn.text import did_you_mean

MAX_LISTED = 8


class CarveError(NbfnError, ValueError):
    """A part of a graph cannot be carved out as requested."""


def element(graph: tf.Graph, item: Any, what: str) -> Any:
    """Returns the tensor for a tensor, operation or name; the operation if it has no output.

    `what` is ``"input"`` or ``"output"``, for messages.

    Raises:
        CarveError: If there is none, or more than one.
    """
    if isinstance(item, str):
        return _element(graph, item, what)
    if isinstance(item, tf.Operation):
        _check_graph(graph, item, what)
        return _only_output(item, what)
    if isinstance(item, tf.Tensor) and not hasattr(item, "numpy"):
        _check_graph(graph, item, what)
        return item
    if isinstance(item, tf.Tensor):
        raise CarveError(
            f"the {what} is an eager tensor ({item.dtype.name}{list(item.shape)}), which belongs "
            "to no graph; give a tensor of the graph, or its name"
        )
    raise CarveError(
        f"the {what} is {type(item).__name__} {item!r}; expected a tensor of the graph, or the "
        "name of a tensor or an operation"
    )


def tensor_of(graph: tf.Graph, item: Any, what: str) -> Any:
    """Returns an element that must be a tensor. Raises `CarveError`."""
    found = element(graph, item, what)
    if isinstance(found, tf.Operation):
        raise CarveError(
            f"the {what} `{found.name}` is an operation without outputs, and cannot be fed"
        )
    return found


def _element(graph: tf.Graph, name: str, what: str) -> Any:
    operation, colon, index = name.partition(":")
    try:
        found = graph.get_operation_by_name(operation)
    except (KeyError, ValueError):
        raise CarveError(_unknown(graph, name, operation, what)) from None
    if not colon:
        return _only_output(found, what)
    if not index.isdigit() or int(index) >= len(found.outputs):
        raise CarveError(f"there is no tensor `{name}` for the {what}; {_outputs(found)}")
    return found.outputs[int(index)]


def _unknown(graph: tf.Graph, name: str, operation: str, what: str) -> str:
    names = [op.name for op in graph.get_operations()]
    hint = did_you_mean(operation, names, most=4)
    if not hint and names:
        listed = ", ".join(f"`{each}`" for each in names[:MAX_LISTED])
        hint = "; it has " + listed + (", ..." if len(names) > MAX_LISTED else "")
    where = f"the graph has no operation `{operation}` for the {what} `{name}`"
    return where + (hint or "; it is empty")


def _only_output(operation: Any, what: str) -> Any:
    if not operation.outputs:
        return operation
    if len(operation.outputs) > 1:
        raise CarveError(
            f"the {what} `{operation.name}` is not one tensor: {_outputs(operation)}; name one of "
            "them"
        )
    return operation.outputs[0]


def _outputs(operation: Any) -> str:
    names = ", ".join(f"`{tensor.name}`" for tensor in operation.outputs[:MAX_LISTED])
    return f"the {operation.type} operation has {names or 'no outputs'}"


def _check_graph(graph: tf.Graph, item: Any, what: str) -> None:
    if item.graph is not graph:
        raise CarveError(
            f"the {what} `{item.name}` belongs to another graph; give the tensor of this graph, or "
            "its name"
        )
