"""The segments of a cell, and the decision which of them to trace."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from nbfn.functions.segments.analysis import RESULT, AnalysedCell, Statement
from nbfn.functions.segments.body import Surroundings
from nbfn.functions.segments.loops import Loop, may_be_loop
from nbfn.functions.segments.segment import SLOWER, Segment
from nbfn.functions.traces.cause import Cause


class Plan:
    """The state of a cell that is kept from run to run.

    Attributes:
        cell: The analysed text.
        name: The cell's name.
        surroundings: The environment in which its functions are made.
        segments: The segments, by the texts of their statements.
        beginning: The traced segment that begins with a statement.
        skipped: The segment that begins with a statement and is not examined for now, as it is too
            short for a trace.
        stance: The stance of the cell.
        lazily: Whether only segments that run often are traced.
        checks: Whether each new trace is compared with Python.
        source: The source text of the cell.
        file: The file name under which tracebacks find it now.
        runs: Number of runs.
        is_eager: Whether the last run was eager because of the stance.
        saved: Seconds that graphs saved in this run, as far as known.
    """

    def __init__(
        self,
        cell: AnalysedCell,
        name: str,
        surroundings: Surroundings,
        previous: Plan | None = None,
        *,
        lazily: bool = False,
    ) -> None:
        self.cell = cell
        self.name = name
        self.surroundings = surroundings
        self.segments: dict[tuple[str, ...], Segment] = {}
        self.beginning: dict[Statement, Segment] = {}
        self.skipped: dict[Statement, Segment] = {}
        self.stance: Any = None
        self.lazily = lazily
        self.checks = self.is_eager = False
        self.source = self.file = ""
        self.runs = 0
        self.saved = 0.0
        self._is_edited = previous is not None
        for texts, segment in {} if previous is None else previous.segments.items():
            self._take_over(texts, segment)

    def _take_over(self, texts: tuple[str, ...], segment: Segment) -> None:
        """Keeps a segment whose statements still follow each other."""
        for block in self.cell.blocks:
            for start in range(len(block) - len(texts) + 1):
                statements = tuple(block[start : start + len(texts)])
                if tuple(each.text for each in statements) == texts:
                    segment.statements = statements
                    segment.label = self._label(statements)
                    if segment.function is not None:
                        segment.function.recorder.name = segment.label
                    self.beginning[statements[0]] = self.segments[texts] = segment

    def begin(self) -> None:
        """Begins a run; after 1, 2, 4, 8, ... runs, short segments are measured again."""
        self.saved = 0.0
        self.runs += 1
        if self.runs & (self.runs - 1) == 0:
            self.skipped.clear()

    def segment(self, statements: Sequence[Statement]) -> Segment:
        """Returns the segment of some statements."""
        texts = tuple(each.text for each in statements)
        if texts not in self.segments:
            found = self.segments[texts] = Segment(statements, self._label(statements))
            if self._is_edited:
                found.first_cause = Cause("new_code", "new code: the cell has changed")
        return self.segments[texts]

    def loop(self, statement: Statement) -> Loop | None:
        """Returns the loop that a statement is, once its body runs as one segment."""
        texts = (statement.text,)
        if texts not in self.segments and may_be_loop(statement):
            block = statement.blocks[0]
            for bodies in (self.beginning, self.skipped):
                body = bodies.get(block[0])
                if body is not None and _may_be_repeated(body, block):
                    self.segments[texts] = Loop(statement, body, self._label([statement]))
                    break
        found = self.segments.get(texts)
        return found if isinstance(found, Loop) and found.reason is None else None

    def _label(self, statements: Sequence[Statement]) -> str:
        if self.is_all(statements):
            return self.name
        first, last = statements[0].lines[0], statements[-1].lines[-1]
        return f"{self.name}:{first}" + (f"-{last}" if last != first else "")

    def is_all(self, statements: Sequence[Statement]) -> bool:
        """Returns whether these are the whole cell, except imports and displayed names."""
        body = {each for each in self.cell.blocks[0] if not _is_negligible(each)}
        return bool(body) and body.issubset(statements)

    def should_trace(self, segment: Segment) -> bool:
        """Returns whether to trace a segment: a whole cell at once, others by measured times."""
        if segment.times.misses_too_often():
            return False
        if not (self.lazily or isinstance(segment, Loop)) and self.is_all(segment.statements):
            return True
        if self.lazily and not segment.times.amortizes_tracing():
            return False
        return segment.times.is_worth_a_trace()

    def should_stay_python(self, segment: Segment) -> bool:
        """Returns whether an untraced segment need not be examined for a while."""
        if segment.reason is not None or segment.times.misses_too_often():
            return True
        return segment.times.is_known_to_be_short() and not self.is_all(segment.statements)

    def reject(
        self,
        segment: Segment,
        statements: Sequence[Statement],
        namespace: Mapping[str, Any],
        reason: str,
        name: str = "",
        line: int = 0,
    ) -> None:
        """Marks the statement that wrote a name or is on a line as Python's; else the segment.

        Args:
            segment: The segment whose trace was not accepted.
            statements: Its statements.
            namespace: The namespace of the cell.
            reason: Why.
            name: The name; empty if it is not known.
            line: The line; 0 if it is not known.
        """
        if isinstance(segment, Loop):  # its statement's reason is not checked again
            segment.reason = reason
        for each in reversed(statements):
            if len(statements) == 1 or name in each.writes or line in each.lines:
                if each.tape is not None and len(statements) > 1:
                    each.stays_python(reason)
                else:
                    each.becomes_python(reason, namespace)
                return
        segment.reason = reason
        statements[-1].becomes_python(reason, namespace)


def _is_negligible(statement: Statement) -> bool:
    node = statement.node
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
        return True
    value = getattr(node, "value", None)
    is_last = statement.writes == (RESULT,) and isinstance(value, ast.Name | ast.Constant)
    return is_last or (isinstance(node, ast.Expr) and isinstance(value, ast.Constant))


def _may_be_repeated(body: Segment, block: Sequence[Statement]) -> bool:
    """Returns whether a segment is a whole block that a graph loop could repeat."""
    is_simple = not isinstance(body, Loop) and len(body.statements) == len(block)
    return is_simple and body.reason in (None, SLOWER) and not body.draws
