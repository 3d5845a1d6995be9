"""One run of a cell in segments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.effects.statement import Verdict
from nbfn.functions.recording.stance import stance_of
from nbfn.functions.segments import times
from nbfn.functions.segments.loops import Loop
from nbfn.functions.segments.plan import Plan, Step
from nbfn.functions.segments.promise import NotKeptError
from nbfn.functions.segments.segment import SLOWER, Segment, Served
from nbfn.functions.segments.text import RESULT

_ABSENT = object()


class Run:
    """What the code of a cell asks before each statement.

    Attributes:
        result: The value of the cell's last expression.
    """

    def __init__(self, plan: Plan) -> None:
        self.result: Any = None
        self._plan = plan
        self._namespace = plan.surroundings.namespace
        self._blocks = [_BlockRun(each) for each in plan.steps]
        self._epoch = plan.next_epoch()
        self._inside: list[_Lesson] = []
        self._failed: tuple[Segment, str] | None = None
        self._eager = stance_of("", plan.stance) == "eager" or tf.config.functions_run_eagerly()
        plan.is_eager = self._eager

    def may(self, number: int, index: int) -> bool:
        """Whether a statement is to be executed as it stands; runs its segment if it begins one."""
        __tracebackhide__ = True
        block = self._blocks[number]
        if index == 0:
            block.begin()
        elif index < block.skipped_to:
            return block.is_idle
        step = block.steps[index]
        if self._eager:
            return True
        lesson = block.lesson
        if lesson is not None and not self._goes_on(lesson, step):
            block.lesson = None
            self._finish(lesson)
            lesson = None
        if lesson is not None:
            return True
        if self._inside:
            self._look_inside(step)
            return True
        segment = step.segment
        if segment is not None and segment.reason is None:
            started = times.clock()
            served = self._serving(segment)
            if served is not None and self._served(segment, served, started):
                block.skipped_to, block.is_idle = index + len(segment.statements), False
                return False
        if step.idle is not None:
            block.skipped_to, block.is_idle = index + len(step.idle.statements), True
            return True
        self._begin(block, step)
        return True

    def close(self) -> Any:
        """Ends the run; returns the value of the cell's last expression.

        TensorFlow keeps the code of whatever called an operation for as long as its graph lives,
        and this is a constant of the cell's code.
        """
        result = self.result
        self.__dict__.clear()
        return result

    def end(self, number: int) -> None:
        """A block has come to its end."""
        __tracebackhide__ = True
        block = self._blocks[number]
        lesson, block.lesson = block.lesson, None
        if lesson is not None:
            self._finish(lesson)

    # Traces that are there ----------------------------------------------------------------

    def _serving(self, segment: Segment) -> Served | None:
        if segment.times.is_slower_as_graph() and not self._plan.is_all(segment):
            segment.reason = SLOWER
            return None
        if segment.times.wants_a_sample() and not self._plan.is_all(segment):
            return None
        if not _is_plain() or (self._is_recording() and len(segment.statements) > 1):
            return None
        try:
            return segment.served(self._namespace, self._epoch)
        except NbfnError:
            raise
        except Exception as error:
            segment.reason = _of_error(error)
            return None

    def _served(self, segment: Segment, served: Served, started: float) -> bool:
        """Runs a trace and puts the names that it leaves; False if Python is to run instead."""
        __tracebackhide__ = True
        try:
            values = served.run()
        except NbfnError:
            raise
        except Exception as error:
            if served.writes:
                raise
            self._failed = segment, _of_error(error, "fails as a graph")
            return False
        seconds = times.clock() - started
        segment.times.ran_as_graph(seconds)
        self._plan.ran(segment, seconds)
        for name, value in values.items():
            self._put(name, value)
        return True

    def _put(self, name: str, value: Any) -> None:
        if name == RESULT:
            self.result = value
        elif self._namespace.get(name, _ABSENT) is not value:
            self._namespace[name] = value

    # Lessons ------------------------------------------------------------------------------

    def _begin(self, block: _BlockRun, step: Step) -> None:
        """Begins to learn from what Python does next, if a segment may begin here."""
        if not _is_plain():
            step.python("is in a graph of its own, or under a strategy", None)
            return
        if self._plan.lazily and not step.has_run:
            step.has_run = True
            if step.statement.fixed is None:
                step.python("has run once", None)
            return
        verdict = step.verdict(self._namespace, frozenset())
        if verdict.reason is not None:
            loop = None if self._is_recording() else self._plan.loop(step)
            beginning = None if loop is None else loop.beginning(self._namespace)
            if loop is not None and beginning is not None:
                block.lesson = lesson = _Lesson(is_recording=False)
                lesson.loop = loop
                lesson.steps.append(step)
                lesson.objects.update(loop.body.objects)
                lesson.before = {n: beginning[n] for n in loop.reads if n in beginning}
                lesson.started = times.clock()
            elif step.changes_objects:
                self._epoch = self._plan.next_epoch()
            return
        lesson = _Lesson(self._is_recording())
        lesson.add(step, verdict, self._namespace)
        block.lesson = lesson
        self._enter(lesson, step)
        lesson.started = times.clock()

    def _goes_on(self, lesson: _Lesson, step: Step) -> bool:
        """Whether a statement belongs to what is being learnt."""
        if step is not lesson.next_step or lesson.loop or not self._leave(lesson):
            return False
        paused = times.clock()
        verdict = step.verdict(self._namespace, lesson.tapes)
        together = verdict.reason is None and not lesson.is_recording
        together = together and not verdict.reads & lesson.writes
        if together:
            lesson.add(step, verdict, self._namespace)
            self._enter(lesson, step)
        lesson.started += times.clock() - paused
        return together

    def _enter(self, lesson: _Lesson, step: Step) -> None:
        if step.statement.tape is not None:
            self._inside.append(lesson)

    def _leave(self, lesson: _Lesson) -> bool:
        """Whether the body of a tape's ``with``, if one was last, may be in a segment."""
        if self._inside and self._inside[-1] is lesson:
            self._inside.pop()
            if lesson.spoilt is not None:
                return False
        return True

    def _look_inside(self, step: Step) -> None:
        """Judges a statement in the ``with`` of a tape that is being learnt from outside."""
        lesson = self._inside[-1]
        verdict = step.verdict(self._namespace, lesson.tapes)
        if verdict.reason is not None:
            lesson.spoilt = lesson.spoilt or verdict.reason
        elif verdict.reads & lesson.writes:
            lesson.spoilt = "calls a function that reads a name written here"
        lesson.objects.update(verdict.objects)

    def _finish(self, lesson: _Lesson) -> None:
        """Traces what has been learnt, if that is worth it."""
        seconds = times.clock() - lesson.started
        if not self._leave(lesson) or lesson.spoilt is not None:
            lesson.steps[-1].spoil(lesson.spoilt or "")
            return
        if lesson.has_open_tapes():
            return
        segment = lesson.loop or self._plan.segment(lesson.steps)
        segment.times.ran_as_python(seconds)
        if self._failed is not None and self._failed[0] is segment:  # and Python did not
            segment.reason = self._failed[1]
        if lesson.is_recording and not self._may_run_under_tape(segment):
            return
        if segment.reason is not None or not self._plan.is_to_be_traced(segment):
            if self._plan.is_to_stay_python(segment):
                lesson.steps[0].idle = segment
                if not segment.times.has_served and not self._plan.is_all(segment):
                    lesson.steps[0].segment = None
            return
        after = {name: self._value(name) for name in segment.writes}
        after = {name: value for name, value in after.items() if value is not _ABSENT}
        self._learn(segment, lesson, after)

    def _learn(self, segment: Segment, lesson: _Lesson, after: Mapping[str, Any]) -> None:
        started = times.clock()
        try:
            segment.learn(lesson.before, after, lesson.objects, self._plan.surroundings)
        except NbfnError:
            raise
        except NotKeptError as broken:
            self._blame(segment, lesson, broken.name, broken.reason)
        except Exception as error:
            line = _tensorflow_line(error, segment)
            self._blame(segment, lesson, line, _of_error(error))
        else:
            segment.times.traced(times.clock() - started)
            if segment.reason is None:
                lesson.steps[0].segment = segment
            if self._plan.checks:
                print(segment.check(lesson.before))  # noqa: T201

    def _blame(self, segment: Segment, lesson: _Lesson, name: str, reason: str) -> None:
        if lesson.loop is not None:
            segment.reason = reason
        else:
            self._plan.blame(segment, lesson.steps, name, reason, self._namespace)

    def _may_run_under_tape(self, segment: Segment) -> bool:
        """Whether a tape of Python's, which sees a graph as one operation, misses nothing."""
        if len(segment.writes) > 1:
            reason = "writes several tensors under a tape"
        elif "jacobian" in self._plan.source:
            reason = "is part of a Jacobian"
        else:
            return segment.times.is_long()
        segment.reason = reason
        return False

    def _value(self, name: str) -> Any:
        return self.result if name == RESULT else self._namespace.get(name, _ABSENT)

    def _is_recording(self) -> bool:
        return _tensorflow.is_recording() or self._plan.cell.accumulates


