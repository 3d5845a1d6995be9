"""What it takes to import a part of a graph into another."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import degraded
from nbfn._tensorflow.tracing.calls import EagerTensor


@dataclass(frozen=True)
class GraphCapture:
    """What a graph captured: a variable, held weakly, or another tensor from outside.

    Attributes:
        name: Name of the tensor inside the graph that stands for it.
    """

    name: str
    _handle: Any
    _variable: weakref.ReferenceType[Any] | None

    def enter(self, graph: Any) -> Any | None:
        """Captures the same in another graph; None if the variable is gone."""
        if self._variable is None:
            return graph.capture(self._handle)
        variable = self._variable()
        if variable is None:
            return None
        graph.watch_variable(variable)
        return graph.capture(variable.handle)


WITHOUT_CONTROL_DEPENDENCIES = {"_disable_acd": True}
"""The ``experimental_attributes`` of a function that adds no control dependencies of its own."""


def operations_with_effects(graph: Any) -> list[Any]:
    """Operations that run at each call of a function, needed or not; empty for other graphs."""
    return list(getattr(graph, "control_outputs", ()))


def unused_operations(results: Iterable[Any]) -> list[Any]:
    """Operations of the graph that is being made whose values nobody uses, and no result is."""
    graph = tf.compat.v1.get_default_graph()
    kept = {id(each) for each in results}
    return [
        op
        for op in graph.get_operations()
        if op.outputs
        and op.type not in ("Placeholder", "Const")
        and not any(each.consumers() or id(each) in kept for each in op.outputs)
    ]


def passed_on(tensor: Any) -> Any:
    """The tensor that another is, but for operations that pass it on."""
    while not hasattr(tensor, "numpy") and tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def graph_captures(graph: Any) -> list[GraphCapture]:
    """What a graph captured from eager code; empty for a graph that can capture nothing."""
    if not all(hasattr(graph, name) for name in ("captures", "variables", "watch_variable")):
        return []
    variables = {id(variable.handle): variable for variable in graph.variables}
    found = []
    for external, internal in graph.captures:
        variable = variables.get(id(external))
        if variable is not None:
            found.append(GraphCapture(internal.name, None, weakref.ref(variable)))
        elif isinstance(external, EagerTensor):
            found.append(GraphCapture(internal.name, external, None))
    return found


def owned_variables(wrapped: Any) -> list[Any]:
    """The variables that wrapped TensorFlow 1.x code created, in that order.

    Returns:
        All that its graph uses where those that it created cannot be told.
    """
    holder = getattr(wrapped, "_variable_holder", None)
    created = getattr(holder, "variables", None)
    if created is None:
        degraded("which variables TensorFlow 1.x code has created")
        return list(wrapped.variables)
    return list(created.values())
