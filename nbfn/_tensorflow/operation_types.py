"""The effects of graphs, by the types of their operations: writes, random numbers, prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CALLBACK = "nbfn_callback"
"""Part of the names of operations that only inspect values."""
# By prefix, as TensorFlow adds versions of operations (`...V2`) but does not rename them. A new one
# thus counts as an effect, which costs speed, not correctness. The attribute `is_stateful` is no
# substitute: it is also set for reading a variable.
_OUTSIDE = ("PyFunc", "EagerPyFunc", "Print", "WriteFile", "Save")

_ASSIGNING = ("Assign", "ResourceScatter", "ResourceApply", "ResourceSparseApply", "Rng")
_CHANGING = (
    *("LookupTableInsert", "LookupTableImport", "LookupTableRemove"),
    *("QueueEnqueue", "QueueDequeue", "StackPush", "StackPop", "Barrier", "Accumulator"),
    *("IteratorGetNext", "Write"),
)
_WRITING = (
    *("Assign", "Resource", "Rng", "Print", "Stateful", "EagerPyFunc", "PyFunc", "Save", "Scatter"),
    *_CHANGING,
)
# Of a call, the operations of the called function count instead.
_NOT_WRITING = frozenset(
    {
        *("ResourceGather", "ResourceGatherNd", "StatefulPartitionedCall"),
        *("ScatterNd", "ScatterNdNonAliasingAdd"),
    }
)

HIDDEN_STATE = {
    *("AllCandidateSampler", "FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler"),
    *("LogUniformCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"),
    *("UniformCandidateSampler", "FractionalAvgPool", "FractionalMaxPool", "Multinomial"),
    *("ParameterizedTruncatedNormal", "RandomCrop", "RandomGamma", "RandomPoisson"),
    *("RandomPoissonV2", "RandomShuffle", "RandomStandardNormal", "RandomUniform"),
    *("RandomUniformInt", "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2"),
    "TruncatedNormal",
}
"""Operations whose kernel has the state from which it draws; their seeds are attributes.

A `tf.random.Generator` has its state in a variable.
"""


def all_nodes(definition: Any) -> Iterator[Any]:
    """Yields the nodes of a ``GraphDef`` and of the functions in its library."""
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def _operation_types(graph: Any) -> set[str]:
    return {node.op for node in all_nodes(graph.as_graph_def())}


def stateful_random_operations(graph: Any) -> list[str]:
    """Returns the types of operations that draw random numbers from hidden state, also nested."""
    return sorted(_operation_types(graph) & HIDDEN_STATE)


def changing_resource_operations(graph: Any) -> list[str]:
    """Returns the types of operations that change resources other than variables."""
    return sorted(op for op in _operation_types(graph) if op.startswith(_CHANGING))


def operations_outside(graph: Any) -> list[str]:
    """Returns the types of operations that call Python, print or write files.

    Those of nbfn's inspections are omitted.
    """
    nodes = all_nodes(graph.as_graph_def())
    return sorted({n.op for n in nodes if n.op.startswith(_OUTSIDE) and CALLBACK not in n.name})


def assigns(graph: Any) -> bool:
    """Returns whether a graph assigns to variables, also in nested functions."""
    return any(op.startswith(_ASSIGNING) for op in _operation_types(graph))


def writes(graph: Any) -> bool:
    """Returns whether repeating a graph has effects: it assigns, prints, draws, calls Python."""
    return definition_writes(graph.as_graph_def())


def definition_writes(definition: Any) -> bool:
    """Returns the same for a ``GraphDef``."""
    found = {node.op for node in all_nodes(definition)}
    return bool(found & HIDDEN_STATE) or any(map(is_write, found))


def is_write(kind: str) -> bool:
    """Returns whether operations of a type assign, change a resource, print or call Python."""
    return kind.startswith(_WRITING) and kind not in _NOT_WRITING
