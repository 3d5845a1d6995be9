"""The captures of graphs: variables and tensors from outside."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import degraded
from nbfn._tensorflow.tracing.calls import EagerTensor


@dataclass(frozen=True)
class Captured:
    """A captured tensor: its handle, and the variable that owns the handle, if any."""

    handle: Any
    variable: Any | None


def variables_of(graph: Any) -> list[Any]:
    """Returns the variables that a graph uses and that still exist.

    ``FuncGraph.variables`` raises an AssertionError if one of them was garbage-collected
    (TensorFlow 2.21), as those of a model that the notebook has replaced.
    """
    weak = getattr(graph, "_weak_variables", None)
    if weak is None:
        return list(graph.variables)
    return [variable for reference in weak if (variable := reference()) is not None]


def captured(concrete: Any) -> list[Captured]:
    """Returns the captures of a trace in the order of first use."""
    # By id: a tensor is not hashable, and `==` compares values (TensorFlow 2).
    variables = {id(variable.handle): variable for variable in variables_of(concrete.graph)}
    return [Captured(h, variables.get(id(h))) for h in concrete.captured_inputs]


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
        # As reading the variable does, so that calls report it to tapes.
        graph.watch_variable(variable)
        return graph.capture(variable.handle)


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


def captured_from(tensor: Any) -> Any:
    """Returns what a placeholder captures, in the outermost graph or eagerly.

    Returns:
        The tensor itself if it is not a capture.
    """
    while tf.is_symbolic_tensor(tensor) and tensor.op.type == "Placeholder":
        captures = getattr(tensor.graph, "captures", ())
        outer = next((each for each, inner in captures if inner is tensor), None)
        if outer is None:
            break
        tensor = outer
    return tensor


def by_reference(concrete: Any) -> list[Callable[[], Any]]:
    """Returns the functions that a trace calls for its captures' values at each call."""
    container = getattr(concrete.graph, "function_captures", None)
    resolvers = list(getattr(container, "by_ref_external", {}).values())
    for each in resolvers:
        # TensorFlow wraps the given function in closures.
        cells = getattr(each, "__closure__", None) or ()
        inner = [c.cell_contents for c in cells if callable(c.cell_contents)]
        resolvers += [function for function in inner if function not in resolvers]
    return resolvers
