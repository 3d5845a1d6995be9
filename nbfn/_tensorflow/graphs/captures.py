"""The captures of a trace, and the functions that its graph calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import Function
from nbfn._tensorflow.operation_types import all_nodes


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
    variables = {id(variable.handle): variable for variable in variables_of(concrete.graph)}
    return [Captured(h, variables.get(id(h))) for h in concrete.captured_inputs]


def called(nodes: Iterable[Any]) -> Iterator[str]:
    """Yields the names of the functions that nodes call."""
    for node in nodes:
        for name, value in sorted(node.attr.items()):  # the order of a protobuf map is not defined
            if name[:1] != "_":
                yield from (each.name for each in (value.func, *value.list.func) if each.name)


def reachable_functions(nodes: Sequence[Any], library: Any) -> dict[str, Any]:
    """Returns the functions of a library that nodes call, directly or indirectly, by name."""
    functions = {each.signature.name: each for each in library.function}
    found: dict[str, Any] = {}
    waiting = [nodes]
    for each in waiting:
        # In TensorFlow 1 graphs, a call may be an operation whose type is the function's name.
        for name in (*(node.op for node in each), *called(each)):
            if name in functions and name not in found:
                found[name] = functions[name]
                waiting.append(functions[name].node_def)
    return found


def is_loop_or_branch(graph: Any) -> bool:
    """Returns whether a graph is the body or the condition of a loop, or a branch."""
    # Private classes of TensorFlow 2.21.
    names = ("CondBranchFuncGraph", "WhileBodyFuncGraph", "WhileCondFuncGraph")
    return type(graph).__name__ in names


def has_boolean_conditions(graph: Any) -> bool:
    """Returns whether all branches in a graph are by boolean tensors, also nested.

    For `x if n else y` AutoGraph passes any tensor to ``tf.cond``, and no such graph can run
    (TensorFlow 2.21: "expected bool while building NodeDef").
    """
    return all(
        node.attr["Tcond"].type == tf.bool.as_datatype_enum
        for node in all_nodes(graph.as_graph_def())
        if node.op in ("If", "StatelessIf")
    )


def trackable_children(value: Any) -> dict[str, Any]:
    """Returns the tracked children of an object by name; empty if they cannot be read."""
    read = getattr(value, "_trackable_children", None)
    if read is None or isinstance(value, Function):
        return {}
    try:
        return dict(read())
    except Exception:  # user-defined classes may raise anything, and naming must not fail
        return {}


def graphs_in(graph: Any) -> Iterator[Any]:
    """Yields a graph and the available graphs of functions traced for it."""
    waiting, seen = [graph], {id(graph)}
    for each in waiting:
        yield each
        inner = [found for _, found in called_graphs(each) if id(found) not in seen]
        waiting += inner
        seen.update(map(id, inner))


def called_graphs(graph: Any) -> Iterator[tuple[str, Any]]:
    """Yields name and graph of each function that was traced for a graph, if available.

    Loaded functions are omitted: their definitions lack source lines and shapes of some results.
    """
    for name, function in getattr(graph, "_functions", {}).items():
        # The public `graph` would build one from the definition (TensorFlow 2.21).
        traced = getattr(function, "_cached_graph", None)
        if traced is not None:
            yield str(name), traced
