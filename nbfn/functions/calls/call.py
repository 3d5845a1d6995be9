"""A call of a traced function while it runs, and the calls that are open on each thread."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbfn import _tensorflow
from nbfn.functions.calls.interruption import Interruption
from nbfn.functions.traces.key import Key, key_of
from nbfn.underway.spent import Spent, spent_here

if TYPE_CHECKING:
    from nbfn.functions.calls.record import Record
    from nbfn.functions.traces.cause import Cause, Wanted
    from nbfn.functions.traces.context import Context
    from nbfn.functions.traces.trace import Trace
    from nbfn.state.guarded import GuardedState


@dataclass
class Call:
    """One call, or one request for a concrete function, while it runs.

    Attributes:
        recorder: The record of its function.
        counts: Whether it is a call, not a request for a concrete function.
        explains: Whether Python has already run the call and only its trace is made: the miss is
            explained, and no call is counted.
        reason: The cause of a requested trace, if any.
        trace: The trace that serves it, once that is known.
        added: Number of traces that it has made.
        looked_up_in: Context and state of the newest look-up.
        wanted: What it needs of a trace, if none was found.
        missed_at: When the look-up found no trace.
        is_tracing: Whether a trace is being made now.
        creates: Whether the newest trace created variables.
        graph: Weak reference to the graph of that trace, once there is one.
        trace_seconds: Time spent tracing.
        started: When it began.
        interruption: Stops it on an interrupt.
        variables: The variables among its arguments, with their paths.
    """

    recorder: Record
    counts: bool = True
    explains: bool = False
    reason: Cause | None = None
    trace: Trace | None = None
    added: int = 0
    looked_up_in: tuple[Context, GuardedState] | None = None
    wanted: Wanted | None = None
    missed_at: float = 0.0
    is_tracing: bool = False
    creates: bool = False
    graph: weakref.ReferenceType[Any] | None = None
    trace_seconds: float = 0.0
    started: float = 0.0
    interruption: Interruption = field(default_factory=Interruption)
    variables: Sequence[tuple[str, Any]] = ()
    _keyed: tuple[list[Any], Key] | None = None

    @property
    def device(self) -> str:
        """The explicit device around it, if a trace is made for it; empty if none."""
        context = self.wanted.context if self.wanted is not None else None
        return context.device if context is not None else ""

    def key_of(self, function_type: Any) -> Key:
        """Returns the key of a function type; the newest one is cached."""
        # A trace has another function type than its look-up, mostly with the same trace types. They
        # are compared by identity: for TensorFlow, 1, 1.0 and True are equal.
        types = _tensorflow.trace_types(function_type)
        if self._keyed is None or list(map(id, self._keyed[0])) != list(map(id, types)):
            self._keyed = types, key_of(function_type)
        return self._keyed[1]


class OpenCalls(list["Call | Record"]):
    """The calls of traced functions that are open on a thread, outermost first.

    A call that dispatch serves is represented by the record of its function only.

    Attributes:
        eager_depth: Number of outermost calls that run eagerly. A call directly above them counts
            as outermost: no other call includes its time.
        spent: The totals of the thread.
    """

    __slots__ = ("__weakref__", "eager_depth", "spent")

    def __init__(self) -> None:
        self.eager_depth = 0
        self.spent: Spent = spent_here()


class _ThisThread(threading.local):
    def __init__(self) -> None:
        self.calls = OpenCalls()
        _by_thread[threading.get_ident()] = self.calls


# Weak: the calls end with their thread, whose number Python then gives to another.
_by_thread: weakref.WeakValueDictionary[int, OpenCalls] = weakref.WeakValueDictionary()
this_thread = _ThisThread()
"""``this_thread.calls`` are the `OpenCalls` of this thread. Callers remove what they append."""


def open_on(thread: int) -> tuple[Call | Record, ...]:
    """Returns the calls that are open on a thread, which may be another one, outermost first."""
    return tuple(_by_thread.get(thread, ()))
