"""The record of an observed function, and the interface of observed functions."""

from __future__ import annotations

import abc
import itertools
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, Protocol

from nbfn.functions.calls.placement import Placement
from nbfn.functions.traces.capture import Captures, captures_in
from nbfn.functions.traces.cause import Cause, Remedy, Retrace, Retraces
from nbfn.functions.traces.key import Key
from nbfn.functions.traces.trace import Trace, Traces
from nbfn.site import Site

MAX_RETRACES_KEPT = 1000

_ids = itertools.count(1)
# `next` of it needs no lock: it is one call of C code (CPython).
clock = itertools.count(1)
"""Incremented with every change of any record."""


def next_id(kind: str) -> str:
    """Returns an id for an observed function, unique in this process; numbers increase."""
    return f"{kind}-{next(_ids)}"


class Record:
    """The counts, traces and retraces of one function.

    Attributes:
        name: The name to show.
        function_id: Id of the function.
        calls: Calls that ended, or that failed after their trace was found or made.
        hits: Calls that were served by an existing trace.
        trace_seconds: Time spent tracing.
        run_seconds: Time spent in calls, tracing excluded.
        traces: The current traces, oldest first, by ``id`` of the concrete function.
        made: Number of traces made so far.
        retraces: Every miss after the first trace, newest last (the newest 1000 are kept).
        retrace_count: Number of current retraces, including those that are no longer kept.
        retraces_made: Number of retraces ever, including those whose traces were evicted as
            unusable.
        last: Result of the last call: ``"hit"``, ``"trace"`` or ``"retrace"``.
        last_trace: The trace that served last.
        changed: The `clock` at the newest change; readers compare it to find changed records.
        lock: Held while the record is read or modified.
        placement: Where the operations of the newest `run` ran; None before the first.
        lines: The time of each line in the newest call whose lines were timed, in seconds, and its
            share of the whole; the slowest first.
        values: What the newest `values` saw, by the lines that computed it, as text.
        staleness: Detects what has changed since its traces were made; None if that is not known.
    """

    staleness: Any = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.function_id = ""
        self.calls = 0
        self.hits = 0
        self.trace_seconds = 0.0
        self.run_seconds = 0.0
        self.traces: dict[int, Trace] = {}
        self.retraces: deque[Retrace] = deque(maxlen=MAX_RETRACES_KEPT)
        self.retrace_count = 0
        self.retraces_made = 0
        self.last: str | None = None
        self.last_trace: Trace | None = None
        self.changed = next(clock)
        # Reentrant: `traces` prunes while it holds it, and finalizers may run at any allocation.
        self.lock = threading.RLock()
        self.placement: Placement | None = None
        self.lines: tuple[tuple[Site, float, float], ...] = ()
        self.values: tuple[tuple[Site, str], ...] = ()
        self.made = 0

    def add_trace(
        self,
        concrete: Any,
        key: Key,
        cause: Cause,
        site: Site,
        seconds: float,
        roots: Iterator[tuple[str, Any]],
    ) -> Trace:
        """Adds a trace."""
        with self.lock:
            trace = Trace(self.made + 1, concrete, key, cause, site, seconds, roots)
            self.keep_trace(concrete, trace)
            self.last, self.last_trace = "trace", trace
            return trace

    def add_retrace(
        self,
        trace: Trace,
        causes: tuple[Cause, ...],
        nearest: tuple[Trace, ...],
        find_remedy: Callable[[], Remedy | None],
    ) -> None:
        """Records the retrace that made a trace."""
        with self.lock:
            self.note_retrace(self.next_retrace(causes, nearest, trace, find_remedy))
            self.last = "retrace"
            self.touch()

    def add_trace_seconds(self, trace: Trace, seconds: float) -> None:
        """Adds to the cost of a trace, when it is known only later."""
        with self.lock:
            trace.trace_seconds += seconds
            self.trace_seconds += seconds
            for i, retrace in enumerate(self.retraces):
                if retrace.trace == trace.number:
                    self.retraces[i] = replace(retrace, trace_seconds=trace.trace_seconds)
            self.touch()

    def next_retrace(
        self,
        causes: tuple[Cause, ...],
        nearest: tuple[Trace, ...],
        trace: Trace,
        find_remedy: Callable[[], Remedy | None],
        site: Site | None = None,
        seconds: float | None = None,
    ) -> Retrace:
        """Builds the next retrace; `site` and `seconds` default to the trace's. It is not added."""
        return Retrace(
            number=self.retraces_made + 1,
            causes=causes,
            nearest=tuple(each.number for each in nearest),
            trace=trace.number,
            site=site or trace.site,
            trace_seconds=trace.trace_seconds if seconds is None else seconds,
            find_remedy=find_remedy,
        )

    def add_call(self, trace: Trace | None, seconds: float, *, hit: bool) -> None:
        """Counts a call; `seconds` excludes tracing."""
        with self.lock:
            self.calls += 1
            self.run_seconds += seconds
            self.changed = next(clock)
            if trace is not None:
                self.last_trace = trace
                trace.run_seconds += seconds
                trace.last_used = self.changed
                if hit:
                    self.hits += 1
                    trace.hits += 1
                    self.last = "hit"

    def keep_trace(self, concrete: Any, trace: Trace) -> None:
        """Adds a trace; the caller holds the lock."""
        self.made = trace.number
        self.traces[id(concrete)] = trace
        self.trace_seconds += trace.trace_seconds
        self.changed = trace.last_used = next(clock)

    def note_retrace(self, retrace: Retrace) -> None:
        """Adds a retrace; the caller holds the lock."""
        self.retrace_count += 1
        self.retraces_made += 1
        self.retraces.append(retrace)

    def drop_retraces(self, traces: Collection[Trace]) -> None:
        """Removes the retraces that made these traces."""
        numbers = {trace.number for trace in traces}
        with self.lock:
            kept = [each for each in self.retraces if each.trace not in numbers]
            self.retrace_count -= len(self.retraces) - len(kept)
            self.retraces.clear()
            self.retraces.extend(kept)
            self.touch()

    def prune(self) -> None:
        """Removes traces whose graphs were freed."""
        with self.lock:
            freed = [id for id, trace in self.traces.items() if trace.live_concrete() is None]
            for id in freed:
                del self.traces[id]
            if freed:
                self.touch()

    def touch(self) -> None:
        """Marks the record as changed."""
        self.changed = next(clock)


