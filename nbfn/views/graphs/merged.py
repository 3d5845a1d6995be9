"""The graphs of two traces as one, in which what differs is marked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from nbfn import protocol
from nbfn.functions.graphs.operations import Graph, Operation, graph_of
from nbfn.functions.retraces.diff import TraceDiff
from nbfn.functions.traces.trace import EvictedError
from nbfn.views.graphs.graph_record import GraphDifference, graph_record
from nbfn.views.pages.difference import sides_of


def merged_record(diff: TraceDiff) -> protocol.GraphRecord | None:
    """Returns two graphs as one record; None if one was freed, or they do not differ."""
    if not (diff.removed or diff.added or diff.changed or diff.constants):
        return None
    try:
        old, new = map(graph_of, diff.traces)
    except EvictedError:
        return None
    changed: dict[str, list[str]] = defaultdict(list)
    for change in (*diff.changed, *diff.constants):
        changed[change.name].append(f"{change.what}: {change.old} \u2192 {change.new}")
    sides = sides_of(diff)
    newer = {operation.name: operation for operation in new.operations}
    before = {
        operation.name: operation
        for operation in old.operations
        if newer.get(operation.name, operation) != operation
    }
    difference = GraphDifference(
        sides, frozenset(diff.removed), frozenset(diff.added), changed, before
    )
    return graph_record(
        f"{sides[0]} \u2192 {sides[1]}", _merge(old, new, diff), difference=difference
    )


def _merge(old: Graph, new: Graph, diff: TraceDiff) -> Graph:
    return Graph(
        operations=tuple(_interleave(old.operations, new.operations, diff)),
        inputs=(*old.inputs, *new.inputs),
        outputs=(*old.outputs, *new.outputs),
        captures=(*old.captures, *new.captures),
        bodies={**old.bodies, **new.bodies},
    )


def _interleave(
    old: Sequence[Operation], new: Sequence[Operation], diff: TraceDiff
) -> Iterator[Operation]:
    """Yields the second graph's operations; the first's own follow their predecessors."""
    following: dict[str, list[Operation]] = defaultdict(list)
    before = ""
    for operation in old:
        if operation.name in diff.removed:
            following[before].append(operation)
        else:
            before = operation.name
    yield from following[""]
    for operation in new:
        yield operation
        yield from following[operation.name]
