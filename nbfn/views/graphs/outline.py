"""The graph of a trace by name scope, collapsible in HTML and indented in text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from nbfn.functions import Trace
from nbfn.functions.graphs.operations import Graph, NameScope, Operation, graph_of, scopes_of
from nbfn.outlines.outline import Outline, Table
from nbfn.text import count, cut

MAX_ROWS = 200
"""The most lines of the text; deeper scopes are left closed until it fits."""

MAX_WIDTH = 40
"""The widest column of the text, in characters; names are never cut."""

MAX_OPERATIONS = 5_000
"""The most operations in the HTML."""

_CELL = "text-align:left;padding:1px 12px 1px 0;vertical-align:top"
_INSIDE = "margin-left:1.2em"
_CAPTURES = ("captured", "operation")
_HEADER = ("operation", "type", "result", "takes", "device", "line")


@dataclass(frozen=True)
class GraphView:
    """Content of the view of a graph.

    Attributes:
        title: The headline.
        graph: The graph.
        trace: The trace that it is the graph of.
    """

    title: str
    graph: Graph
    trace: Trace

    def text(self) -> str:
        """As plain text, with as many scopes open as fit."""
        whole = scopes_of(self.graph.operations)
        every = [self.graph.operations, *self.graph.bodies.values()]
        depth = 1 + max((each.name.count("/") for part in every for each in part), default=0)
        rows = list(self._rows(whole, depth))
        while len(rows) > MAX_ROWS and depth:
            depth -= 1
            rows = list(self._rows(whole, depth))
        left = len(rows) - MAX_ROWS
        rows = rows[:MAX_ROWS]
        lines = [self.title, *(f"  {each}" for each in self._said())]
        if self.graph.captures:
            captures = (f"{value} as {name}" for name, value in self.graph.captures)
            lines.append(f"  captures: {_listed(captures)}")
        lines.append("")
        lines += _aligned([_HEADER, *rows])
        if left > 0:
            lines.append(f"  … {count(left, 'line')} more; --op finds an operation by its name")
        return "\n".join(lines)

    def html(self) -> str:
        """As HTML without scripts and style sheets; every text is escaped."""
        parts = [f"<strong>{escape(self.title)}</strong>"]
        parts += [f"<div>{escape(each)}</div>" for each in self._said()]
        if self.graph.captures:
            rows = "".join(_html_row((value, name)) for name, value in self.graph.captures)
            title = count(len(self.graph.captures), "capture")
            parts.append(
                _details(title, f"<table>{_html_head(_CAPTURES)}<tbody>{rows}</tbody></table>")
            )
        if len(self.graph.operations) > MAX_OPERATIONS:
            parts.append(f"<div>the first {MAX_OPERATIONS:,} operations are shown</div>")
        whole = scopes_of(self.graph.operations[:MAX_OPERATIONS])
        parts.append(self._html_scope(whole))
        for name, operations in self.graph.bodies.items():
            inner = self._html_scope(scopes_of(operations[:MAX_OPERATIONS]))
            parts.append(_details(f"{name}: {_summary(scopes_of(operations))}", inner))
        return f"<div>{''.join(parts)}</div>"

    def _said(self) -> Iterator[str]:
        graph = self.graph
        yield _summary(scopes_of(graph.operations))
        yield f"inputs: {_listed(f'{name} {spec}' for name, spec in graph.inputs)}"
        yield f"outputs: {_listed(f'{name} {spec}' for name, spec in graph.outputs)}"

    # Text ------------------------------------------------------------------------------

    def _rows(self, scope: NameScope, depth: int, indent: str = "") -> Iterator[Sequence[str]]:
        for operation in scope.operations:
            yield _row(operation, indent)
            for name in operation.bodies:
                inner = scopes_of(self.graph.bodies.get(name, ()))
                yield (f"{indent}  {name}:", _summary(inner))
                if depth:
                    yield from self._rows(inner, depth - 1, indent + "    ")
        for name, inner in scope.scopes.items():
            yield (f"{indent}{name}/", _summary(inner))
            if depth:
                yield from self._rows(inner, depth - 1, indent + "  ")

    # HTML ------------------------------------------------------------------------------

    def _html_scope(self, scope: NameScope) -> str:
        parts = []
        if scope.operations:
            rows = "".join(_html_row(_row(each)) for each in scope.operations)
            parts.append(f"<table>{_html_head(_HEADER)}<tbody>{rows}</tbody></table>")
        parts += [
            _details(f"{name}/ {_summary(inner)}", self._html_scope(inner))
            for name, inner in scope.scopes.items()
        ]
        return "".join(parts)


def graph_view(trace: Trace, label: str | None = None) -> GraphView:
    """The view of a trace's graph.

    Args:
        trace: The trace.
        label: The notebook's name for the function, if it is shown.

    Raises:
        EvictedError: If the trace has left the cache.
    """
    return GraphView(title_of(trace, label), graph_of(trace), trace)


def found_operations(label: str, trace: Trace, pattern: str) -> Outline | None:
    """The operations of a trace's graph that match a pattern; None if there is none."""
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
    """The headline of a trace."""
    title = f"trace {trace.number} ({trace.signature or 'no arguments'})"
    return title if label is None else f"{label}, {title}"


def _summary(scope: NameScope) -> str:
    counts = scope.counts()
    listed = ", ".join(f"{number} {kind}" for kind, number in counts[:6])
    more = ", …" if len(counts) > 6 else ""
    return f"{count(sum(number for _, number in counts), 'operation')}: {listed}{more}"


def _listed(items: Iterator[str]) -> str:
    return ", ".join(items) or "none"


def _row(operation: Operation, indent: str = "") -> tuple[str, ...]:
    return (
        indent + (operation.name.split("/")[-1] if indent else operation.name),
        operation.type,
        ", ".join(_grouped(operation.outputs)),
        ", ".join(operation.inputs),
        operation.device,
        "" if operation.line is None else str(operation.line),
    )


def _grouped(items: Sequence[str]) -> Iterator[str]:
    """Merges equal successive items."""
    for item, same in itertools.groupby(items):
        number = len(list(same))
        yield item if number == 1 else f"{number} x {item}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns rows in columns; the text of a scope spans them all."""
    full = [row for row in rows if len(row) > 2]
    widths = [min(MAX_WIDTH, max(len(row[i]) for row in full)) for i in range(len(_HEADER))]
    widths[0] = max(widths[0], *(len(row[0]) for row in rows)) if rows else widths[0]
    return [
        "  "
        + "  ".join(
            cut(cell, width).ljust(width) for cell, width in zip(row, widths, strict=False)
        ).rstrip()
        if len(row) > 2
        else f"  {row[0].ljust(widths[0])}  {row[1]}"
        for row in rows
    ]


def _html_head(names: Sequence[str]) -> str:
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in names)
    return f"<thead><tr>{head}</tr></thead>"


def _html_row(row: Sequence[str]) -> str:
    return "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) + "</tr>"


def _details(summary: str, inner: str) -> str:
    return (
        f"<details><summary>{escape(summary)}</summary>"
        f'<div style="{_INSIDE}">{inner}</div></details>'
    )
