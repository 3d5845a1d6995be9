"""Records the calls, traces and misses of one function exactly, also with several threads."""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from nbfn import _tensorflow
from nbfn.errors import NbfnWarning, report_failure
from nbfn.functions.calls.call import Call, this_thread
from nbfn.functions.calls.record import Record, clock
from nbfn.functions.guards import Guards
from nbfn.functions.recording.limit import RETRACES, Limit
from nbfn.functions.recording.refusal import (
    EndlessTraceError,
    RefusedError,
    RunEagerly,
)
from nbfn.functions.recording.staleness import Staleness
from nbfn.functions.recording.stance import Stance, enforce, stance_of
from nbfn.functions.retraces.explain import explain, stale_causes
from nbfn.functions.retraces.remedy import CallDescription, is_declared, remedy_for
from nbfn.functions.retraces.trace_causes import EMPTY, FAILED, FIRST, causes_of
from nbfn.functions.traces.cause import Cause, Remedy, Retrace, Wanted
from nbfn.functions.traces.context import Context, Strategy, current_context, summaries_of
from nbfn.functions.traces.created_variables import DeadStateError, check_variables, watch_variables
from nbfn.functions.traces.key import key_of
from nbfn.functions.traces.trace import Trace
from nbfn.serial import serial
from nbfn.site import Site, call_site, current_cell
from nbfn.state.guarded import GuardedState
from nbfn.text import reasons

_UNDER_A_STRATEGY = "pass tensors, and define the function with reduce_retracing=True"
_ADVICE = 'Pass it as an argument, make it a tf.Variable, or use on_stale="retrace"'
TRACED_AGAIN = "is traced again, as Python has changed"
"""Part of a note on errors of such traces."""

Roots = Callable[[], Iterator[tuple[str, Any]]]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _harmless(method: _Method) -> _Method:
    """Warns once of an error in nbfn's bookkeeping; the call continues without a record.

    Refusals are raised, because the user has requested them.
    """

    @functools.wraps(method)
    def guarded(self: Recorder, *args: Any, **kwargs: Any) -> Any:
        if self.failed is not None:
            return None
        try:
            return method(self, *args, **kwargs)
        # NbfnWarning: the user has made warnings errors.
        except (RefusedError, DeadStateError, RunEagerly, NbfnWarning):
            raise
        except Exception as error:
            self.failed = error
            report_failure(
                f"could not record a call of `{self.name}`; the call itself is not affected", error
            )
            return None

    return guarded  # type: ignore[return-value]


def _count_outermost(call: Call, now: float) -> None:
    """Adds the time of an outermost call to the thread's totals, also if its trace failed."""
    spent = this_thread.calls.spent
    tracing = call.trace_seconds + (now - call.missed_at if call.is_tracing else 0.0)
    spent.tracing += tracing
    if call.counts and call.trace is not None:
        spent.running += now - call.started - tracing
        spent.calls += 1


def _named_remedy(
    called: CallDescription, name: Callable[[], str | None], causes: tuple[Cause, ...]
) -> Remedy | None:
    return remedy_for(replace(called, name=name()), causes)


MAX_SELF_CALLS = 8
"""Maximum depth of recursion with one key within a function's own trace.

The first recursion proves nothing: Python values that are not arguments may end it. The number is a
heuristic: see ``tests/functions/recording/test_recursion.py``.
"""


