"""The graph of a trace by name scope, as an outline."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from nbfn.functions import Trace
from nbfn.functions.graphs.operations import Graph, NameScope, Operation, graph_of, scopes_of
from nbfn.outlines.outline import MAX_ROWS, Outline, Table
from nbfn.text import count, cut

MAX_WIDTH = 40
"""The widest column, in characters; names are never cut."""

_HEADER = ("operation", "type", "result", "takes", "device", "line")


def graph_outline(graph: Graph, title: str) -> Outline:
    """Builds the outline of a trace's graph."""
    whole = scopes_of(graph.operations)
    lines = [
        f"inputs: {_list_items(f'{name} {spec}' for name, spec in graph.inputs)}",
        f"outputs: {_list_items(f'{name} {spec}' for name, spec in graph.outputs)}",
    ]
    tree = [(0, _scope("graph", whole)), *_rows(whole, 1, dict(graph.bodies))]
    tables = (
        Table("captures", ("operation", "captured"), graph.captures, text_rows=10),
        Table(
            "operations",
            _HEADER,
            [row for _, row in tree],
            open=True,
            kind="tree",
            depths=[depth for depth, _ in tree],
        ),
    )
    return Outline(title, lines, tables)


def found_operations(label: str, trace: Trace, pattern: str) -> Outline | None:
    """Returns an outline of the operations of a graph that match a pattern; None if none do."""
    graph = graph_of(trace)
    found = list(graph.found(pattern))
    if not found:
        return None
    number = len(graph.operations) + sum(map(len, graph.bodies.values()))
    rows = [(*_row(operation), body) for body, operation in found[:MAX_ROWS]]
    summary = f"{len(found)} of {count(number, 'operation')}: `{pattern}`"
    table = Table("found", (*_HEADER, "in"), rows, total=len(found), open=True)
    return Outline(title_of(trace, label), [summary], (table,))


def title_of(trace: Trace, label: str | None = None) -> str:
    """Returns the headline of a trace."""
    title = f"trace {trace.number} ({trace.signature or 'no arguments'})"
    return title if label is None else f"{label}, {title}"


def _rows(
    scope: NameScope, depth: int, bodies: dict[str, tuple[Operation, ...]]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yields the depth and the row of each operation, scope and called function in a scope.

    Args:
        scope: The scope.
        depth: Its depth.
        bodies: The functions that are not shown yet; each is shown at its first call.
    """
    for operation in scope.operations:
        name = operation.name.rpartition("/")[2]
        yield depth, (name, *_row(operation)[1:])
        for called in operation.bodies:
            if called in bodies:
                inner = scopes_of(bodies.pop(called))
                yield depth + 1, _scope(f"{called}:", inner)
                yield from _rows(inner, depth + 2, bodies)
    for name, inner in scope.scopes.items():
        yield depth, _scope(f"{name}/", inner)
        yield from _rows(inner, depth + 1, bodies)


def _scope(name: str, scope: NameScope) -> tuple[str, ...]:
    counts = scope.counts()
    listed = ", ".join(f"{number} {kind}" for kind, number in counts)
    number = count(sum(number for _, number in counts), "operation")
    return (name, cut(f"{number}: {listed}", MAX_WIDTH), *[""] * (len(_HEADER) - 2))


def _list_items(items: Iterable[str]) -> str:
    return ", ".join(items) or "none"


def _row(operation: Operation) -> tuple[str, ...]:
    cells = (
        operation.type,
        ", ".join(_merge_equal(operation.outputs)),
        ", ".join(operation.inputs),
        operation.device,
        "" if operation.line is None else str(operation.line),
    )
    return (operation.name, *(cut(cell, MAX_WIDTH) for cell in cells))


def _merge_equal(items: Sequence[str]) -> Iterator[str]:
    """Merges equal successive items."""
    for item, same in itertools.groupby(items):
        number = len(list(same))
        yield item if number == 1 else f"{number} x {item}"