class Observed(Protocol):
    """A function that the session lists, whether nbfn made it or only watches it.

    Attributes:
        id: Unique in this process.
        site: Where it was defined or first seen.
    """

    id: str
    site: Site

    @property
    def owner(self) -> Any:
        """The instance whose method it is; None for a plain function."""

    @property
    def recorder(self) -> Record:
        """Its record."""

    @property
    def parameters(self) -> str:
        """Its parameters as text."""

    @property
    def python_function(self) -> Any:
        """The Python function; None if it was garbage-collected."""


class RecordView:
    """The properties of a `TracedFunction` that read its record."""

    recorder: Record

    @property
    def owner(self) -> Any | None:
        """The instance whose method it is; None for a function or a garbage-collected instance."""
        return None

    @property
    def label(self) -> str:
        """The name to show."""
        return self.recorder.name

    @property
    def traces(self) -> Traces:
        """The current traces, oldest first."""
        with self.recorder.lock:
            self.recorder.prune()
            return Traces(self.recorder.traces.values())

    @property
    def retraces(self) -> Retraces:
        """Every miss after the first trace, with its causes, newest last.

        Retraces are removed with traces that can never serve again, such as those of a deleted
        model.
        """
        with self.recorder.lock:
            return Retraces(self.recorder.retraces)

    @property
    def calls(self) -> int:
        """Calls so far."""
        return self.recorder.calls

    @property
    def hits(self) -> int:
        """Calls that were served by an existing trace."""
        return self.recorder.hits

    @property
    def last_trace(self) -> Trace | None:
        """The trace that served the last call; None before the first."""
        return self.recorder.last_trace

    @property
    def captures(self) -> Captures:
        """What the traces captured, each thing once, under the user's names.

        Captures of stale traces only, such as the weights of a replaced model, come last and are
        marked.
        """
        return captures_in(self.traces, self.stale_traces())

    def stale_traces(self) -> frozenset[int]:
        """Returns the numbers of the traces that no call finds in the current state."""
        return frozenset(trace.number for trace in self.traces if trace.lost or not trace.is_keyed)


class GroupView(abc.ABC):
    """The properties of several observed functions together."""

    @abc.abstractmethod
    def observers(self) -> Collection[Any]:
        """Returns the functions, each with the properties of a `TracedFunction`."""

    @property
    def traces(self) -> Traces:
        """The traces of all functions."""
        return Traces(trace for each in self.observers() for trace in each.traces)

    @property
    def retraces(self) -> Retraces:
        """The retraces of all functions."""
        return Retraces(retrace for each in self.observers() for retrace in each.retraces)

    @property
    def calls(self) -> int:
        """The calls of all functions."""
        return sum(each.calls for each in self.observers())

    @property
    def hits(self) -> int:
        """The calls that were served by an existing trace."""
        return sum(each.hits for each in self.observers())

    @property
    def captures(self) -> Captures:
        """What the traces of all functions captured, each thing once."""
        return captures_in(self.traces)
