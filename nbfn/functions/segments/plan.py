"""What is known of a cell's statements from run to run: verdicts, and the segments they form."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbfn.functions.effects.statement import Verdict, judged
from nbfn.functions.segments.loops import Loop, may_be_loop
from nbfn.functions.segments.segment import SLOWER, Segment, Surroundings
from nbfn.functions.segments.text import RESULT, AnalysedCell, Block, Statement
from nbfn.functions.traces.cause import Cause

_HARMLESS = frozenset(
    {
        *("print", "float", "int", "bool", "str", "len", "range", "enumerate", "zip", "repr"),
        *("append", "numpy", "item", "format", "extend", "display", "join", "items", "keys"),
        *("round", "min", "max", "sum", "abs", "values", "get", "sorted", "list", "dict", "tuple"),
    }
)


class Step:
    """A statement, and what is known of it from run to run.

    Attributes:
        statement: The statement.
        following: The one after it in its block.
        segment: The segment that begins with it, once there is one.
        reason: Why it was Python's when it last ran; None if it was not.
        idle: The segment that begins with it and is too short for a trace, once that is known.
        loop: The loop that it is, if a graph may have it.
        has_run: Whether it has run as Python, in a cell in which that is asked.
        changes_objects: Whether running it as Python may change attributes of objects.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.following: Step | None = None
        self.segment: Segment | None = None
        self.reason: str | None = statement.fixed
        self.changes_objects = _may_change_objects(statement)
        self.idle: Segment | None = None
        self.loop: Loop | None = None
        self.has_run = False
        self._kinds: tuple[Any, ...] | None = None
        self._spoilt: str | None = None

    def verdict(self, namespace: Mapping[str, Any], tapes: frozenset[str]) -> Verdict:
        """Whether it may be in a segment now; judged anew when its names stand for other kinds."""
        known = self.statement.fixed or self._spoilt
        if known is not None:
            return Verdict(known)
        kinds = self._kinds_now(namespace)
        if self.reason is not None and kinds == self._kinds:
            return Verdict(self.reason)
        try:
            found = judged(self.statement.node, namespace, tapes)
        except Exception as error:  # objects of the user's may do anything
            found = Verdict(f"cannot be looked into: {type(error).__name__}")
        self._kinds, self.reason = kinds, found.reason
        return found

    def python(self, reason: str, namespace: Mapping[str, Any] | None) -> None:
        """Says that it is Python's.

        With a namespace that lasts until the type of a name changes; with None for this run only.
        """
        self._kinds = None if namespace is None else self._kinds_now(namespace)
        self.reason = reason

    def spoil(self, reason: str) -> None:
        """Says that a statement in its body is Python's."""
        self._spoilt = self.reason = reason

    def _kinds_now(self, namespace: Mapping[str, Any]) -> tuple[Any, ...]:
        found = []
        for name in self.statement.reads:
            value = namespace.get(name)
            found.append((type(value), id(value) if callable(value) else 0))
        return tuple(found)


