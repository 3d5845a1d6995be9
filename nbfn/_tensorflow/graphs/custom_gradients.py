"""Lets graphs that use ``tf.custom_gradient`` be freed.

For each such call in a graph, TensorFlow adds the gradient to a registry of the process, and never
removes it (TensorFlow 2.21, ``ops/custom_gradient.py``). The gradient closes over tensors of the
graph, which then keeps the values of the variables that it has captured. Keras makes such calls, so
each trace of a training step would keep its model alive. Here the graph itself holds its gradients,
and the registry refers to the graph weakly.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from nbfn._tensorflow.base import internal
from nbfn._tensorflow.graphs.function_graphs import graphs_in

# https://github.com/tensorflow/tensorflow/issues/27492 and 97697.
_registry = getattr(internal("framework.ops"), "gradient_registry", None)
_entries: dict[str, dict[str, Any]] = getattr(_registry, "_registry", {})
_HELD = "_nbfn_custom_gradients"
"""The attribute of a graph that holds its gradients, by their names in the registry."""


def hold_custom_gradients(graph: Any) -> None:
    """Makes a graph, and those of its loops, branches and functions, hold their gradients."""
    for each in graphs_in(graph):
        if each is graph or not hasattr(each, _HELD):
            _hold(each)


def _hold(graph: Any) -> None:
    held = getattr(graph, _HELD, {})
    setattr(graph, _HELD, held)
    for op in graph.get_operations():
        # Each call of a function with a custom gradient ends in such an operation.
        name = _gradient_of(op) if op.type == "IdentityN" else ""
        entry = _entries.get(name)
        if entry is None or name in held:
            continue
        held[name] = entry["type"]
        entry["type"] = _weakly(weakref.ref(graph), name)
        # By default CPython also calls a finalizer at exit, when nothing has to be freed.
        weakref.finalize(graph, _entries.pop, name, None).atexit = False


def _gradient_of(op: Any) -> str:
    try:
        return str(op.get_attr("_gradient_op_type"), "utf-8")
    except ValueError:  # it has none
        return ""


def _weakly(graph: weakref.ReferenceType[Any], name: str) -> Callable[..., Any]:
    def gradient(op: Any, *result_gradients: Any) -> Any:
        return getattr(graph(), _HELD)[name](op, *result_gradients)

    return gradient
