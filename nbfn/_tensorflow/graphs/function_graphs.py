"""The graphs of functions: their outputs and effects, and the functions that they call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.operation_types import all_nodes

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
    # A part that is None has no output.
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