class Recorder(Record):
    """The record of a function that nbfn has made; its trace cache queries and notifies it.

    Attributes:
        roots: Returns the names and values from which captures are named.
        limit: The limit on its number of traces.
        guards: The Python state that its traces depend on.
        own_stance: The function's own stance, if any.
        spread: Runs the function's Python on the replicas of a strategy; None except in a
            ``session.run``.
        first_cause: The cause of its first trace.
        failures: Number of calls whose trace failed.
        failed: The internal error after which open calls are not recorded; None if there is
            none.
        reference_expression: Returns the expression by which code can refer to the function.
        relaxing: The code with which the user can let one trace serve more calls; None for
            ``relax()``.
        by_value: Parameters whose values make traces by its input signature.
        is_saved: Whether it is of a SavedModel, which has no Python to trace again.
        warns: Whether it warns of many retraces; False where each retrace is shown anyway.
        recursive: Whether it has called itself while it was traced.
        on_cache_change: Called when a trace enters or leaves the cache.
    """

    def __init__(self, name: str, roots: Roots, limit: Limit, guards: Guards) -> None:
        super().__init__(name)
        self.roots = roots
        self.limit = limit
        self.guards = guards
        self.own_stance: Stance | None = None
        self.spread: Any = None
        self.first_cause = FIRST
        self.failures = 0
        self.failed: Exception | None = None
        self.reference_expression: Callable[[], str | None] = lambda: name
        self.relaxing: str | None = None
        self.by_value: frozenset[str] = frozenset()
        self.is_saved = False
        self.warns = True
        self.recursive = False
        self.on_cache_change: Callable[[], None] = lambda: None
        self._unusable: list[int] = []
        self._retraced_at: deque[int] = deque(maxlen=RETRACES)
        self.staleness = Staleness(guards)

    # Calls ------------------------------------------------------------------------------

    def begin(self, call: Call) -> None:
        """Opens a call on this thread; it ends when it leaves the open calls."""
        # A failure ends the record of the calls that are open, whose state may be half updated; the
        # next outermost call is recorded again.
        if self.failed is not None and self.current is None:
            self.failed = None
        around = self.current
        self.recursive |= around is not None and around.is_tracing
        this_thread.calls.append(call)
        call.started = time.perf_counter()

    @_harmless
    def end(self, call: Call) -> None:
        """Counts a call that has returned or raised."""
        ended = time.perf_counter()
        seconds = ended - call.started
        trace = call.trace
        if len(this_thread.calls) == this_thread.calls.eager_depth:
            _count_outermost(call, ended)
        if trace is None:
            self.failures += bool(call.missed_at)
            return
        if not (call.counts or (call.explains and call.added)):
            return
        last = "retrace" if self._retraced_last(trace) else "trace"
        with self.lock:
            if call.explains:  # Python ran the call
                self.last, self.last_trace, self.changed = last, trace, next(clock)
                return
            self.add_call(trace, seconds - call.trace_seconds, hit=not call.added)
            if call.added:
                self.last = last

    def _retraced_last(self, trace: Trace) -> bool:
        return bool(self.retraces) and self.retraces[-1].trace == trace.number

    @property
    def current(self) -> Call | None:
        """The innermost open call of the function on this thread."""
        for call in reversed(this_thread.calls):
            if isinstance(call, Call) and call.recorder is self:
                return call
        return None

    # Called by the trace cache ------------------------------------------------------------

    @_harmless
    def context_key(self, function_type: Any) -> Any:
        """Returns the part of a trace's key besides the arguments: the call's context."""
        call, found = self.current, self._context(_tensorflow.objects(function_type))
        if call is not None:
            call.looked_up_in = found
        return found[0]

    @_harmless
    def context_key_after_trace(self, concrete: Any) -> Any:
        """Returns the context in which tracing began."""
        call = self.current
        if call is None or not call.missed_at or call.wanted is None:
            return self.context_key(concrete.function_type)
        self.guards.depend_on(_tensorflow.settings_of(concrete.graph), call.wanted.state)
        if call.creates:  # this changes state that later traces do not
            self.guards.forget(call.wanted.state)
        else:
            self.guards.after_trace(
                call.wanted.state,
                tuple(_tensorflow.objects(concrete.function_type)),
                _tensorflow.by_reference(concrete),
                _tensorflow.graph_time_functions(concrete.graph),
            )
        return call.wanted.context

    def _context(self, among_arguments: Iterable[tuple[str, Any]]) -> tuple[Context, GuardedState]:
        objects, call = tuple(among_arguments), self.current
        state, spread = self.guards.guarded(objects), self.spread
        summaries = summaries_of(self.guards.attributes)
        strategy = None if spread is None else Strategy(spread.label, serial(spread), False, True)
        passed = () if call is None else call.variables
        shared = [each for each in passed if self.guards.reads(each[1], objects)]
        return current_context(state.number, summaries, strategy, shared), state

    @_harmless
    def on_hit(self, concrete: Any) -> None:
        """Notes that a look-up found this trace."""
        call = self.current
        if call is None:
            return
        call.trace = self.traces.get(id(concrete))
        if call.trace is not None and call.counts:
            check_variables(self.name, call.trace)
            objects = _tensorflow.objects(concrete.function_type)
            if self.guards.on_stale in ("warn", "raise"):
                self.staleness.report(self.name, call.trace, tuple(objects), _ADVICE)
            call.interruption.may_stop_run_of(call.trace)

    @_harmless
    def on_miss(self, function_type: Any) -> None:
        """Notes that a look-up found nothing: a trace is made next, or the call is refused."""
        call = self.current
        if call is None:
            return
        found = call.looked_up_in or self._context(_tensorflow.objects(function_type))
        wanted = call.wanted = Wanted(call.key_of(function_type), *found)
        self._refuse_endless(call)
        if (call.counts or call.explains) and call.added == 0:
            current = stance_of(self.function_id, self.own_stance)
            if self.traces and current != "default":
                name = self.reference_expression() or self.name
                remedy = functools.partial(self.remedy, site=call_site(), wanted=wanted)
                enforce(current, name, wanted, list(self.traces.values()), remedy)
            self.limit.check(
                lambda: self.reference_expression() or self.name,
                len(self.traces),
                lambda: reasons(explain(wanted, list(self.traces.values()))[0]),
            )
        call.is_tracing = True
        # Last: the time of the checks above is not that of tracing.
        call.missed_at = time.perf_counter()

    @_harmless
    def note_failure(self, error: Exception) -> None:
        """Adds to an error that the trace was made because of a change in Python, if it was.

        The call before succeeded, and a plain tf.function would have used its trace again.
        """
        call = self.current
        if call is None or call.wanted is None or not self.traces:
            return
        causes, _ = explain(call.wanted, list(self.traces.values()))
        if all(cause.code == "stale" for cause in causes):
            error.add_note(f"`{self.name}` {TRACED_AGAIN}: {reasons(causes)}")

    def _refuse_endless(self, call: Call) -> None:
        """Raises on recursion that tracing would never end, long before Python's own limit."""
        within = [
            str(each.wanted.key)  # by its text: leaves of tensors have no equality
            for each in this_thread.calls
            if isinstance(each, Call) and each.recorder is self and each.is_tracing and each.wanted
        ]
        if len(within) < MAX_SELF_CALLS or call.wanted is None:
            return
        key = str(call.wanted.key)
        if within.count(key) >= MAX_SELF_CALLS:
            name = self.reference_expression() or self.name
            raise EndlessTraceError(
                f"`{name}` calls itself while it is traced for ({key}), over and over: a graph "
                "cannot call itself. Loop with `while` or tf.while_loop, or pass what ends the "
                "recursion as a Python number: each number has a trace of its own"
            )

    def refuses_retraces(self) -> bool:
        """Returns whether calls that need another trace fail, by its stance."""
        return stance_of(self.function_id, self.own_stance) == "fail_on_retrace"

    def wanted(self, function_type: Any) -> Wanted:
        """Returns what a call of this type needs of a trace."""
        return Wanted(key_of(function_type), *self._context(_tensorflow.objects(function_type)))

    @_harmless
    def equivalent(self, concrete: Any) -> Any | None:
        """Returns the concrete function of an older trace that does the same as a new one.

        What has changed in Python since then made no difference: it is no cause of a retrace, and
        the older trace also serves in the new state.
        """
        call = self.current
        if call is None or call.wanted is None or call.creates or call.added or not call.counts:
            return None
        if not self.traces:
            return None
        key = call.key_of(concrete.function_type)
        # The newest first: it is most likely the state before the change.
        for trace in reversed(list(self.traces.values())):
            older = trace.live_concrete()
            if (
                older is not None
                and trace.differs_in_state_alone(key, call.wanted.context)
                and _tensorflow.are_equivalent(older, concrete)
            ):
                causes = stale_causes(trace.state.differences(call.wanted.state))
                with self.lock:
                    seconds = time.perf_counter() - call.missed_at
                    self.trace_seconds += seconds
                    call.trace_seconds += seconds
                    call.trace, call.is_tracing = trace, False
                    trace.also_serves(call.wanted.context, call.wanted.state)
                    trace.watch_guarded(self.guards.references(), self._unusable)
                self.on_cache_change()
                if self.warns:
                    self.limit.warn_of_needless_traces(self.name, self.calls + 1, causes)
                call.interruption.may_stop_run_of(trace)
                return older
        return None

    def on_added(self, concrete: Any) -> None:
        """Notes that a new trace is in the cache."""
        self.on_cache_change()
        self._record_trace(concrete)

    @_harmless
    def _record_trace(self, concrete: Any) -> None:
        call = self.current
        tracing = call is not None and call.missed_at
        seconds = time.perf_counter() - tracing if tracing else 0.0
        with self.lock:
            trace, retrace = self._explain(concrete, call, seconds)
            self.keep_trace(concrete, trace)
            self._count_trace(trace, retrace, call)
            if retrace is not None:
                self._warn(retrace)
        if call is not None and call.counts:
            call.interruption.may_stop_run_of(trace)

    def _explain(
        self, concrete: Any, call: Call | None, seconds: float
    ) -> tuple[Trace, Retrace | None]:
        """Builds the record of a new trace and, unless it is the first, of the retrace."""
        site, missed = call_site(), call.wanted if call is not None and call.missed_at else None
        if call is None or missed is None:
            wanted = self.wanted(concrete.function_type)
        else:  # the trace may be more general than the call
            key = call.key_of(concrete.function_type)
            wanted = missed if key is missed.key else replace(missed, key=key)
        causes, nearest = causes_of(
            call, wanted.key, list(self.traces.values()), self.next_first_cause(call)
        )
        trace = Trace(self.made + 1, concrete, wanted.key, causes[0], site, seconds, self.roots())
        trace.context, trace.state = wanted.context, wanted.state
        watch_variables(trace, self.on_cache_change)
        trace.watch_objects(self._unusable)
        trace.watch_guarded(self.guards.references(), self._unusable)
        if not nearest:
            return trace, None
        find_remedy = self._find_remedy(causes, site, wanted)
        return trace, self.next_retrace(causes, nearest, trace, find_remedy)

    def _count_trace(self, trace: Trace, retrace: Retrace | None, call: Call | None) -> None:
        """Counts a new trace."""
        this_thread.calls.spent.traces += 1
        if call is not None:
            call.is_tracing = False
            call.trace = trace
            call.added += 1
            call.trace_seconds += trace.trace_seconds
        if retrace is not None:
            self.note_retrace(retrace)

    def _warn(self, retrace: Retrace) -> None:
        if self.warns:
            self.limit.warn(self.name, len(self.traces), retrace)
        # A recursion needs many traces.
        if self.warns and not self.recursive and not self._is_declared(retrace):
            self._retraced_at.append(self.calls + 1)
            avoidable = [each for each in self.retraces if not self._is_declared(each)]
            self.limit.warn_of_ratio(self.name, self._retraced_at, avoidable)

    def _is_declared(self, retrace: Retrace) -> bool:
        return all(is_declared(cause, self.by_value) for cause in retrace.causes)

    def next_first_cause(self, call: Call | None = None) -> Cause:
        """Returns the cause of the next trace that enters the empty cache."""
        if self.made > (call.added if call is not None else 0):
            return EMPTY
        return FAILED if self.failures else self.first_cause

    def remedy(self, causes: tuple[Cause, ...], site: Site, wanted: Wanted) -> Remedy | None:
        """Returns what to change so that such a call at this site, not yet made, does not miss."""
        if self.is_saved:
            return Remedy("Pass what it was saved for: a SavedModel has no Python code to retrace")
        has_one = sum(trace.serves_calls for trace in self.traces.values()) == 1
        return self._find_remedy(causes, site, wanted, has_one and self.relaxing is None)()

    def _find_remedy(
        self, causes: tuple[Cause, ...], site: Site, wanted: Wanted, waits: bool = False
    ) -> Callable[[], Remedy | None]:
        """Returns a function that returns the remedy, after a search for the function's name."""
        called = CallDescription(
            None,
            self.relaxing,
            site,
            wanted.key.parameters,
            recursive=self.recursive,
            by_value=self.by_value,
            waits=waits,
        )
        if wanted.context is not None and wanted.context.strategy is not None:
            return functools.partial(remedy_for, replace(called, unnamed=_UNDER_A_STRATEGY), causes)
        find = functools.partial(_named_remedy, called, self.reference_expression, causes)
        if current_cell() is None:
            return find
        remedy = find()  # its code names modules as the running cell does
        return lambda: remedy

    @_harmless
    def record_compilation(self, trace: Trace, shapes: str, seconds: float) -> None:
        """Records that XLA has compiled a trace for these shapes."""
        if shapes in trace.compiled:
            return
        first = not trace.compiled
        trace.compiled.add(shapes)
        if first:
            return
        sentence = f"XLA compiled trace {trace.number} again, for {shapes}"
        cause = Cause("xla_compile", sentence, None, None, shapes)
        with self.lock:
            site = call_site()
            find_remedy = self._find_remedy((cause,), site, Wanted(trace.key, trace.context))
            retrace = self.next_retrace((cause,), (trace,), trace, find_remedy, site, seconds)
            self.note_retrace(retrace)
            self._warn(retrace)
            self.last = "retrace"
            self.changed = next(clock)

    def settle(self, trace: Trace) -> None:
        """Notes that the last retrace has been resolved by this trace."""
        with self.lock:
            self.last = "trace"
            self.last_trace = trace
            self.changed = next(clock)

    # Eviction ---------------------------------------------------------------------------

    def take_unusable(self, has_traced: bool) -> list[Trace]:
        """Returns the traces that no call can find any more; the caller evicts them.

        They were made for an object that was garbage-collected, or for code that was replaced.

        Args:
            has_traced: Whether a trace has just been made.
        """
        last = self.last_trace
        if not (self._unusable or has_traced):
            return []
        with self.lock:
            # By `pop`, because a weak reference may append on another thread at the same time.
            numbers = {self._unusable.pop() for _ in range(len(self._unusable))}
            if has_traced and last is not None:
                older = (each for each in self.traces.values() if each.state is not last.state)
                numbers |= {each.number for each in older if each.state.is_replaced(last.state)}
            return [trace for trace in self.traces.values() if trace.number in numbers]

    def has_other_objects(self) -> bool:
        """Returns whether an older trace was made for an object that the newest was not."""
        with self.lock:
            if len(self.traces) < 2:
                return False
            *older, newest = self.traces.values()
            now = {id(each) for each in newest.objects()}
            return any(id(each) not in now for trace in older for each in trace.objects())

    def forget(self, trace: Trace, concrete: Any) -> bool:
        """Removes an evicted trace from the record; returns whether it was there."""
        with self.lock:
            if self.traces.get(id(concrete)) is not trace:
                return False
            del self.traces[id(concrete)]
            self.changed = next(clock)
            return True
