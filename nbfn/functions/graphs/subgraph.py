"""Finds the operations of a graph that are needed to compute some tensors from others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.graphs.elements import CarveError

_COLOCATION = "_class"
_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
_SESSION_STATE = frozenset({"VarHandleOp", "VariableV2", "Variable", "TemporaryVariable"})
_ONLY_READS = frozenset(
    {
        *("ReadVariableOp", "VarHandleOp", "VariableShape", "VarIsInitializedOp"),
        *("ResourceGather", "ResourceGatherNd", "LookupTableFindV2", "LookupTableSizeV2"),
    }
)


@dataclass(frozen=True)
class Cut:
    """A part of a graph.

    Attributes:
        graph_def: Its operations, and the functions that they call.
        given: Names of the fed and captured tensors that it needs.
    """

    graph_def: Any
    given: frozenset[str]

    @property
    def read(self) -> frozenset[str]:
        """Names of the tensors that its operations take as inputs."""
        inputs = (name for node in self.graph_def.node for name in node.input)
        return frozenset(name if ":" in name else f"{name}:0" for name in inputs)


def cut(
    graph: tf.Graph,
    feeds: Sequence[Any],
    captures: Collection[str],
    wanted: Sequence[Any],
    *,
    prune: bool,
) -> Cut:
    """Finds the part of a graph between `feeds` and `wanted`.

    `captures` are the names of the graph's tensors for its captures. With `prune`, stateful
    operations that are not needed are left out.

    Raises:
        CarveError: If the part is not complete.
    """
    returning = _returning(graph) if prune else frozenset()
    walk = _Walk({tensor.name for tensor in feeds}, captures, returning)
    for item in wanted:
        walk.need(item, f"the output `{item.name}`")
    if feeds and not walk.fed:
        names = ", ".join(f"`{item.name}`" for item in wanted)
        inputs = ", ".join(f"`{tensor.name}`" for tensor in feeds)
        raise CarveError(
            f"{names} cannot be reached from {inputs}; look at the graph for the tensors between "
            "them, or give no inputs to compute a constant"
        )
    if not prune:
        for operation in _tensorflow.operations_with_effects(graph):
            if operation.type not in _ONLY_READS and not walk.is_given(operation):
                who = f"the stateful operation `{operation.name}` ({operation.type})"
                walk.need(operation, who, "or leave such operations out with prune=True")
    return Cut(_definition(graph, walk.operations), frozenset((*walk.fed, *walk.captured)))


def _returning(graph: tf.Graph) -> Collection[str]:
    """Returns the operations whose control inputs only order all effects before the return.

    In TensorFlow 1.x code, only the user adds control inputs.
    """
    effects = {operation.name for operation in _tensorflow.operations_with_effects(graph)}
    outputs = {tensor.op for tensor in _tensorflow.outputs_of(graph)}
    return {each.name for each in outputs if not effects.isdisjoint(_waits_for(each))}


def _waits_for(operation: Any) -> Iterator[str]:
    """Yields the operations that a control input leads to, also through a group of them."""
    for each in operation.control_inputs:
        yield each.name
        if each.type == "NoOp":
            yield from _waits_for(each)


class _Walk:
    """Walks from the wanted tensors back to the given ones."""

    def __init__(
        self, feeds: Collection[str], captures: Collection[str], returning: Collection[str]
    ) -> None:
        self.operations: dict[str, Any] = {}
        self.fed: dict[str, None] = {}
        self.captured: dict[str, None] = {}
        self._feeds = feeds
        self._captures = captures
        self._returning = returning

    def is_given(self, operation: Any) -> bool:
        return any(
            out.name in self._feeds or out.name in self._captures for out in operation.outputs
        )

    def need(self, item: Any, who: str, otherwise: str = "or compute something before it") -> None:
        # Not recursive: a graph may be deeper than Python's stack.
        stack = [item]
        while stack:
            item = stack.pop()
            operation = item
            if isinstance(item, tf.Tensor):
                if item.name in self._feeds:
                    self.fed[item.name] = None
                    continue
                if item.name in self._captures:
                    self.captured[item.name] = None
                    continue
                operation = item.op
            if operation.name in self.operations or (
                item is operation and operation.outputs and self.is_given(operation)
            ):
                continue
            self._check(operation, who, otherwise)
            self.operations[operation.name] = operation
            stack.extend(operation.inputs)
            if operation.name not in self._returning:
                stack.extend(operation.control_inputs)

    def _check(self, operation: Any, who: str, otherwise: str) -> None:
        if operation.type in _PLACEHOLDERS:
            name = operation.outputs[0].name
            raise CarveError(
                f"{who} needs `{name}`, which is neither an input nor captured; give `{name}` "
                f"as an input, {otherwise}"
            )
        if operation.type in _SESSION_STATE:
            raise CarveError(
                f"{who} needs the variable `{operation.name}`, whose value lives in a session; "
                "give the tensor that reads it as an input, or build the graph with "
                "nbfn.wrap_function, which owns its variables"
            )


def _definition(graph: tf.Graph, operations: Mapping[str, Any]) -> Any:
    whole = graph.as_graph_def()
    definition = tf.compat.v1.GraphDef(versions=whole.versions)
    for node in whole.node:
        if node.name in operations:
            copy = definition.node.add()
            copy.CopyFrom(node)
            _keep_references(copy, operations)
    called = _tensorflow.reachable_functions(definition.node, whole.library)
    definition.library.function.extend(called.values())
    definition.library.gradient.extend(
        each for each in whole.library.gradient if each.function_name in called
    )
    return definition


def _keep_references(node: Any, operations: Mapping[str, Any]) -> None:
    """Removes control inputs from, and colocations with, operations that are left out."""
    references = [name for name in node.input if name[0] != "^" or name[1:] in operations]
    del node.input[:]
    node.input.extend(references)
    if _COLOCATION in node.attr:
        places = node.attr[_COLOCATION].list.s
        there = [each for each in places if each.decode().removeprefix("loc:@") in operations]
        del places[:]
        places.extend(there)
