"""Finds the inputs of an operation that failed in a graph, by repeating the call."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.inside.extent import Extent, extent_of
from nbfn.functions.inside.instrument import Instrument
from nbfn.functions.inside.origin import OperationOrigin, Origins
from nbfn.functions.recording.recorded import Recorded
from nbfn.text import first_line, with_notes


@dataclass(frozen=True)
class Failure:
    """An operation that failed in a graph, with its inputs.

    Attributes:
        function: The name of the function that was called.
        origin: The operation, and the user's line; None if it was not found.
        inputs: Its inputs, by the user's names.
        execution: The execution of the operation that failed, from 1.
        message: The message of the operation.
        notes: Why values are missing, or may differ from those of the failed call.
    """

    function: str
    origin: OperationOrigin | None
    inputs: tuple[Extent, ...]
    execution: int
    message: str
    notes: tuple[str, ...] = ()

    @property
    def site(self) -> Any:
        """The user's line; None if it was not found."""
        return None if self.origin is None else self.origin.spot.site

    @property
    def title(self) -> str:
        """Where it failed, as a sentence."""
        if self.origin is None:
            return f"`{self.function}` failed: {self.message}"
        return f"{self.origin.where} failed{self._execution}: {self.message}"

    @property
    def sentence(self) -> str:
        """Its inputs, as a sentence below the error."""
        parts = []
        if self.origin is not None:
            number = self.site.line
            place = "" if number is None else f"line {number}: "
            inputs = ", ".join(str(each) for each in self.inputs) or "nothing"
            parts.append(f"{place}`{self.origin.spot.text}` was given {inputs}{self._execution}")
        return "; ".join([*parts, *self.notes])

    @property
    def _execution(self) -> str:
        return f", in execution {self.execution:,}" if self.execution > 1 else ""

    def __repr__(self) -> str:
        return with_notes(self.title, self.inputs, self.notes)


class _Recorder:
    """Records the last inputs of operations of a name, before each execution."""

    def __init__(self, name: str | None, until: CodeType) -> None:
        self._name = name
        self._origins = Origins(until)
        # TensorFlow runs operations, and so the recorders, on several threads.
        self._lock = threading.Lock()
        self.seen: list[tuple[OperationOrigin, list[Extent]]] = []
        self.executions: dict[int, int] = {}

    def __call__(self, new: _tensorflow.NewOperation) -> None:
        origin = self._origins.of(new)
        if new.operation is None or not self._is_wanted(new.operation):
            return
        named = zip(new.inputs, origin.inputs, strict=True)
        informative = [(each, name) for each, name in named if _is_informative(each, name)]
        callback = functools.partial(self._observe, origin, [name for _, name in informative])
        _tensorflow.add_callback(callback, [each for each, _ in informative], before=new.operation)

    def _is_wanted(self, operation: Any) -> bool:
        # The message names none: then each operation that may fail is recorded.
        if self._name is None:
            return _tensorflow.may_fail(operation)
        return _base(operation.name) == self._name

    def _observe(self, origin: OperationOrigin, names: Sequence[str], *arrays: Any) -> Any:
        values = [
            extent_of(name, np.asarray(array)) for name, array in zip(names, arrays, strict=True)
        ]
        with self._lock:
            self.executions[id(origin)] = self.executions.get(id(origin), 0) + 1
            # Moved to the end: the operation that failed is the last that ran.
            self.seen = [each for each in self.seen if each[0] is not origin][-1000:]
            self.seen.append((origin, values))
        return False


def _is_informative(tensor: Any, name: str) -> bool:
    """Returns whether an input is a value, and not an unnamed constant of the code."""
    if tensor.dtype in (tf.resource, tf.variant):
        return False
    return bool(name) or tensor.op.type != "Const"


def _base(name: str) -> str:
    """Returns the last part of an operation's name, without the number that makes it unique."""
    return re.sub(r"_\d+$", "", name.rpartition("/")[2])


def failure_of(
    function: Recorded, args: Sequence[Any], kwargs: Mapping[str, Any], error: BaseException
) -> Failure:
    """Repeats a failed call up to the failure, and records the inputs of the failed operation.

    Variables, Python state and random numbers are restored afterwards. Nothing is run if the call
    would consume what cannot be restored, such as elements of an iterator.
    """
    message = reason_of(error)
    node = _tensorflow.NODE_IN_ERROR.search(str(error))
    recorder = _Recorder(_base(node[1]) if node else None, failure_of.__code__)
    instrument = Instrument(recorder)
    with instrument.trial(function, args, kwargs) as trial:
        try:
            concrete = trial.traced(instrument.function(function))
        except Exception as other:  # the failed trace was made for any size, as by `relax`
            note = f"traced for the sizes of this call alone, it raises {type(other).__name__}"
            return Failure(function.label, None, (), 0, message, (note,))
        reason = _unsafe(concrete)
        if reason is not None:
            return Failure(function.label, None, (), 0, message, (reason,))
        again = trial.serve(concrete)
    if again is None:
        missing = ("the call did not fail a second time", *_notes(concrete))
        return Failure(function.label, None, (), 0, message, missing)
    found = _failed_operation(recorder, again)
    if found is None:
        missing = ("the repeated call failed at an operation that was not observed",)
        return Failure(function.label, None, (), 0, message, missing)
    origin, values = found
    execution = recorder.executions[id(origin)]
    return Failure(
        function.label, origin, tuple(values), execution, reason_of(again), tuple(_notes(concrete))
    )


def _failed_operation(
    recorder: _Recorder, error: BaseException
) -> tuple[OperationOrigin, list[Extent]] | None:
    """Returns the failed operation: the last executed one of the longest matching name."""
    node = _tensorflow.NODE_IN_ERROR.search(str(error))
    path = f"/{node[1]}" if node else ""
    named = [each for each in recorder.seen if path.endswith(f"/{each[0].name}")] or recorder.seen
    return max(reversed(named), key=lambda each: len(each[0].name) if node else 0, default=None)


def reason_of(error: BaseException) -> str:
    """Returns an operation's error message, without where it was defined."""
    text = str(error)
    # The lines before the message are "Detected at node … defined at" with a traceback; "[[{{node"
    # begins the lines after it (TensorFlow 2.21).
    if _tensorflow.NODE_IN_ERROR.search(text):
        lines = [each for each in text.split("[[{{node")[0].splitlines() if each.strip()]
        last = lines[-1].strip() if lines else type(error).__name__
        return re.sub(r"^\{\{[^}]*\}\} ?", "", last)
    return first_line(error)


def _unsafe(concrete: Any) -> str | None:
    """Returns why a call of a graph must not be repeated; None if it may be."""
    changed = _tensorflow.changing_resource_operations(concrete.graph)
    changed += _tensorflow.operations_outside(concrete.graph)
    if not changed:
        return None
    return (
        "its inputs are not known: repeating the call would change what cannot be restored "
        f"({', '.join(changed)})"
    )


def _notes(concrete: Any) -> Iterator[str]:
    random = _tensorflow.stateful_random_operations(concrete.graph)
    if random:
        yield f"these are values of another draw of random numbers ({', '.join(random)})"
    if _tensorflow.assigns(concrete.graph):
        yield "variables had the values that the failed call left"
