"""Reports which parts of a cell are graph and which are Python, by line and in one sentence."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from nbfn.functions.effects.statement import NO_TENSOR
from nbfn.functions.segments.analysis import PLAIN, Statement
from nbfn.functions.segments.plan import Plan
from nbfn.functions.segments.segment import Segment
from nbfn.text import join

GRAPH = "graph"
_EVIDENT = {
    NO_TENSOR,
    *(PLAIN[each] for each in (ast.For, ast.If, ast.Continue, ast.Break, ast.Pass)),
}


@dataclass(frozen=True)
class Report:
    """The parts of a cell that are graph and Python.

    Attributes:
        segments: The segments that run as graphs, in the order of the text.
        lines: For each line with code, ``"graph"``, or the reason why it is Python.
        in_graphs: Number of statements that run in graphs.
        statements: Number of statements.
    """

    segments: tuple[Segment, ...]
    lines: dict[int, str]
    in_graphs: int
    statements: int

    def __str__(self) -> str:
        if not self.segments:
            if self.statements == 1:
                return "the only statement is Python"
            return f"all of {self.statements} statements are Python"
        spans = (segment.lines for segment in self.segments)
        places = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)
        graphs = "1 graph" if len(self.segments) == 1 else f"{len(self.segments)} graphs"
        lines = "line" if places.isdigit() else "lines"
        return f"{self.in_graphs} of {self.statements} statements in {graphs} ({lines} {places})"

    def python_lines(self) -> list[str]:
        """Returns the lines that are Python with non-obvious reasons; neighbours share one."""
        shown = [(n, why) for n, why in sorted(self.lines.items()) if why not in (GRAPH, *_EVIDENT)]
        found = []
        for reason, group in itertools.groupby(shown, key=lambda each: each[1]):
            lines = [str(number) for number, _ in group]
            where = f"line {lines[0]}" if len(lines) == 1 else f"each of lines {join(lines)}"
            found.append(f"{where} {reason}")
        return found


def report(plan: Plan) -> Report:
    """Reports on the current state of a cell."""
    segments: list[Segment] = []
    inside: set[Statement] = set()
    statements = plan.cell.statements()
    for statement in statements:
        segment = plan.beginning.get(statement)
        if segment is None or segment.reason is not None or statement in inside:
            continue
        if segment.function is not None and segment.function.traces:
            if segment not in segments:
                segments.append(segment)
            each: Statement | None = statement
            for _ in segment.statements:
                inside.update(_with_inner(each))
                each = each.following if each is not None else None
    lines: dict[int, str] = {}
    for statement in statements:
        reason = GRAPH if statement in inside else _reason(statement, plan)
        for line in statement.head:
            if lines.get(line, GRAPH) == GRAPH:  # of several on a line, Python's reason is shown
                lines[line] = reason
    return Report(tuple(segments), lines, len(inside), len(statements))


def _with_inner(statement: Statement | None) -> Iterator[Statement]:
    if statement is not None:
        yield statement
        for block in statement.blocks:
            for each in block:
                yield from _with_inner(each)


def _around(statement: Statement, plan: Plan) -> list[Segment]:
    """Returns the segments with a block that has the statement, such as that of a ``with``."""
    return [
        segment
        for segment in plan.segments.values()
        if any(statement in _with_inner(each) for each in segment.statements)
    ]


def _reason(statement: Statement, plan: Plan) -> str:
    if statement.reason is not None:
        return statement.reason
    segments = [each for each in plan.segments.values() if statement in each.statements]
    for segment in segments or _around(statement, plan):
        if segment.reason is not None:
            return segment.reason
        if segment.times.misses_too_often():
            return "needs a new trace at each run"
        if segment.times.runs:
            return "is too short for a graph to be faster"
    return "runs eagerly, because of its stance" if plan.is_eager else "has not run"
