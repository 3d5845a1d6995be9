"""Counts the calls of one function and records its traces and misses, exactly, under threads."""

from __future__ import annotations

import functools
import itertools
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from nbfn import _tensorflow
from nbfn.errors import NbfnWarning
from nbfn.functions.key import Key, key_of
from nbfn.functions.limit import EagerOnLimit, Limit, TraceLimitError
from nbfn.functions.remedy import remedy_for
from nbfn.functions.retrace import Cause, Retrace, explain
from nbfn.functions.trace import Trace
from nbfn.site import Site, call_site

MAX_RETRACES_KEPT = 1000

_clock = itertools.count(1)
Roots = Callable[[], Iterator[tuple[str, Any]]]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _harmless(method: _Method) -> _Method:
    """An observer that fails is switched off with one warning; the user's call goes on."""

    @functools.wraps(method)
    def guarded(self: Recorder, *args: Any, **kwargs: Any) -> Any:
        if self.failed is not None:
            return None
        try:
            return method(self, *args, **kwargs)
        except (TraceLimitError, EagerOnLimit):
            raise
        except Exception as error:
            self.failed = error
            warnings.warn(
                f"nbfn stopped observing `{self.name}`, whose calls go on as usual: {error!r}",
                NbfnWarning,
                stacklevel=2,
            )
            return None

    return guarded  # type: ignore[return-value]


@dataclass
class _Call:
    """One call, or one request for a concrete function, while it runs."""

    counts: bool
    reason: Cause | None = None
    trace: Trace | None = None
    added: int = 0
    missed_key: Key | None = None
    missed_at: float = 0.0
    trace_seconds: float = 0.0
    python_results: Any = None
    started: float = 0.0


