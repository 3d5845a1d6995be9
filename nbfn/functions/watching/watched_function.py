"""The observer of one tf.function that nbfn did not make."""

from __future__ import annotations

import functools
import inspect
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import plain_function
from nbfn.functions.calls.call import Call, this_thread
from nbfn.functions.calls.placement import Run, run
from nbfn.functions.calls.record import Record, RecordView, next_id
from nbfn.functions.checking.check import Check, check
from nbfn.functions.guards import Guards
from nbfn.functions.inside.numerics import Numerics, numerics
from nbfn.functions.inside.values import Values, values
from nbfn.functions.recording.explanation import Explanation
from nbfn.functions.recording.staleness import Staleness
from nbfn.functions.retraces.explain import explain
from nbfn.functions.retraces.remedy import CallDescription, remedy_for
from nbfn.functions.retraces.trace_causes import FIRST, causes_of
from nbfn.functions.signatures.cover import Cover, cover
from nbfn.functions.traced.function import copy_of
from nbfn.functions.traces.cause import Cause, Remedy, Wanted
from nbfn.functions.traces.context import current_context
from nbfn.functions.traces.key import Key, key_of
from nbfn.functions.traces.sample import sample_of
from nbfn.functions.traces.trace import Trace
from nbfn.functions.traces.variable_names import roots
from nbfn.site import Site, call_site, definition_site
from nbfn.state.values.introspection import reference_to
from nbfn.text import count, parameters_text

_EARLIER = Cause("unknown", "traced before nbfn watched it")
_STEPS = frozenset({"train_step", "test_step", "predict_step", "compute_loss", "compute_metrics"})
"""Methods of a user's Keras model that Keras's own functions call (Keras 3.15)."""

_WOULD_CHANGE = frozenset({"relax", "evict", "free", "renew", "stance"})
_UNNAMED = (
    "define it with @nbfn.function and call relax(); for sizes, "
    "@tf.function(reduce_retracing=True) does it too"
)
_OF_KERAS = frozenset({"structure", "rank"})
"""Causes that Keras decides in functions that it makes; it makes them for open sizes."""
_COMPILE = "Make it a tf.Variable, or call compile(…) again, after which Keras traces again"
_NO_RETRACE = (
    "Pass it as an argument, make it a tf.Variable, or use @nbfn.function, which traces again"
)


