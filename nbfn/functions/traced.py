"""`TracedFunction`: a ``tf.function`` that can be seen into.

RFC "Functions, not Sessions", sections "Functions" and "Trace Caches".
"""

from __future__ import annotations

import functools
import itertools
import time
import weakref
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.baked import baked, changed
from nbfn.functions.capture import Capture
from nbfn.functions.definitions import first_cause
from nbfn.functions.dispatch import Dispatch, Entry
from nbfn.functions.limit import EagerOnLimit, Limit
from nbfn.functions.live import enlist
from nbfn.functions.naming import roots
from nbfn.functions.placement import Run, run
from nbfn.functions.recorder import Recorder
from nbfn.functions.retrace import Cause, Retrace
from nbfn.functions.signature import Cover, cover
from nbfn.functions.text import count, parameters_text
from nbfn.functions.trace import Trace
from nbfn.site import Site, call_site

_ids = itertools.count(1)

_Base: Any = _tensorflow.Function
_OF_THIS_PROCESS = (
    *("recorder", "id", "site"),
    *("_dispatch", "_function_cache", "_observed", "_owner", "known_as"),
)


class TracedFunction(_Base):  # type: ignore[misc]
    """What `function` returns: a tf.function with sight.

    It is one for everything in TensorFlow that recognises one, and returns the same values,
    gradients, errors and side effects, except that ``f(1)``, ``f(1.0)`` and ``f(True)`` do not
    share a trace.

    Attributes:
        id: Unique in this process.
        recorder: What is known of its calls and traces.
        site: Where it was defined.
        options: The options it was made with.
        known_as: The name it is supposed to have, where no name is found that leads to it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.start_recording()

    def start_recording(self, limit: Limit | None = None) -> None:
        """Forgets what was recorded, and records what happens from now on."""
        self.id = f"function-{next(_ids)}"
        self.options: dict[str, Any] = {}
        self.site: Site = call_site()
        self._owner: weakref.ReferenceType[Any] | None = None
        self.recorder = Recorder(
            str(self.__dict__.get("_name", "function")),
            functools.partial(roots, self.python_function),
            limit or Limit(),
        )
        self.recorder.first_cause = first_cause(self.python_function)
        self._dispatch = Dispatch()
        self.known_as: str | None = self.name if self.name.isidentifier() else None
        self.recorder.spoken_name = self.spoken_name
        self.recorder.baked = functools.partial(baked, self.python_function)
        self.recorder.on_cache_change = self._dispatch.invalidate
        self._observed = _tensorflow.observe(self, self.recorder)
        _tensorflow.mute_tracing_warning(self)
        enlist(self)

    # Calls ------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function: as ``tf.function``'s, and recorded."""
        __tracebackhide__ = True
        known = self._dispatch.find(args, kwargs)
        if known is not None:
            return self._call_known(*known)
        generation = self._dispatch.generation
        result, trace = self._call_unknown(args, kwargs)
        if trace is not None:
            self._dispatch.remember(self, trace, generation, args, kwargs)
        return result

    def _call_known(self, entry: Entry, tensors: list[Any]) -> Any:
        """Makes a call whose trace was found by its cheap key."""
        __tracebackhide__ = True
        started = time.perf_counter()
        try:
            return _tensorflow.call_flat(entry.concrete, [tensors[i] for i in entry.order])
        finally:
            self.recorder.hit(entry.trace, time.perf_counter() - started)

    def _call_unknown(self, args: Any, kwargs: Any) -> tuple[Any, Trace | None]:
        """Makes a call as TensorFlow does; returns its value, and its trace if it was a hit."""
        __tracebackhide__ = True
        recorder = self.recorder
        fresh = _tensorflow.initialization(self) if not recorder.traces else None
        call = recorder.begin()
        try:
            if not self._observed:
                return self._call_unobserved(args, kwargs), None
            result = super().__call__(*args, **kwargs)
            return result, None if call.added else call.trace
        except EagerOnLimit:
            return self.python_function(*args, **kwargs), None
        finally:
            if fresh is not None and not recorder.traces:
                _tensorflow.restore_initialization(self, fresh)
            recorder.end(call)

    def _call_unobserved(self, args: Any, kwargs: Any) -> Any:
        """Tells the recorder by public API only: the tracing count, before and after."""
        before = self.experimental_get_tracing_count()
        result = super().__call__(*args, **kwargs)
        traced = self.experimental_get_tracing_count() > before
        concrete = super().get_concrete_function(*args, **kwargs)
        (self.recorder.added if traced else self.recorder.found)(concrete)
        return result

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """As ``tf.function``'s: the concrete function for these values or specifications."""
        call = self.recorder.begin(counts=False)
        try:
            return super().get_concrete_function(*args, **kwargs)
        finally:
            self.recorder.end(call)

    def __get__(self, instance: Any, owner: Any) -> Any:
        bound = super().__get__(instance, owner)
        if isinstance(bound, TracedFunction) and bound is not self and not bound.recorder.traces:
            bound._become_method(self, instance)
        return bound

    def _become_method(self, unbound: TracedFunction, instance: Any) -> None:
        self._owner = owner = weakref.ref(instance)
        recorder = self.recorder
        recorder.name = f"{type(instance).__name__}.{unbound.name}"
        recorder.limit = unbound.recorder.limit
        recorder.first_cause = Cause("first_trace", "first call on this instance")
        recorder.roots = lambda: roots(unbound.python_function, owner())
        self.site = unbound.site

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in (
            "recorder",
            "_dispatch",
            "_function_cache",
            "_observed",
            "_owner",
            "id",
            "site",
        ):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**_new_cache(), **state})
        self.start_recording()

    @property
    def owner(self) -> Any | None:
        """The instance whose method it is; None if it is no method, or the instance is gone."""
        return self._owner() if self._owner is not None else None

    # Sight ------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The name to show: the function's, with its class if it is a method."""
        return self.recorder.name

    def changed_globals(self) -> list[str]:
        """Globals that have changed since the traces in the cache read them."""
        now = baked(self.python_function)
        names = [name for trace in self.traces for name in changed(trace.baked, now)]
        return list(dict.fromkeys(names))

    def spoken_name(self) -> str | None:
        """The expression by which code can refer to it, such as ``train_step`` or ``model.step``.

        Returns:
            None if no name leads to it.
        """
        owner = self.owner
        for name, value in self.recorder.roots():
            if value is self:
                return name
            if owner is not None and value is owner and name != "self":
                return f"{name}.{self.name}"
        return None if owner is not None else self.known_as

    @property
    def parameters(self) -> str:
        """Its parameters as text, such as ``(images, labels, training=True)``."""
        return parameters_text(self.python_function)

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The traces in the cache, oldest first."""
        with self.recorder.lock:
            return tuple(self.recorder.traces.values())

    @property
    def retraces(self) -> tuple[Retrace, ...]:
        """Every miss after the first trace, with its causes, newest last."""
        with self.recorder.lock:
            return tuple(self.recorder.retraces)

    @property
    def calls(self) -> int:
        """Calls so far. A call that failed while it was traced does not count."""
        return self.recorder.calls

    @property
    def hits(self) -> int:
        """Calls that were served by a trace that was there."""
        return self.recorder.hits

    @property
    def last_trace(self) -> Trace | None:
        """The trace that served the last call; None before the first."""
        return self.recorder.last_trace

    def keep_python_results(self, results: Any) -> None:
        """Keeps Python values with the trace that is being made, as its ``python_results``."""
        self.recorder.keep_python_results(results)

    @property
    def captures(self) -> tuple[Capture, ...]:
        """What the traces captured, each thing once, under the user's names."""
        found: dict[str, Capture] = {}
        for trace in self.traces:
            for capture in trace.captures:
                found.setdefault(capture.id, capture)
        return tuple(found.values())

    # Runs -------------------------------------------------------------------------------

    def run(self, *args: Any, **kwargs: Any) -> Run:
        """Makes a call and records on which device each operation ran.

        RFC "Functions, not Sessions", ``RunOptions`` and ``RunMetadata``. The call traces if it
        must; it is a real call, but it is not counted.

        Returns:
            The call's value, ``RunMetadata``, and placement.
        """
        concrete = self.get_concrete_function(*args, **kwargs)
        return run(concrete, args, kwargs)

    # Signatures and eviction -------------------------------------------------------------

    def suggest(self) -> Cover:
        """The least general signature that covers the newest trace and its relatives.

        Returns:
            The signature; ``str`` of it can be read and pasted.

        Raises:
            RelaxError: If there is no trace yet.
        """
        usable = [t for t in self.traces if t.cause.code != "variable_creation"]
        signatures = [trace.concrete_function.structured_input_signature for trace in usable]
        return cover(signatures, [trace.number for trace in usable])

    def relax(self) -> Trace:
        """Puts `suggest` to use: one trace instead of those that it covers.

        The new trace is made at once, and serves every size that differed. The covered traces are
        evicted, and so is the one that created variables, which serves no call. If nothing differs,
        nothing changes.

        Returns:
            The trace that covers the others.

        Raises:
            RelaxError: If there is no trace yet.
        """
        general = self.suggest()
        covered = [trace for trace in self.traces if trace.number in general.numbers]
        if len(covered) == 1:
            return covered[0]
        numbers = " and ".join(map(str, general.numbers))
        reason = Cause("relaxed", f"relaxed, in place of trace {numbers}")
        with self._requesting(reason):
            concrete = super().get_concrete_function(*general.args, **general.kwargs)
        creation = [trace for trace in self.traces if trace.cause.code == "variable_creation"]
        for trace in [*creation, *covered]:
            if trace._concrete() is not concrete:
                self.evict(trace)
        relaxed = self.recorder.traces[id(concrete)]
        self.recorder.settle(relaxed)
        return relaxed

    @contextmanager
    def _requesting(self, reason: Cause) -> Any:
        call = self.recorder.begin(counts=False, reason=reason)
        try:
            yield call
        finally:
            self.recorder.end(call)

    def evict(self, trace: Trace) -> None:
        """Takes a trace out of the cache; a call that needs it traces again.

        Raises:
            ValueError: If the trace is none of this function's.
        """
        concrete = trace._concrete()
        if concrete is None or self.recorder.traces.get(id(concrete)) is not trace:
            raise ValueError(f"trace {trace.number} is not in the cache of `{self.label}`")
        _tensorflow.discard(self, concrete)
        self.recorder.forget(concrete)

    def __repr__(self) -> str:
        recorder = self.recorder
        counts = (
            (recorder.calls, "call"),
            (recorder.hits, "hit"),
            (len(recorder.traces), "trace"),
            (recorder.retrace_count, "retrace"),
        )
        text = ", ".join(count(number, noun) for number, noun in counts)
        return f"<nbfn.function {self.label}{self.parameters}: {text}>"


def _new_cache() -> dict[str, Any]:
    cache = getattr(tf.function(lambda: None), "_function_cache", None)
    return {} if cache is None else {"_function_cache": cache}
