"""One run of a cell in segments."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.effects.abstract_values import is_tensor
from nbfn.functions.recording.stance import stance_of
from nbfn.functions.segments import speed
from nbfn.functions.segments.analysis import RESULT, Statement
from nbfn.functions.segments.contract import NotKeptError
from nbfn.functions.segments.loops import Loop
from nbfn.functions.segments.plan import Plan
from nbfn.functions.segments.segment import SLOWER, Segment, reason_of_error

_ABSENT = object()


class CellRun:
    """Decides how each statement of a cell runs; the compiled cell calls it.

    A block is in one of three states. *Decided*: the statement belongs to a segment that has just
    run as a graph (`_BlockRun.is_python` is False), or to one that Python runs; nothing is
    examined. *Learning*: Python runs statements that may become a segment (`_BlockRun.candidate`);
    each next statement extends the candidate or ends it, and the end makes the trace. Otherwise the
    next statement may begin a traced segment or a candidate.

    Attributes:
        result: The value of the cell's last expression.
    """

    def __init__(self, plan: Plan) -> None:
        self.result: Any = None
        self._plan = plan
        self._namespace = plan.surroundings.namespace
        self._blocks = [_BlockRun(each) for each in plan.cell.blocks]
        self._inside: _BlockRun | None = None  # the block with the `with` of the candidate's tape
        self._failed: tuple[Segment, str] | None = None
        is_asked = stance_of("", plan.stance) in ("eager", "check_numerics")
        self._is_eager = is_asked or tf.config.functions_run_eagerly()
        plan.is_eager = self._is_eager

    def runs_as_python(self, number: int, index: int) -> bool:
        """Returns whether Python executes a statement; runs its segment if it begins one."""
        __tracebackhide__ = True
        block = self._blocks[number]
        if index == 0:
            block.begin()
        if index >= block.decided and not self._is_eager:
            self._decide(block, index)
        return block.is_python

    def end(self, number: int) -> None:
        """Ends a block."""
        __tracebackhide__ = True
        self._finish(self._blocks[number])

    def close(self) -> Any:
        """Ends the run; returns the value of the cell's last expression.

        The run is a constant of the cell's code, and TensorFlow keeps the code of the callers of
        each operation as long as its graph lives. So the run drops its attributes.
        """
        result = self.result
        self.__dict__.clear()
        return result

    def _decide(self, block: _BlockRun, index: int) -> None:
        """Decides how a statement runs, and the following ones of its segment."""
        __tracebackhide__ = True
        statement = block.statements[index]
        block.decided, block.is_python = index + 1, True
        if block.candidate is not None or self._inside is not None:
            if self._extends_any(block, statement):
                return
        elif statement.is_always_python:  # as most in a loop, on each iteration
            return
        segment = self._plan.beginning.get(statement)
        skipped = self._plan.skipped.get(statement)
        if segment is not None and self._serves(segment):
            block.decided, block.is_python = index + len(segment.statements), False
        # A sample is measured by a candidate: without one, Python would run it for good.
        elif skipped is not None and not (skipped is segment and segment.times.needs_sample()):
            block.decided = index + len(skipped.statements)
        else:
            self._begin(block, statement)

    # Existing traces ----------------------------------------------------------------------

    def _serves(self, segment: Segment) -> bool:
        """Runs a segment as a graph and assigns its names; False if Python must run it."""
        __tracebackhide__ = True
        started = speed.clock()
        if not self._may_serve(segment):
            return False
        # Before the look-up; a hit sets it back.
        segment.times.failed_lookups += 1
        if not segment.times.may_find_a_trace():
            return False
        try:
            values = segment.run(self._namespace)
        except NotKeptError as failed:
            self._failed = segment, failed.reason
            return False
        if values is None:
            return False
        seconds = speed.clock() - started
        segment.times.ran_as_graph(seconds)
        self._plan.saved += (segment.times.python or seconds) - seconds
        for name, value in values.items():
            if name == RESULT:
                self.result = value
            elif self._namespace.get(name, _ABSENT) is not value:
                self._namespace[name] = value
        return True

    def _may_serve(self, segment: Segment) -> bool:
        """Returns whether a segment should run as a graph now."""
        is_seen = self._is_recording() and not (
            len(segment.statements) == 1 >= segment.results and type(segment) is Segment
        )
        if segment.reason is not None or is_seen or not _is_plain():
            return False
        is_slower = segment.times.is_slower_as_graph()
        if not is_slower and not segment.times.needs_sample():
            return True
        is_all = self._plan.is_all(segment.statements)
        if is_slower and not is_all:
            segment.reason = SLOWER
        return is_all

    # Candidates ---------------------------------------------------------------------------

    def _begin(self, block: _BlockRun, statement: Statement) -> None:
        """Begins a candidate if a segment may begin here."""
        if not _is_plain():
            statement.becomes_python("is in a graph of its own, or under a strategy", None)
        elif self._plan.lazily and not statement.has_run:
            statement.has_run = True
            if statement.fixed is None:
                statement.becomes_python("has run once", None)
        else:
            verdict = statement.verdict(self._namespace, frozenset())
            if verdict.reason is None:
                block.candidate = candidate = _Candidate(is_recording=self._is_recording())
                self._take(block, candidate, statement)
                candidate.started = speed.clock()
            elif statement.blocks:
                block.candidate = self._candidate_of_loop(statement)

    def _candidate_of_loop(self, statement: Statement) -> _Candidate | None:
        """Begins a candidate for a loop that a graph could have."""
        loop = None if self._is_recording() else self._plan.loop(statement)
        beginning = None if loop is None else loop.beginning(self._namespace)
        if loop is None or beginning is None:
            return None
        candidate = _Candidate(is_recording=False)
        candidate.loop = loop
        candidate.statements.append(statement)
        candidate.before = {name: beginning[name] for name in loop.reads if name in beginning}
        candidate.started = speed.clock()
        return candidate

    def _extends_any(self, block: _BlockRun, statement: Statement) -> bool:
        """Returns whether a statement extends a candidate of this block or around it."""
        if self._inside is block:
            self._inside = None
        if block.candidate is not None and self._extends(block, block.candidate, statement):
            return True
        self._finish(block)
        if self._inside is None or self._inside.candidate is None:
            return False
        self._judge_inside(self._inside.candidate, statement)
        return True

    def _extends(self, block: _BlockRun, candidate: _Candidate, statement: Statement) -> bool:
        """Extends the candidate with a statement if possible; returns whether it did."""
        if candidate.is_complete or statement is not candidate.statements[-1].following:
            return False
        paused = speed.clock()
        verdict = statement.verdict(self._namespace, candidate.tapes)
        is_part = verdict.reason is None and not verdict.reads & candidate.writes
        if is_part:
            self._take(block, candidate, statement)
        # The time of the verdict is nbfn's, not the statement's.
        candidate.started += speed.clock() - paused
        return is_part

    def _take(self, block: _BlockRun, candidate: _Candidate, statement: Statement) -> None:
        candidate.add(statement, self._namespace)
        if statement.tape is not None:
            self._inside = block

    def _judge_inside(self, candidate: _Candidate, statement: Statement) -> None:
        """Judges a statement inside the ``with`` of a tape that belongs to a candidate."""
        verdict = statement.verdict(self._namespace, candidate.tapes)
        if verdict.reason is not None:
            candidate.rejection = candidate.rejection or verdict.reason
        elif verdict.reads & candidate.writes:
            candidate.rejection = "calls a function that reads a name written here"

    def _finish(self, block: _BlockRun) -> None:
        """Ends the candidate of a block; traces it if that saves time."""
        candidate, block.candidate = block.candidate, None
        if candidate is None:
            return
        seconds = speed.clock() - candidate.started
        if self._inside is block:
            self._inside = None
        if candidate.rejection is not None:
            candidate.statements[-1].stays_python(candidate.rejection)
        if candidate.rejection is not None or candidate.has_open_tapes():
            return
        first, plan = candidate.statements[0], self._plan
        segment = candidate.loop or plan.segment(candidate.statements)
        segment.times.ran_as_python(seconds)
        if self._failed is not None and self._failed[0] is segment:  # Python did not fail
            segment.reason = self._failed[1]
        if candidate.is_recording and not self._may_run_under_tape(segment):
            if segment.reason is not None or segment.times.is_known_to_be_short(under_tape=True):
                plan.skipped[first] = segment
            return
        if segment.reason is None and plan.should_trace(segment):
            self._learn(segment, candidate)
        elif plan.should_stay_python(segment):
            plan.skipped[first] = segment
            if not segment.times.hits and not plan.is_all(segment.statements):
                plan.beginning.pop(first, None)

    def _learn(self, segment: Segment, candidate: _Candidate) -> None:
        names = self._namespace | {RESULT: self.result}
        after = {name: names[name] for name in segment.writes if name in names}
        plan, statements = self._plan, candidate.statements
        started = speed.clock()
        try:
            has_missed = segment.learn(candidate.before, after, plan.surroundings)
        except NbfnError:
            raise
        except NotKeptError as broken:
            plan.reject(
                segment, statements, self._namespace, broken.reason, broken.name, broken.line
            )
        except Exception as error:
            line = _line_of(error, segment)
            plan.reject(segment, statements, self._namespace, reason_of_error(error), line=line)
        else:
            if has_missed:
                segment.times.traced(speed.clock() - started)
            if segment.reason is None:
                plan.beginning[statements[0]] = segment
            if plan.checks:
                print(segment.check(candidate.before))  # noqa: T201

    def _may_run_under_tape(self, segment: Segment) -> bool:
        """Returns whether a graph is safe under a tape, which sees it as one operation."""
        values = self._namespace | {RESULT: self.result}
        written = tf.nest.flatten([values.get(name) for name in segment.writes])
        if len(segment.writes) > 1 or sum(map(is_tensor, written)) > 1:
            segment.reason = "writes several tensors under a tape"
        # A heuristic for the whole cell, by its text: `tape.jacobian` vectorizes the gradients of
        # what the tape recorded (`pfor`, TensorFlow 2.21). The story "a jacobian and a hessian" in
        # tests/functions/segments/corpus/training.py tests it.
        elif "jacobian" in self._plan.source:
            segment.reason = "is part of a Jacobian"
        return segment.reason is None and segment.times.is_long()

    def _is_recording(self) -> bool:
        return _tensorflow.is_recording() or self._plan.cell.accumulates


class _BlockRun:
    """The state of a block while it runs.

    Attributes:
        statements: Its statements.
        decided: Index of the first undecided statement.
        is_python: Whether the decided statements run as Python.
        candidate: The current candidate.
    """

    __slots__ = ("candidate", "decided", "is_python", "statements")

    def __init__(self, statements: list[Statement]) -> None:
        self.statements = statements
        self.begin()

    def begin(self) -> None:
        self.decided = 0
        self.is_python = True
        self.candidate: _Candidate | None = None


class _Candidate:
    """Statements that Python runs and that may become a segment.

    Attributes:
        statements: The statements so far.
        before: The values of the names that they read, before they are written.
        writes: The names that they write.
        tapes: The tapes that they open.
        started: Start time, excluding time that nbfn itself took.
        rejection: Why it cannot be a segment; None if it can.
        is_recording: Whether an eager tape records them.
        loop: The loop that they are, if any.
    """

    def __init__(self, *, is_recording: bool) -> None:
        self.statements: list[Statement] = []
        self.before: dict[str, Any] = {}
        self.writes: set[str] = set()
        self.tapes: frozenset[str] = frozenset()
        self.started = 0.0
        self.rejection: str | None = None
        self.is_recording = is_recording
        self.loop: Loop | None = None

    @property
    def is_complete(self) -> bool:
        """Whether no further statement may be added."""
        return self.is_recording or self.loop is not None or self.rejection is not None

    def add(self, statement: Statement, namespace: Mapping[str, Any]) -> None:
        """Adds a statement that Python runs next."""
        for name in statement.reads:
            if name not in self.writes and name in namespace:
                self.before.setdefault(name, namespace[name])
        self.statements.append(statement)
        self.writes |= set(statement.writes)
        if statement.tape is not None:
            self.tapes |= {statement.tape}

    def has_open_tapes(self) -> bool:
        """Returns whether one of its tapes is used later, and marks its ``with`` as Python's."""
        found = False
        for i, each in enumerate(self.statements):
            if each.tape and not any(each.tape in s.reads for s in self.statements[i + 1 :]):
                each.stays_python("has a tape whose gradients are taken after a line of Python")
                found = True
        return found


def _is_plain() -> bool:
    """Returns whether operations run eagerly and under no strategy."""
    return _tensorflow.plain_eager_device() is not None


def _line_of(error: BaseException, segment: Segment) -> int:
    """Returns the line of the segment that raised an error; 0 if it is not known."""
    code = None if segment.function is None else segment.function.python_function.__code__
    frames = traceback.walk_tb(error.__traceback__)
    return next((line for frame, line in reversed([*frames]) if frame.f_code is code), 0)