class _BlockRun:
    """A block while it runs.

    Attributes:
        steps: What is known of its statements.
        skipped_to: The statement after those of which it is decided how they run.
        is_idle: Whether they run as Python, because a graph would not be faster.
        lesson: What is being learnt.
    """

    __slots__ = ("is_idle", "lesson", "skipped_to", "steps")

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.begin()

    def begin(self) -> None:
        self.skipped_to = 0
        self.is_idle = False
        self.lesson: _Lesson | None = None


class _Lesson:
    """Statements that Python runs, and that may become a segment."""

    def __init__(self, is_recording: bool) -> None:
        self.steps: list[Step] = []
        self.before: dict[str, Any] = {}
        self.writes: set[str] = set()
        self.tapes: frozenset[str] = frozenset()
        self.objects: dict[int, Any] = {}
        self.started = 0.0
        self.spoilt: str | None = None
        self.is_recording = is_recording
        self.loop: Loop | None = None

    @property
    def next_step(self) -> Step | None:
        return self.steps[-1].following

    def add(self, step: Step, verdict: Verdict, namespace: Mapping[str, Any]) -> None:
        """Adds a statement that Python runs next."""
        statement = step.statement
        for name in statement.reads:
            if name not in self.writes and name in namespace:
                self.before.setdefault(name, namespace[name])
        self.steps.append(step)
        self.writes |= set(statement.writes)
        self.objects.update(verdict.objects)
        if statement.tape is not None:
            self.tapes |= {statement.tape}

    def has_open_tapes(self) -> bool:
        """Whether gradients of one of its tapes are taken further down, which is said of it."""
        found = False
        for i, each in enumerate(self.steps):
            tape = each.statement.tape
            if tape is not None and not any(tape in s.statement.reads for s in self.steps[i + 1 :]):
                each.spoil("has a tape whose gradients are taken after a line of Python")
                found = True
        return found


def _is_plain() -> bool:
    """Whether operations run at once, here: in no graph, and under no strategy."""
    return tf.executing_eagerly() and not tf.distribute.has_strategy()


def _of_error(error: BaseException, what: str = "cannot be traced") -> str:
    text = " ".join(str(error).split())
    if type(error).__name__ == "OperatorNotAllowedInGraphError":
        return "needs the value of a tensor" if "bool" in text else "iterates over a tensor"
    return f"{what}: {type(error).__name__}: {text[:120]}"


def _tensorflow_line(error: BaseException, segment: Segment) -> str:
    """The line of the segment that an error came from, as `blame` takes it."""
    traced = segment.function
    code = getattr(getattr(traced, "python_function", None), "__code__", None)
    traceback, line = error.__traceback__, ""
    while traceback is not None:
        if traceback.tb_frame.f_code is code:
            line = f"line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return line