class WatchedFunction(RecordView):
    """The observer that `watch` returns for a tf.function; has a `TracedFunction`'s properties.

    It does not change calls, and holds the function weakly until `keep`. Traces that already
    existed are listed with an unknown cause.

    Attributes:
        id: Unique in this process.
        site: Where the function was defined, or where it was first seen.
        counts_hits: Whether all calls are counted; if not, only calls that traced are.
    """

    def __init__(self, function: Any, name: str | None = None, owner: Any = None) -> None:
        owner = _tensorflow.method_owner(function) if owner is None else owner
        self.id = next_id("observed")
        self.site = _site(function.python_function)
        self.counts_hits = False
        self.parameters = parameters_text(function.python_function)
        self._record = Record(name or _label(function, owner))
        self._record.function_id = self.id
        self._owner = reference_to(owner) or (lambda: None)
        called = _STEPS if hasattr(owner, "make_train_function") else frozenset()
        python_function = plain_function(function.python_function)
        # Only "warn": a watched function traces when TensorFlow says so.
        self._guards = Guards(python_function, self._owner, "warn", called)
        self._record.staleness = Staleness(self._guards)
        self._function = weakref.ref(function)
        self._kept: Any = None
        self._pending: tuple[Trace, float] | None = None
        # Several threads may trace at the same time, and `on_added` has to find its own miss.
        self._running = threading.local()
        self._take_earlier()

    @property
    def recorder(self) -> Record:  # type: ignore[override]
        """The record of its calls and traces."""
        self._settle()
        return self._record

    @property
    def owner(self) -> Any | None:
        """The instance whose method it is; None for a function or a garbage-collected instance."""
        return self._owner()

    @property
    def function(self) -> Any | None:
        """The tf.function; None if it was garbage-collected."""
        return self._function()

    @property
    def python_function(self) -> Any | None:
        """Its Python function; None if it was garbage-collected."""
        function = self._function()
        return None if function is None else function.python_function

    def keep(self) -> None:
        """Keeps the function alive from now on, because a user of the observer may call it."""
        self._kept = self._function()

    def count_hits(self) -> None:
        """Counts every call from now on."""
        function = self._function()
        if function is not None and not self.counts_hits:
            self.counts_hits = _tensorflow.watch_cache(function, self)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Reports which trace would serve a call, or why none would, without running anything.

        Raises:
            ReferenceError: If the function was garbage-collected.
            TypeError: If the arguments do not fit the function.
        """
        function = self._alive()
        self.count_hits()
        traces = self.traces
        looked_up = _tensorflow.look_up(function, args, kwargs)
        if looked_up is None or not traces:
            inspect.signature(function.python_function).bind(*args, **kwargs)
            return Explanation(None, (FIRST,))
        if looked_up.concrete is not None:
            self._take_earlier()
            return Explanation(self._record.traces.get(id(looked_up.concrete)))
        wanted = self._wanted(looked_up.function_type)
        causes, nearest = explain(wanted, traces)
        return Explanation(None, causes, nearest, self._remedy(call_site(), wanted.key, causes)())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function. Raises ReferenceError if it was garbage-collected."""
        return self._alive()(*args, **kwargs)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function's own. Raises ReferenceError if it was garbage-collected."""
        return self._alive().get_concrete_function(*args, **kwargs)

    def graph_function(self, *args: Any, **kwargs: Any) -> Trace:
        """Returns the trace for values or specifications; see `TracedFunction.graph_function`."""
        concrete = self.get_concrete_function(*args, **kwargs)
        self._take_earlier()
        return self._record.traces[id(concrete)]

    def run(self, *args: Any, metadata: bool = False, **kwargs: Any) -> Run:
        """Makes a call that is not counted, and records where operations ran.

        With ``metadata=True``, also how long each took; see `TracedFunction.run`.
        """
        function = self._alive()
        concrete = function.get_concrete_function(*args, **kwargs)
        args, kwargs = _tensorflow.canonical(function, args, kwargs)
        watched = run(concrete, args, kwargs, timed=metadata)
        self.recorder.placement = watched.placement
        return watched

    def check(self, *args: Any, **kwargs: Any) -> Check:
        """Compares an eager run with a traced one; see `TracedFunction.check`."""
        again, owner = copy_of(self._alive())
        return check(again, (*owner, *args), kwargs)

    def numerics(self, *args: Any, **kwargs: Any) -> Numerics:
        """Finds where a call gives NaN or infinity; see `TracedFunction.numerics`."""
        again, owner = copy_of(self._alive())
        return replace(numerics(again, (*owner, *args), kwargs), function=self.label)

    def values(
        self, *args: Any, names: Sequence[str] = (), line: int | Sequence[int] = (), **kwargs: Any
    ) -> Values:
        """Records intermediate values of a call; see `TracedFunction.values`."""
        again, owner = copy_of(self._alive())
        found = values(again, (*owner, *args), kwargs, names, line)
        self.recorder.values = found.texts
        return found

    def suggest(self) -> Cover:
        """Returns the least general signature that covers the newest trace and similar ones.

        Raises:
            RelaxError: If there is no trace yet.
        """
        return cover(self.traces)

    def __getattr__(self, name: str) -> Any:
        if name in _WOULD_CHANGE:
            raise AttributeError(
                f"`{self.label}` is only watched, and {name} would change it; "
                "define it with @nbfn.function for that"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _alive(self) -> Any:
        function = self._function()
        if function is None:
            raise ReferenceError(
                f"`{self.label}` no longer exists; nothing but nbfn referred to it"
            )
        return function

    # Called by the trace cache --------------------------------------------------------------

    def on_hit(self, concrete: Any, call: bool) -> None:
        """Notes that a look-up found this trace."""
        if not call:
            return
        if id(concrete) not in self._record.traces:
            self._take_earlier()
        _count_outermost()
        trace = self._record.traces.get(id(concrete))
        self._record.add_call(trace, 0.0, hit=True)
        if trace is not None and trace.state.fingerprints:
            advice = _COMPILE if self._is_of_keras else _NO_RETRACE
            self._record.staleness.report(self.label, trace, None, advice)

    def on_miss(self, function_type: Any, call: bool) -> None:
        """Notes that a look-up found nothing."""
        stack = self._running.__dict__.setdefault("stack", [])
        if not tf.inside_function():
            stack.clear()  # a trace that failed has left its entry
        wanted = self._wanted(function_type)
        stack.append(Call(self._record, call, wanted=wanted, started=time.perf_counter()))

    def on_added(self, concrete: Any) -> None:
        """Notes that a new trace is in the cache."""
        stack = self._running.__dict__.setdefault("stack", [])
        if stack:
            call = stack.pop()
            self._add(concrete, call, time.perf_counter() - call.started)
        else:
            self.traced(concrete)

    def traced(self, concrete: Any) -> None:
        """Records a trace of a call whose beginning was not observed."""
        self._settle()
        self._take_earlier(but=concrete)
        trace = self._add(concrete, Call(self._record), 0.0)
        before = _tensorflow.building_seconds()
        if before is not None and not tf.inside_function():
            self._pending = trace, before

    def _add(self, concrete: Any, call: Call, seconds: float) -> Trace:
        function = self._function()
        key = key_of(concrete.function_type)
        record = self._record
        record.prune()
        with record.lock:
            others = list(record.traces.values())
            if self._creates_variables(function, others, key):
                call.added, call.trace = 1, others[0]
                record.calls -= call.counts
            call.wanted = call.wanted or self._wanted(concrete.function_type)
            self._guards.after_trace(
                call.wanted.state,
                (),
                _tensorflow.by_reference(concrete),
                _tensorflow.graph_time_functions(concrete.graph),
            )
            causes, nearest = causes_of(call, key, others, FIRST)
            trace = record.add_trace(concrete, key, causes[0], call_site(), seconds, self._roots())
            trace.context, trace.state = call.wanted.context, call.wanted.state
            arguments = _tensorflow.call_in_progress(function)
            if arguments is not None:
                trace.sample = sample_of(function, concrete, *arguments)
            if nearest:
                record.add_retrace(trace, causes, nearest, self._remedy(trace.site, key, causes))
            this_thread.calls.spent.traces += 1
            if call.counts:
                if not call.added:
                    _count_outermost()
                record.add_call(trace, 0.0, hit=False)
            return trace

    def _wanted(self, function_type: Any) -> Wanted:
        """Returns what a call needs of a trace, as far as TensorFlow keys it, and the state."""
        # TensorFlow's key has no device: a watched function keeps TensorFlow's behaviour.
        context = current_context(0)._replace(device="")
        return Wanted(key_of(function_type), context, self._guards.guarded())

    def _remedy(self, site: Site, key: Key, causes: Sequence[Cause]) -> Callable[[], Remedy | None]:
        if self._is_of_keras:
            causes = [each for each in causes if each.code not in _OF_KERAS]
        called = CallDescription(None, None, site, key.parameters, _UNNAMED)
        return functools.partial(remedy_for, called, causes)

    @property
    def _is_of_keras(self) -> bool:
        """Returns whether Keras made it, for ``fit``, ``evaluate`` or ``predict``."""
        return self._guards.named == _STEPS

    def _creates_variables(self, function: Any, others: Sequence[Trace], key: Any) -> bool:
        """Returns whether this is the second trace of a first call that created variables."""
        return (
            len(others) == 1
            and others[0].cause.code == "first_trace"
            and _tensorflow.has_created_variables(function)
            and str(others[0].key) == str(key)  # by text: leaves of tensors have no equality
        )

    def _take_earlier(self, but: Any = None) -> None:
        """Adds traces that were made before, or unobserved."""
        function = self._function()
        for concrete in _tensorflow.concrete_functions(function) if function is not None else ():
            if concrete is not but and id(concrete) not in self._record.traces:
                key = key_of(concrete.function_type)
                self._record.add_trace(concrete, key, _EARLIER, self.site, 0.0, self._roots())

    def _settle(self) -> None:
        """Adds the cost of the last trace, which is known when the trace has ended."""
        pending, now = self._pending, _tensorflow.building_seconds()
        if pending is None or now is None or now <= pending[1]:
            return
        self._pending = None
        self._record.add_trace_seconds(pending[0], now - pending[1])

    def _roots(self) -> Iterator[tuple[str, Any]]:
        owner = self._owner()
        name = getattr(owner, "name", None)
        if isinstance(name, str) and type(owner).__module__.startswith("keras."):
            yield name, owner
        python_function = self.python_function
        if python_function is not None:
            yield from roots(plain_function(python_function), owner)

    def __repr__(self) -> str:
        record = self.recorder
        numbers = [(len(self.traces), "trace"), (record.retrace_count, "retrace")]
        if self.counts_hits:
            numbers = [(record.calls, "call"), (record.hits, "hit"), *numbers]
        text = ", ".join(count(number, noun) for number, noun in numbers)
        return f"<nbfn.watch {self.label}{self.parameters}: {text}>"


def _label(function: Any, owner: Any) -> str:
    name = str(getattr(function, "name", None) or "function")
    return name if owner is None else f"{type(owner).__name__}.{name}"


def _site(python_function: Any) -> Site:
    """Returns where a function was defined or, in a notebook, first seen."""
    code = getattr(plain_function(python_function), "__code__", None)
    here = definition_site(code)
    if code is None or (here.cell is not None and here.file != code.co_filename):
        return here
    return Site(code.co_filename, code.co_firstlineno, here.cell)


def _count_outermost() -> None:
    """Counts a call that no counted call contains; its duration is not known."""
    calls = this_thread.calls
    if len(calls) == calls.eager_depth and not tf.inside_function():
        calls.spent.calls += 1
