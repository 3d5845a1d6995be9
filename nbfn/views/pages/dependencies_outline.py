"""What depends on what, and what to run again."""

from __future__ import annotations

from collections.abc import Iterator

from nbfn import protocol
from nbfn.outlines.outline import Outline, Table, Words, place
from nbfn.sessions.dependencies import (
    CellReads,
    Dependencies,
    FunctionReads,
    name_of,
    root_of,
    shown,
)
from nbfn.sessions.messages.records import code_place
from nbfn.site import Cell
from nbfn.text import count, join

MAX_NODES = 150
"""Maximum number of boxes in a diagram; a larger one is omitted because it is unreadable."""

_SHOWN = 8
"""Maximum number of names in a table cell."""

_MANY = 4
"""From this number on, the variables of one model are one box."""


def dependencies_outline(found: Dependencies) -> Outline:
    """Returns the outline of the dependencies."""
    stale = [each for each in found.functions if each.is_stale]
    outdated = [each for each in found.cells if each.outdated]
    again = found.run_again
    lines: list[Words] = [_at(cell) for cell in again]
    if again:
        lines.insert(0, "Run again, in this order:")
    changes = [
        (each.name, change.sentence, "" if change.given_by is None else _at(change.given_by))
        for each in stale
        for change in each.changes
    ]
    diagram = _diagram(found)
    return Outline(
        f"{count(len(stale), 'stale function')}, {count(len(outdated), 'outdated cell')}",
        lines,
        (
            Table("what has changed", ("function", "change", "by"), changes, open=True),
            Table("what depends on what", ("what", "depends on", ""), _rows(diagram), open=True),
        ),
        diagram=diagram if 0 < len(diagram.nodes) <= MAX_NODES else None,
    )


def _rows(diagram: protocol.Diagram) -> list[tuple[Words, str, str]]:
    """Returns the arrows of the diagram in words: what each box depends on."""
    nodes = {node.id: node for node in diagram.nodes}
    leading: dict[str, list[str]] = {}
    for edge in diagram.edges:
        source = nodes[edge.source]
        label = " ".join(
            [source.label, *(f"({line})" for line in source.lines if not source.marked)]
        )
        words = {"": label, "defines": f"defined in {label}"}.get(edge.label)
        leading.setdefault(edge.target, []).append(words or f"{edge.label} of {label}")
    return [
        (
            node.label if node.cell is None or node.kind != "cell" else place(node.cell),
            ", ".join(shown(leading[node.id], _SHOWN)),
            "; ".join(node.lines) if node.marked else "",
        )
        for node in diagram.nodes
        if node.id in leading
    ]


def _at(cell: Cell) -> Words:
    return place(code_place(cell))


def _diagram(found: Dependencies) -> protocol.Diagram:
    """Cells give names, functions read them, cells call functions."""
    nodes: dict[str, protocol.DiagramNode] = {}
    edges: dict[tuple[str, str], protocol.DiagramEdge] = {}

    def link(source: str, target: str, label: str = "", marked: bool = False) -> None:
        if source in nodes and target in nodes and source != target:
            edge = edges.get((source, target))
            if edge is not None:
                label = label if label in edge.label.split(", ") else f"{edge.label}, {label}"
                marked = marked or edge.marked
            edges[source, target] = protocol.DiagramEdge(
                source=source, target=target, label=label, marked=marked
            )

    for each in found.cells:
        nodes[_id(each.cell)] = _cell_node(each)
    for function in found.functions:
        nodes[f"function {function.name}"] = _function_node(function)
        for name, lines in _group(function.variables):
            nodes[f"variable {name}"] = protocol.DiagramNode(
                id=f"variable {name}", kind="variable", label=name, lines=lines
            )
    for each in found.cells:
        for name, cell in each.reads.items():
            # What leads through a function is drawn so, and imports would hide everything else.
            is_drawn = f"function {name}" in nodes or name in each.imports
            if name in each.direct and not is_drawn:
                link(_id(cell), _id(each.cell), name, name in map(root_of, each.outdated))
    named = {each.name: each for each in found.functions}
    for function in found.functions:
        at = f"function {function.name}"
        roots = {name.split("/")[0] for name in function.variables}
        if function.cell is not None:
            link(_id(function.cell), at, "defines")
        changed = {change.name: change for change in function.changes}
        givers = {name: cell for each in found.cells for name, cell in each.reads.items()}
        called = [named[name] for name in function.values if name in named]
        inner = {name for one in called for name in (*one.values, *one.variables)}
        for one in called:
            link(f"function {one.name}", at)
        for name in function.values:
            if name in givers and name not in roots | named.keys() | inner:
                link(_id(givers[name]), at, name, name in changed)
        for name, _ in _group(tuple(each for each in function.variables if each not in inner)):
            link(f"variable {name}", at)
            if name.split("/")[0] in givers:
                link(_id(givers[name.split("/")[0]]), f"variable {name}")
        for cell in function.calls:
            link(at, _id(cell), marked=function.is_stale)
    linked = {id for edge in edges for id in edge}
    return protocol.Diagram(
        nodes=[node for node in nodes.values() if node.id in linked], edges=list(edges.values())
    )


def _cell_node(each: CellReads) -> protocol.DiagramNode:
    lines = [f"{join(shown(each.outdated))} changed since"] if each.outdated else []
    return protocol.DiagramNode(
        id=_id(each.cell),
        kind="cell",
        label=name_of(each.cell),
        lines=lines,
        marked=bool(each.outdated),
        cell=code_place(each.cell),
    )


def _function_node(function: FunctionReads) -> protocol.DiagramNode:
    cell = function.cell
    return protocol.DiagramNode(
        id=f"function {function.name}",
        kind="function",
        label=function.name,
        lines=[change.sentence for change in function.changes],
        marked=function.is_stale,
        cell=None if cell is None else code_place(cell),
    )


def _group(variables: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Groups the variables by model if one has many."""
    roots: dict[str, list[str]] = {}
    for name in variables:
        roots.setdefault(name.split("/")[0], []).append(name)
    for root, names in roots.items():
        if len(names) >= _MANY:
            yield root, [count(len(names), "variable")]
        else:
            yield from ((name, list[str]()) for name in names)


def _id(cell: Cell) -> str:
    return f"cell {cell.id or cell.execution_count}"
