"""Imports parts of one graph into another."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import degraded
from nbfn._tensorflow.graphs.captures import variables_of
from nbfn._tensorflow.tracing.calls import EagerTensor


@dataclass(frozen=True)
class GraphCapture:
    """A capture of a graph: a variable, held weakly, or another tensor.

    Attributes:
        name: Name of its placeholder in the graph.
    """

    name: str
    _handle: Any
    _variable: weakref.ReferenceType[Any] | None

    def enter(self, graph: Any) -> Any | None:
        """Captures the same in another graph; None if the variable was garbage-collected."""
        if self._variable is None:
            return graph.capture(self._handle)
        variable = self._variable()
        if variable is None:
            return None
        graph.watch_variable(variable)
        return graph.capture(variable.handle)


WITHOUT_CONTROL_DEPENDENCIES = {"_disable_acd": True}
"""The ``experimental_attributes`` of a function without automatic control dependencies."""


def operations_with_effects(graph: Any) -> list[Any]:
    """Returns the operations that run at each call, even if unused; empty for other graphs."""
    return list(getattr(graph, "control_outputs", ()))


def run_at_each_call(operation: Any) -> None:
    """Has a function run an operation at each call, besides what its outputs need."""
    operation.graph.control_outputs.append(operation)


def outputs_of(graph: Any) -> list[Any]:
    """Returns the outputs of a function's graph; empty for other graphs.

    Once a gradient was computed, TensorFlow appends what the gradient needs (2.21).
    """
    outputs = list(getattr(graph, "outputs", ()))
    structure = getattr(graph, "structured_outputs", outputs)
    flat = tf.nest.flatten(structure, expand_composites=True)
    return outputs[: sum(each is not None for each in flat)]


def unused_operations(results: Iterable[Any]) -> list[Any]:
    """Returns the operations of the current graph whose outputs are neither used nor results."""
    graph = tf.compat.v1.get_default_graph()
    result_ids = {id(each) for each in results}
    return [
        op
        for op in graph.get_operations()
        if op.outputs
        and op.type not in ("Placeholder", "Const")
        and not any(each.consumers() or id(each) in result_ids for each in op.outputs)
    ]


def skip_identities(tensor: Any) -> Any:
    """Follows ``Identity`` operations from a tensor to their input."""
    while not hasattr(tensor, "numpy") and tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def graph_captures(graph: Any) -> list[GraphCapture]:
    """Returns the captures from eager code; empty for a graph that cannot capture."""
    if not all(hasattr(type(graph), name) for name in ("captures", "variables", "watch_variable")):
        return []
    variables = {id(variable.handle): variable for variable in variables_of(graph)}
    found = []
    for external, internal in graph.captures:
        variable = variables.get(id(external))
        if variable is not None:
            found.append(GraphCapture(internal.name, None, weakref.ref(variable)))
        elif isinstance(external, EagerTensor):
            found.append(GraphCapture(internal.name, external, None))
    return found


def owned_variables(wrapped: Any) -> list[Any]:
    """Returns the variables that wrapped TensorFlow 1 code created, in order.

    Returns:
        All variables that its graph uses, if those that it created are unknown.
    """
    holder = getattr(wrapped, "_variable_holder", None)
    created = getattr(holder, "variables", None)
    if created is None:
        degraded("which variables TensorFlow 1.x code has created")
        return list(wrapped.variables)
    return list(created.values())
