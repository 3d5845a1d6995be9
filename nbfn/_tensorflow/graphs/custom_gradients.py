"""Frees graphs that the gradients of ``tf.custom_gradient`` would keep for ever.

In a graph, TensorFlow registers the gradient of each such call in a registry of the process, from
which nothing is removed (TensorFlow 2.21, ``ops/custom_gradient.py``). The gradient closes over
tensors of the graph, which then keeps the values of the variables that it has captured: each trace
of a training step with Keras, which has such calls, would keep its model. Here the graph itself
holds its gradients, and the registry refers to the graph weakly.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import internal
from nbfn.code import closure

_registry = getattr(internal("framework.ops"), "gradient_registry", None)
_entries: dict[str, dict[str, Any]] = getattr(_registry, "_registry", {})
_PREFIX = "CustomGradient-"
_HELD = "_nbfn_custom_gradients"
"""The attribute of a graph that holds its gradients, by their names in the registry."""


def hold_custom_gradients() -> None:
    """Has graphs hold the gradients that were registered for them since the last call."""
    for name in reversed(list(_entries)):
        entry = _entries.get(name, {})
        gradient = entry.get("type")
        if not name.startswith(_PREFIX) or getattr(gradient, "__module__", None) == __name__:
            return
        graph = _graph_of(gradient)
        if graph is None:
            continue
        if not hasattr(graph, _HELD):
            setattr(graph, _HELD, {})
        getattr(graph, _HELD)[name] = gradient
        entry["type"] = _weakly(weakref.ref(graph), name)
        weakref.finalize(graph, _entries.pop, name, None).atexit = False


def _graph_of(gradient: Any) -> Any | None:
    """Returns the graph of the call whose gradient this is; None if it is not known."""
    result = closure(closure(gradient).get("tape_grad_fn")).get("result")
    tensors = tf.nest.flatten(result, expand_composites=True)
    return next((each.graph for each in tensors if tf.is_symbolic_tensor(each)), None)


def _weakly(graph: weakref.ReferenceType[Any], name: str) -> Callable[..., Any]:
    def gradient(op: Any, *result_gradients: Any) -> Any:
        return getattr(graph(), _HELD)[name](op, *result_gradients)

    return gradient