class Recorder:
    """What is known of one traced function.

    Attributes:
        name: The user's name for the function.
        roots: Gives the names and values from which captures are named.
        calls: Calls that ended, or that failed after their trace was found or made.
        hits: Calls that were served without tracing.
        trace_seconds: Time spent tracing.
        run_seconds: Time spent in calls, tracing excluded.
        traces: The traces in the cache, oldest first, by ``id`` of the concrete function.
        retraces: Every miss after the first trace, newest last (the newest 1000 are kept).
        last: What the last call was: ``"hit"``, ``"trace"`` or ``"retrace"``.
        last_trace: The trace that served last.
        changed: Grows with every change of any recorder; tells what to look at again.
        failed: The error that switched the recorder off, if one did.
        baked: Gives marks of the globals that the function reads.
        spoken_name: Gives the expression by which code can refer to the function, for remedies.
        on_cache_change: Is called whenever a trace enters or leaves the cache.
    """

    def __init__(self, name: str, roots: Roots, limit: Limit) -> None:
        self.name = name
        self.roots = roots
        self.limit = limit
        self.calls = 0
        self.hits = 0
        self.trace_seconds = 0.0
        self.run_seconds = 0.0
        self.traces: dict[int, Trace] = {}
        self.retraces: deque[Retrace] = deque(maxlen=MAX_RETRACES_KEPT)
        self.retrace_count = 0
        self.last: str | None = None
        self.last_trace: Trace | None = None
        self.first_cause = Cause("first_trace", "first call")
        self.changed = next(_clock)
        self.failed: Exception | None = None
        self.on_cache_change: Callable[[], None] = lambda: None
        self.spoken_name: Callable[[], str | None] = lambda: name
        self.baked: Callable[[], dict[str, Any]] = dict
        self.lock = threading.RLock()
        self._made = 0
        self._running = threading.local()

    # Calls ------------------------------------------------------------------------------

    def begin(self, *, counts: bool = True, reason: Cause | None = None) -> _Call:
        """Says that a call begins on this thread; ends with `end`."""
        call = _Call(counts, reason)
        self._stack().append(call)
        call.started = time.perf_counter()
        return call

    def hit(self, trace: Trace, seconds: float) -> None:
        """Counts a call that was served by a known trace."""
        with self.lock:
            self.calls += 1
            self.hits += 1
            trace.hits += 1
            trace.run_seconds += seconds
            self.run_seconds += seconds
            self.last = "hit"
            self.last_trace = trace
            self.changed = next(_clock)

    @_harmless
    def end(self, call: _Call) -> None:
        """Says that a call has ended, well or badly."""
        seconds = time.perf_counter() - call.started
        stack = self._stack()
        while stack and stack.pop() is not call:
            pass
        trace = call.trace
        if trace is None or not call.counts:
            return
        with self.lock:
            self.calls += 1
            trace.run_seconds += seconds - call.trace_seconds
            self.run_seconds += seconds - call.trace_seconds
            self.last_trace = trace
            if call.added:
                self.last = "retrace" if self._retraced_last(trace) else "trace"
            else:
                self.last = "hit"
                self.hits += 1
                trace.hits += 1
            self.changed = next(_clock)

    def _retraced_last(self, trace: Trace) -> bool:
        return bool(self.retraces) and self.retraces[-1].trace == trace.number

    def _stack(self) -> list[_Call]:
        try:
            return self._running.stack  # type: ignore[no-any-return]
        except AttributeError:
            self._running.stack = []
            return self._running.stack  # type: ignore[no-any-return]

    @property
    def current(self) -> _Call | None:
        """The call that runs on this thread."""
        stack = self._stack()
        return stack[-1] if stack else None

    # The trace cache tells --------------------------------------------------------------

    @_harmless
    def found(self, concrete: Any) -> None:
        """A look-up found this trace."""
        call = self.current
        if call is not None:
            call.trace = self.traces.get(id(concrete))

    @_harmless
    def missed(self, function_type: Any) -> None:
        """A look-up found nothing; a trace is made next."""
        call = self.current
        if call is None:
            return
        call.missed_key = key_of(function_type)
        if call.counts and call.added == 0:
            self.limit.check(self.spoken_name() or self.name, len(self.traces))
        call.missed_at = time.perf_counter()

    def added(self, concrete: Any) -> None:
        """A new trace is in the cache."""
        self.on_cache_change()
        self._added(concrete)

    @_harmless
    def _added(self, concrete: Any) -> None:
        seconds = 0.0
        call = self.current
        if call is not None and call.missed_at:
            seconds = time.perf_counter() - call.missed_at
        site = call_site()
        key = key_of(concrete.function_type)
        with self.lock:
            causes, nearest = self._causes(call, key)
            self._made += 1
            trace = Trace(self._made, concrete, key, causes[0], site, seconds, self.roots())
            trace.baked = self.baked()
            if call is not None:
                trace.python_results = call.python_results
                call.trace = trace
                call.added += 1
                call.trace_seconds += seconds
            self.traces[id(concrete)] = trace
            self.trace_seconds += seconds
            if nearest:
                self._record_retrace(causes, nearest, trace, site)
            self.changed = next(_clock)

    def _causes(self, call: _Call | None, key: Key) -> tuple[tuple[Cause, ...], tuple[Trace, ...]]:
        """The causes of a new trace; nearest traces only if it is a retrace."""
        if _tensorflow.saving():
            return (Cause("export", "traced again to be saved"),), ()
        if call is not None and call.reason is not None:
            return (call.reason,), ()
        if call is not None and call.added:
            creation = call.trace
            if creation is not None:
                creation.cause = Cause(
                    "variable_creation", "first call: traced once to create its variables"
                )
            return (self.first_cause,), ()
        if not self.traces:
            cause = self.first_cause
            if self._made:
                cause = Cause("first_trace", "the cache was empty: its traces were evicted")
            return (cause,), ()
        if call is None or not call.counts:
            return (Cause("requested", "requested with get_concrete_function"),), ()
        missed = call.missed_key or key
        causes, nearest = explain(missed, list(self.traces.values()))
        return causes, nearest

    def _record_retrace(
        self, causes: tuple[Cause, ...], nearest: tuple[Trace, ...], trace: Trace, site: Site
    ) -> None:
        self.retrace_count += 1
        retrace = Retrace(
            number=self.retrace_count,
            causes=causes,
            nearest=tuple(each.number for each in nearest),
            trace=trace.number,
            site=site,
            trace_seconds=trace.trace_seconds,
            remedy=remedy_for(self.spoken_name(), causes),
        )
        self.retraces.append(retrace)
        self.limit.warn(self.name, len(self.traces), retrace)

    # Python results ---------------------------------------------------------------------

    def keep_python_results(self, results: Any) -> None:
        """Keeps results that are Python values with the trace that is being made."""
        call = self.current
        if call is not None:
            call.python_results = results

    def settle(self, trace: Trace) -> None:
        """Says that the last retrace has been dealt with, by this trace."""
        with self.lock:
            self.last = "trace"
            self.last_trace = trace
            self.changed = next(_clock)

    # Eviction ---------------------------------------------------------------------------

    def forget(self, concrete: Any) -> None:
        """Says that a trace has left the cache."""
        with self.lock:
            self.traces.pop(id(concrete), None)
            self.changed = next(_clock)
        self.on_cache_change()