class Plan:
    """The steps of a cell, and its segments.

    Attributes:
        cell: The analysed text.
        name: The cell's name.
        surroundings: What its functions are made in.
        steps: The steps of each block.
        segments: The segments, by the texts of their statements.
        stance: The stance of the cell.
        lazily: Whether only what runs often is traced.
        checks: Whether each new trace is compared with Python.
        source: The text that the cell was made of.
        file: The file under which tracebacks find it now.
        runs: How often it ran.
        is_eager: Whether the last run was eager, because the stance asked for it.
        saved: Seconds that graphs have saved in this run, as far as is known.
    """

    def __init__(
        self,
        cell: AnalysedCell,
        name: str,
        surroundings: Surroundings,
        known: Plan | None = None,
        *,
        lazily: bool = False,
    ) -> None:
        self.cell = cell
        self.name = name
        self.surroundings = surroundings
        self.lazily = lazily
        self.stance: Any = None
        self.checks = False
        self.source = self.file = ""
        self.saved = 0.0
        self.runs = 0
        self.steps = [self._steps(block) for block in cell.blocks]
        self.segments: dict[tuple[str, ...], Segment] = {}
        self._epochs = itertools.count(1)
        self._is_edited = known is not None
        self.is_eager = False
        if known is not None:
            self._epochs = known._epochs
            self._take_over(known)

    @staticmethod
    def _steps(block: Block) -> list[Step]:
        steps = [Step(each) for each in block.statements]
        for step, following in itertools.pairwise(steps):
            step.following = following
        return steps

    def _take_over(self, known: Plan) -> None:
        """Keeps segments whose statements are still there, one after the other."""
        for segment in known.segments.values():
            for steps in self.steps:
                texts = [step.statement.text for step in steps]
                for start in range(len(texts) - len(segment.text) + 1):
                    if tuple(texts[start : start + len(segment.text)]) == segment.text:
                        segment.statements = tuple(
                            s.statement for s in steps[start : start + len(segment.text)]
                        )
                        segment.nodes = [each.node for each in segment.statements]
                        segment.label = self._label(segment.statements)
                        if segment.function is not None:
                            segment.function.recorder.name = segment.label
                        steps[start].segment = segment
                        self.segments[segment.text] = segment

    def next_epoch(self) -> int:
        """A number that was not given before."""
        return next(self._epochs)

    def segment(self, steps: Sequence[Step]) -> Segment:
        """The segment of some statements."""
        texts = tuple(step.statement.text for step in steps)
        found = self.segments.get(texts)
        if found is None:
            statements = [step.statement for step in steps]
            found = Segment(statements, self._label(statements))
            if self._is_edited:
                found.first_cause = Cause("new_code", "new code: the cell has changed")
            self.segments[texts] = found
        return found

    def loop(self, step: Step) -> Loop | None:
        """The loop that a statement is, once its body runs as one segment."""
        if step.loop is None and may_be_loop(step.statement):
            inner = self.steps[step.statement.blocks[0].number]
            body = inner[0].segment
            is_one = body is not None and len(body.statements) == len(inner)
            may_run = body is not None and body.reason in (None, SLOWER) and not body.draws
            if body is None or not is_one or not may_run:
                if len(inner) == 1 and inner[0].loop is not None:
                    return None
                idle = inner[0].idle
                if idle is None or len(idle.statements) != len(inner) or idle.reason is not None:
                    return None
                body = idle
            step.loop = Loop(step.statement, body, self._label([step.statement]))
            self.segments[step.statement.text,] = step.loop
        return step.loop if step.loop is None or step.loop.reason is None else None

    def _label(self, statements: Sequence[Statement]) -> str:
        if self._is_body(statements):
            return self.name
        first, last = statements[0].lines[0], statements[-1].lines[-1]
        return f"{self.name}:{first}" + (f"-{last}" if last != first else "")

    def is_all(self, segment: Segment) -> bool:
        """Whether one segment is the whole cell, but for imports and names that are displayed."""
        return self._is_body(segment.statements)

    def _is_body(self, statements: Sequence[Statement]) -> bool:
        body = [each for each in self.cell.blocks[0].statements if not _is_trifle(each)]
        return bool(body) and set(map(id, statements)).issuperset(map(id, body))

    def is_to_be_traced(self, segment: Segment) -> bool:
        """Whether a segment is worth a trace after what has been seen of it."""
        if segment.times.misses_too_often():
            return False
        if self.is_all(segment) and not (self.lazily or isinstance(segment, Loop)):
            return True
        if self.lazily and not segment.times.repays_a_trace():
            return False
        return segment.times.is_worth_a_trace()

    def is_to_stay_python(self, segment: Segment) -> bool:
        """Whether nothing more is to be learnt of a segment that has no trace, for a while."""
        if segment.reason is not None or segment.times.misses_too_often():
            return True
        return segment.times.is_known_to_be_short() and not self.is_all(segment)

    def ran(self, segment: Segment, seconds: float) -> None:
        """Says that a segment has run as a graph."""
        python = segment.times.python
        self.saved += 0.0 if python is None else python - seconds

    def begin(self) -> None:
        """Says that the cell begins to run; now and then looks again at what was too short."""
        self.saved = 0.0
        self.runs += 1
        if self.runs & (self.runs - 1) == 0:
            for step in self.every():
                step.idle = None

    def blame(
        self,
        segment: Segment,
        steps: Sequence[Step],
        name: str,
        reason: str,
        namespace: Mapping[str, Any],
    ) -> None:
        """Has the statement be Python's that wrote a name, or stands on a line; else the segment.

        Args:
            segment: The segment whose trace was not accepted.
            steps: Its statements.
            name: The name, or ``line 3``.
            reason: Why.
            namespace: The names.
        """
        if len(steps) == 1:
            steps[0].python(reason, namespace)
            return
        line = int(name[5:]) if name.startswith("line ") else 0
        for step in reversed(steps):
            if name in step.statement.writes or line in step.statement.lines:
                if step.statement.tape is not None:
                    step.spoil(reason)
                else:
                    step.python(reason, namespace)
                return
        segment.reason = reason
        steps[-1].python(reason, namespace)

    def every(self) -> Iterator[Step]:
        """Every step."""
        for steps in self.steps:
            yield from steps


def _is_trifle(statement: Statement) -> bool:
    node = statement.node
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
        return True
    value = getattr(node, "value", None)
    is_last = statement.writes == (RESULT,) and isinstance(value, ast.Name | ast.Constant)
    return is_last or (isinstance(node, ast.Expr) and isinstance(value, ast.Constant))


def _may_change_objects(statement: Statement) -> bool:
    if statement.blocks:
        return False
    for node in ast.walk(statement.node):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            return True
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            if name not in _HARMLESS:
                return True
    return False
