"""Reports what a thread is doing: which function it traces or runs, and its progress.

It is read from the open calls that another thread has recorded. For functions that nbfn did not
make, a trace is visible in the thread's stack; the duration of a call is not known, because many
short calls look like one long call.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.calls.call import Call, open_on
from nbfn.functions.calls.record import Record
from nbfn.underway.stacks import stack_of
from nbfn.underway.work import Extent


@dataclass(frozen=True)
class Activity:
    """A function that a thread traces or runs; its record and its graph are held weakly.

    Attributes:
        kind: ``"trace"`` or ``"run"``.
        name: Name of the function.
        identity: Equal only for the same trace or call.
        inner: Name of the innermost function that is traced for it, if it is another.
    """

    kind: str
    name: str
    identity: tuple[Any, ...]
    inner: str | None = None
    _recorder: weakref.ReferenceType[Record] | None = None
    _graph: weakref.ReferenceType[Any] | None = None

    @property
    def recorder(self) -> Record | None:
        """The record of the function, if nbfn keeps one and it is alive."""
        return None if self._recorder is None else self._recorder()

    def operations(self) -> Extent | None:
        """Returns the traced operations so far, and those of the newest trace; None if unknown."""
        graph, recorder = None if self._graph is None else self._graph(), self.recorder
        if graph is None:
            return None
        done = len(graph.get_operations())
        trace = recorder.last_trace if recorder is not None else None
        return done, max(done, trace.operations) if trace is not None else None

    def counters(self) -> Iterator[tuple[str, int]]:
        """Yields captured integers that a run may count in, such as an optimizer's iterations."""
        recorder = self.recorder
        traces = [] if recorder is None else list(recorder.traces.values())
        captures = {capture.id: capture for trace in traces for capture in trace.captures}
        for capture in captures.values():
            if capture.kind == "variable" and capture.shape == () and "int" in capture.dtype:
                with suppress(ReferenceError, tf.errors.OpError):
                    yield capture.name, int(capture.value.numpy())


def activity_of(thread: int) -> Activity | None:
    """Returns what a thread, which may be another one, does with traced functions; None if nothing.

    A trace has priority over the call that makes it, and outer ones over inner ones.
    """
    calls = open_on(thread)
    traced = [call for call in calls if isinstance(call, Call) and call.is_tracing]
    if not calls:
        return _tracing_elsewhere(thread)
    if not traced:
        outermost = calls[0]
        recorder = outermost.recorder if isinstance(outermost, Call) else outermost
        return Activity(
            "run", recorder.name, (id(outermost), recorder.changed), None, weakref.ref(recorder)
        )
    call, inner = traced[0], traced[-1].recorder
    return Activity(
        kind="trace",
        name=call.recorder.name,
        identity=(id(call), call.missed_at),
        inner=None if inner is call.recorder else inner.name,
        _recorder=weakref.ref(call.recorder),
        _graph=call.graph,
    )


def _tracing_elsewhere(thread: int) -> Activity | None:
    """Returns the trace of a function that nbfn did not make."""
    found = _tensorflow.traced_in(stack_of(thread))
    return None if found is None else Activity("trace", found[0], found)


def runs_unrecorded(thread: int) -> bool:
    """Returns whether a thread runs a graph of a function without a record."""
    return not open_on(thread) and _tensorflow.runs_in(stack_of(thread))


def lines(thread: int) -> Iterator[tuple[str, int]]:
    """Yields the files and lines at which a thread is, innermost first, in the user's source."""
    for at in map(_tensorflow.original, stack_of(thread)):
        yield at.file, at.line
