"""What a thread is doing right now: which function it traces or runs, and how far that is."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.call import Call
from nbfn.functions.live import live_functions
from nbfn.functions.observed import Observed
from nbfn.functions.traced import TracedFunction
from nbfn.work import Extent

_tensorflow.is_call(TracedFunction.__call__)
_CALLING = TracedFunction._call_unknown.__code__


def _nothing() -> None:
    """Stands for a reference to nothing."""


@dataclass(frozen=True)
class Doing:
    """A function that a thread traces or runs; it and its graph are held weakly.

    Attributes:
        kind: ``"trace"`` or ``"run"``.
        name: Name of the function.
        identity: The same for the same trace or call only.
        inner: Name of the innermost function that is traced for it, if that is another.
    """

    kind: str
    name: str
    identity: tuple[int, int, int | None, bool]
    inner: str | None = None
    _function: Callable[[], Observed | None] = _nothing
    _graph: Callable[[], Any] = _nothing

    @property
    def function(self) -> Observed | None:
        """The function, if nbfn observes it and it is alive."""
        return self._function()

    def operations(self) -> Extent:
        """Operations that have been traced, and how many the newest trace has, if there is one."""
        graph, function = self._graph(), self.function
        done = 0 if graph is None else _tensorflow.operation_count(graph)
        trace = function.recorder.last_trace if function is not None else None
        return done, max(done, trace.operations) if trace is not None else None

    def counters(self) -> Iterator[tuple[str, int]]:
        """The captured integers that a run may count in, such as an optimizer's iterations."""
        function = self.function
        traces = [] if function is None else list(function.recorder.traces.values())
        captures = {capture.id: capture for trace in traces for capture in trace.captures}
        for capture in captures.values():
            if capture.kind == "variable" and capture.shape == () and "int" in capture.dtype:
                with suppress(ReferenceError, tf.errors.OpError):
                    yield capture.name, int(capture.value.numpy())


def doing(thread: int) -> Doing | None:
    """What a thread does with traced functions; None if it is in none.

    A trace counts before the call that makes it, and the outermost before those inside it.
    """
    return doing_in(_tensorflow.frames(thread))


def doing_in(stack: list[FrameType]) -> Doing | None:
    """What is done with traced functions in these frames, outermost first, as `doing`."""
    found = list(_tensorflow.samples(stack))
    traced = [sample for sample in found if sample.graph is not None]
    if not found:
        return None
    sample = (traced or found)[0]
    known = {id(_function_of(each)): each for each in live_functions()}
    function = known.get(id(sample.function))
    changed = None if function is None else function.recorder.changed
    inner = _name(traced[-1].function, known) if len(traced) > 1 else None
    return Doing(
        kind="trace" if traced else "run",
        name=_name(sample.function, known),
        identity=(sample.identity, id(sample.function), changed, bool(traced)),
        inner=inner if traced and traced[-1].function is not sample.function else None,
        _function=_nothing if function is None else weakref.ref(function),
        _graph=_nothing if sample.graph is None else weakref.ref(sample.graph),
    )


def tracing_since(stack: list[FrameType]) -> float | None:
    """When the outermost function of nbfn's that is traced in these frames began to be.

    Returns:
        The time on the performance counter; None if there is no such function.
    """
    for frame in stack:
        if frame.f_code is _CALLING:
            call = frame.f_locals.get("call")
            if isinstance(call, Call) and call.missed_at:
                return call.missed_at
    return None


def lines(thread: int) -> Iterator[tuple[str, int]]:
    """Files and lines at which a thread is, innermost first, also where AutoGraph has converted."""
    return _tensorflow.original(_tensorflow.frames(thread))


def _function_of(observed: Any) -> Any:
    """The tf.function itself, which is watched or nbfn's own."""
    return getattr(observed, "function", observed)


def _name(function: Any, known: dict[int, Observed]) -> str:
    observed = known.get(id(function))
    if observed is not None:
        return observed.recorder.name
    return str(getattr(function, "name", None) or "function")
