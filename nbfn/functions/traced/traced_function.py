"""`TracedFunction`: a ``tf.function`` whose calls and traces are recorded.

RFC "Functions, not Sessions", sections "Functions" and "Trace Caches".
"""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import MethodType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import PLAIN, is_installed, plain_function
from nbfn.functions.calls.call import Call, this_thread
from nbfn.functions.calls.dispatch import Dispatch, Entry
from nbfn.functions.calls.interruption import add_note
from nbfn.functions.calls.placement import Run, run
from nbfn.functions.calls.record import RecordView, next_id
from nbfn.functions.calls.stack_room import with_room
from nbfn.functions.checking.check import Check, check
from nbfn.functions.guards import Guards
from nbfn.functions.inside.numerics import Numerics, numerics
from nbfn.functions.inside.stopping import checked_call
from nbfn.functions.inside.values import Values, values
from nbfn.functions.recording import eviction
from nbfn.functions.recording.eviction import Freed
from nbfn.functions.recording.explanation import Explanation, explanation
from nbfn.functions.recording.recorder import Recorder
from nbfn.functions.recording.refusal import RunEagerly
from nbfn.functions.recording.registry import register
from nbfn.functions.recording.stance import Stance, checked, stance_of
from nbfn.functions.retraces.call_text import rewritten_call
from nbfn.functions.retraces.definitions import record_definition
from nbfn.functions.signatures import relaxing
from nbfn.functions.signatures.cover import Cover
from nbfn.functions.signatures.misfit import clearer_error
from nbfn.functions.signatures.pattern import (
    Pattern,
    SignatureError,
    long_form,
    match,
    pattern_of_call,
)
from nbfn.functions.traced.early_warnings import (
    warn_before_first_trace,
    warn_of_first_hit,
    warn_of_first_trace,
)
from nbfn.functions.traced.local_state import with_local_variables
from nbfn.functions.traced.options import Options
from nbfn.functions.traced.state_functions import StateFunctions
from nbfn.functions.traces.cause import Cause
from nbfn.functions.traces.created_variables import (
    Creations,
    DeadStateError,
    LateVariableError,
)
from nbfn.functions.traces.key import variables_in
from nbfn.functions.traces.sample import sample_of
from nbfn.functions.traces.trace import Trace
from nbfn.functions.traces.variable_names import notebook_namespace, public_names, roots
from nbfn.serial import ByIdentity
from nbfn.site import Site, call_site, definition_site
from nbfn.text import count, parameters_text, shorten

_Base: Any = _tensorflow.ScopedFunction
_binding = threading.RLock()
"""Held while a method is bound to an instance, which several threads may do at once."""

_NOT_PICKLED = (
    *("recorder", "id", "site", "relaxed", "converts"),
    *("_dispatch", "_function_cache", "_function_captures", "_observed", "_owner", "known_as"),
    "_descriptor_cache",
    *("_creations", "checked_effects", "pending_warning", "_definition", "_clones", "_states"),
)
"""Attributes that a copy by ``pickle`` or ``copy`` does not have."""
_SHARED_BY_CLONES = (
    *("recorder", "id", "site", "options", "relaxed", "converts", "known_as", "checked_effects"),
    *("_owner", "_settings", "_pattern", "_creations", "_definition"),
)
"""Attributes that all clones, and the tf.functions of all states, have in common."""


class TracedFunction(RecordView, _Base):  # type: ignore[misc]
    """A tf.function that counts its calls and explains its traces; made by `function`.

    TensorFlow treats it as a tf.function, and it returns the same values, gradients, errors and
    side effects, except that ``f(1)``, ``f(1.0)`` and ``f(True)`` do not share a trace, and that a
    call traces again when what its trace baked in has changed.

    Attributes:
        id: Unique in this process.
        recorder: The record of its calls and traces.
        site: Where it was defined.
        options: The options it was made with.
        relaxed: Signatures that were relaxed, the newest last.
        converts: Those of them that convert Python numbers of a call to tensors.
        checked_effects: Whether its side effects have been looked for.
        pending_warning: The warning about its prints, to be given with the first hit.
        known_as: Its expected name, used if no name is found that refers to it.
    """

    pending_warning: str | None = None
    recorder: Recorder  # type: ignore[assignment]
    _owner: weakref.ReferenceType[Any] | None = None

    def start_recording(self, options: Options | None = None) -> None:
        """Starts a new record."""
        options = options or Options()
        python = self.python_function
        # `typing.get_type_hints` would otherwise find the annotations of this class.
        self.__annotations__ = getattr(python, "__annotations__", {})
        self.id = next_id("function")
        self.options: dict[str, Any] = {}
        code = getattr(plain_function(python), "__code__", None)
        self.site: Site = definition_site(code)
        self.relaxed: tuple[Cover, ...] = ()
        self.converts: tuple[Cover, ...] = ()
        self._owner = None
        self._settings = options
        # The function holds the recorder: with a strong reference, it would be in a cycle.
        own = weakref.ref(self)
        self.recorder = Recorder(
            str(self.__dict__.get("_name", "function")),
            functools.partial(roots, python),
            options.limit(),
            Guards(
                python,
                lambda: None if (me := own()) is None else me.owner,
                options.on_stale,
            ),
        )
        self.recorder.function_id = self.id
        self.recorder.first_cause, self._definition = record_definition(python)
        self.checked_effects = False
        self.pending_warning = None
        self._dispatch = Dispatch()
        self._creations = Creations()
        self._clones: list[weakref.ReferenceType[TracedFunction]] = []
        self._states = StateFunctions()
        is_bound = isinstance(python, MethodType)
        is_named = hasattr(plain_function(python), "__name__")  # a partial or an object is not
        is_known = is_named and self.name.isidentifier() and not is_bound
        self.known_as: str | None = self.name if is_known else None
        self.recorder.reference_expression = lambda: (
            None if (me := own()) is None else me.reference_expression()
        )
        self._declare(options.pattern)
        self.recorder.on_cache_change = self._dispatch.invalidate
        self._observed = _tensorflow.observe(self, self.recorder)
        self._descriptor_cache: ByIdentity[Any] = ByIdentity()
        _tensorflow.mute_tracing_warning(self)
        register(self)

    # Properties -------------------------------------------------------------------------

    @property
    def owner(self) -> Any | None:
        """The instance whose method it is; None for a function or a garbage-collected instance."""
        return self._owner() if self._owner is not None else None

    @property
    def parameters(self) -> str:
        """Its parameters as text, such as ``(images, labels, training=True)``."""
        return parameters_text(self.python_function)

    def reference_expression(self) -> str | None:
        """Returns the expression that refers to it, such as ``train_step`` or ``model.step``.

        Returns:
            None if no name refers to it.
        """
        owner = self.owner
        python = plain_function(self.python_function)
        variables = getattr(python, "__globals__", {})
        if self.known_as is not None and variables.get(self.known_as) is self:
            return self.known_as
        is_users = not is_installed(getattr(getattr(python, "__code__", None), "co_filename", ""))
        for name, value in self._named(is_users):
            if value is self:
                return name
            if owner is not None and value is owner and name != "self":
                return f"{name}.{self.name}"
        return self.known_as if owner is None and is_users else None

    def _named(self, is_users: bool) -> Iterator[tuple[str, Any]]:
        """Yields what user code can name; a library's own names are unknown to it."""
        if is_users:
            yield from self.recorder.roots()
        yield from public_names(notebook_namespace())

    def stale_traces(self) -> frozenset[int]:
        """Returns the numbers of the traces that no call finds in the current state."""
        found, recorder = super().stale_traces(), self.recorder
        if recorder.guards.on_stale != "retrace":
            return found
        return found | {
            each.number for each in self.traces if recorder.staleness.changes_since(each)
        }

    def changed_globals(self) -> list[str]:
        """Returns the names of what has changed since it was traced for some call.

        It leaves out what a newer trace for the same arguments has already read.
        """
        changes = {
            each: self.recorder.staleness.changes_since(each)
            for each in self.traces
            if each.serves_calls
        }
        current = [each for each, causes in changes.items() if not causes]
        found = [
            cause.path
            for each, causes in changes.items()
            if not any(each.differs_in_state_alone(now.key, now.context) for now in current)
            for cause in causes
        ]
        return list(dict.fromkeys(path for path in found if path is not None))

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

    # Calls ------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function as ``tf.function`` does, and records the call."""
        __tracebackhide__ = True
        recorder = self.recorder
        stance = stance_of(self.id, recorder.own_stance)
        if stance != "default":
            if stance == "eager":
                return self._run_eagerly(args, kwargs)
            if stance == "check_numerics":
                return checked_call(self, args, kwargs)
        if self.converts:
            args, kwargs = self._converted(args, kwargs)
        state = recorder.guards.state
        found = self._dispatch.find(args, kwargs, state, recorder.guards)
        if found is not None:
            return self._call_fast(*found)
        # Read before the call: a change of the cache during it puts another dict in place of this
        # one, and the entry below is lost, as it should be.
        entries, started = self._dispatch.entries, time.perf_counter()
        result, call = self._call_slow(args, kwargs, state)
        if call.trace is not None:
            if not call.added:
                self._dispatch.remember(self, call.trace, entries, args, kwargs, state)
            if self._jit_compile:
                self._record_compilation(call.trace, args, kwargs, time.perf_counter() - started)
        return result

    def _call_fast(self, entry: Entry, tensors: list[Any]) -> Any:
        """Makes a call whose trace dispatch has found."""
        __tracebackhide__ = True
        calls = this_thread.calls
        depth, started = len(calls), time.perf_counter()
        try:
            calls.append(self.recorder)
            return entry.call([tensors[i] for i in entry.order])
        except KeyboardInterrupt as interrupt:
            if not depth:
                add_note(interrupt, self.recorder.name, is_traced=False)
            raise
        finally:
            del calls[depth:]
            seconds = time.perf_counter() - started
            if depth == calls.eager_depth:
                spent = calls.spent
                spent.running += seconds
                spent.calls += 1
            self.recorder.add_call(entry.trace, seconds, hit=True)

    def _call_slow(self, args: Any, kwargs: Any, state: int) -> tuple[Any, Call]:
        """Makes a call as TensorFlow does; returns its value and its record."""
        __tracebackhide__ = True
        if self._owner is not None and self._owner() is None:
            raise DeadStateError(
                f"the object of `{self.label}` no longer exists: a traced method does not keep it "
                "alive. Keep it by a name, and call the method of it"
            )
        host = self._host_for(args, kwargs, state)
        variables = self._variables_in(args, kwargs)
        call = Call(self.recorder, variables=variables)
        work = functools.partial(self._call_host, host, call, args, kwargs)
        try:
            return self._while_open(call, host, work), call
        except RunEagerly:
            pass  # it runs below: here `RunEagerly` would be chained to the user's errors
        except (TypeError, ValueError) as error:
            clearer = self._clearer(error, call, args, kwargs)
            if clearer is None:
                raise
            raise clearer from None
        finally:
            self._after_call(call, args, kwargs)
        return self._run_eagerly(args, kwargs), call

    def _while_open(self, call: Call, host: Any, work: Callable[[], Any]) -> Any:
        """Does the work of a call, which is listed meanwhile as open on this thread.

        A first call that makes no trace does not count as the tf.function's first.
        """
        __tracebackhide__ = True
        calls = this_thread.calls
        depth, locked = len(calls), _tensorflow.holds_lock(host)
        fresh = _tensorflow.initialization(host)
        try:
            self.recorder.begin(call)
            with call.interruption:
                return work()
        except KeyboardInterrupt as interrupt:
            if call.is_tracing:  # cache and record may disagree
                eviction.drop_all(self)
                self._states.drop_unused(self)
            if not depth:
                graph = call.graph and call.graph()
                add_note(interrupt, self.recorder.name, call.is_tracing, call.missed_at, graph)
            raise
        finally:
            # Not a context manager: an interrupt while it is left would keep the call open.
            del calls[depth:]
            if fresh is not None and not call.added:
                _tensorflow.restore_initialization(host, fresh)
            if not locked:  # TensorFlow does not release its lock if the arguments do not fit
                _tensorflow.release_lock(host)
            self.recorder.end(call)
            if call.added and call.trace is not None and call.trace.context is not None:
                self._states.keep(self, call.trace.context.state, host)

    def _call_host(self, host: Any, call: Call, args: Any, kwargs: Any) -> Any:
        """Calls the tf.function of the current state."""
        __tracebackhide__ = True
        if not self._observed:
            return self._call_unobserved(args, kwargs)
        if self._pattern is not None:
            result = self._call_matched(host, args, kwargs)
        else:
            if self.relaxed:
                self._trace_relaxed(host, args, kwargs)
            result = _Base.__call__(host, *args, **kwargs)
        # Only for the call that traced: copying inputs at each call would cost too much.
        if call.trace is not None and not call.trace.hits:
            call.trace.sample = sample_of(self, call.trace.live_concrete(), args, kwargs)
        return result

    def _clearer(self, error: Exception, call: Call, args: Any, kwargs: Any) -> Exception | None:
        """Returns an error that says more than TensorFlow's; None if there is none."""
        if isinstance(error, TypeError):
            looked_up = call.trace is not None or call.missed_at  # then the arguments did fit
            return None if looked_up else clearer_error(self, args, kwargs, error)
        refusal, self._creations.refusal = self._creations.refusal, None
        # "Creating variables on a non-first call to a function decorated with tf.function"
        # (TensorFlow 2.21), raised after a later trace if the first has created none.
        is_late = refusal is not None and "non-first call" in str(error)
        return LateVariableError(refusal) if is_late else None

    def _after_call(self, call: Call, args: Any, kwargs: Any) -> None:
        """Gives warnings that are due; evicts unusable traces and those beyond the limit.

        The first call may also determine the signature.
        """
        if call.added and self.recorder.made == call.added and call.trace is not None:
            warn_of_first_trace(self, self._definition, call.trace)
        elif call.trace is not None:
            if self._definition is not None:
                self._definition.reused = True
            if not call.added:
                warn_of_first_hit(self)
        if call.trace is not None:  # else the next call is compared with these traces
            self.evict_unusable(bool(call.added))
        self._evict_excess(call)
        infers = self._settings.infer_signature_from_first_call and self._pattern is None
        if infers and call.trace is not None:
            self._declare(pattern_of_call(self, args, kwargs))

    def evict_unusable(self, has_traced: bool) -> None:
        """Evicts the traces that no call can find any more, and removes their retraces.

        Args:
            has_traced: Whether a trace has just been made.
        """
        if has_traced and not tf.inside_function() and self.recorder.has_other_objects():
            eviction.collect_garbage()
        unusable = self.recorder.take_unusable(has_traced)
        for trace in unusable:
            eviction.evict(self, trace)
        if unusable:
            self.recorder.drop_retraces(unusable)
            self._states.drop_unused(self)

    def _evict_excess(self, call: Call) -> None:
        excess = self.recorder.limit.excess(len(self.recorder.traces)) if call.added else 0
        if excess:
            eviction.evict_least_recently_used(self, excess)
            self._states.drop_unused(self)

    def _host_for(self, args: Any, kwargs: Any, state: int) -> Any:
        """Returns the tf.function that traces and serves a call in the current Python state.

        `state` is that of the function alone; objects among the arguments add theirs.
        """
        guards = self.recorder.guards
        if guards.on_stale != "retrace" or not self._observed:
            return self
        if any(map(_is_object, args)) or any(map(_is_object, kwargs.values())):
            try:
                looked_up = _tensorflow.look_up(self, args, kwargs)
            except TypeError:  # the call itself raises
                looked_up = None
            if looked_up is not None:
                objects = tuple(_tensorflow.objects(looked_up.function_type))
                state = guards.guarded(objects).number
        return self._states.find(self, state)

    def _variables_in(self, args: Any, kwargs: Any) -> Sequence[tuple[str, tf.Variable]]:
        """Returns the variables among the arguments of a call, with their paths."""
        if not any(variables_in((args, kwargs), "")):
            return ()
        try:
            args, kwargs = _tensorflow.canonical(self, args, kwargs)
        except TypeError:  # the call itself raises
            return ()
        names = itertools.chain(_tensorflow.parameter_names(self), itertools.repeat("*"))
        return [
            found
            for name, value in [*zip(names, args, strict=False), *kwargs.items()]
            for found in variables_in(value, name)
        ]

    def copy_for_state(self) -> TracedFunction:
        """Returns an untraced tf.function with the same cache, record and lock."""
        host = _tensorflow.untraced_copy(self, TracedFunction)
        self._share_with(host)
        host.__dict__.update(_function_cache=self._function_cache, _observed=True)
        host._descriptor_cache = ByIdentity()
        # One lock for the traces of all states: while one thread builds a model in its first
        # trace, another would find a new state, and capture variables that have no value yet.
        _tensorflow.share_lock(self, host)
        return host  # type: ignore[no-any-return]

    def _share_with(self, other: Any) -> None:
        """Counts the calls of another tf.function as calls of this one."""
        shared = {k: v for k, v in vars(self).items() if k in _SHARED_BY_CLONES}
        other.__dict__.update(shared, _dispatch=Dispatch(), _clones=[], _states=StateFunctions())

    def _declare(self, pattern: Pattern | None) -> None:
        """Has calls match a pattern from now on."""
        self._pattern = pattern
        if pattern is not None:
            self.recorder.by_value = pattern.by_value(self)

    def _call_matched(self, host: Any, args: Any, kwargs: Any) -> Any:
        """Makes a call whose arguments must match a pattern."""
        __tracebackhide__ = True
        assert self._pattern is not None
        specs, values, kwargs = self._pattern.match(self, args, kwargs)
        concrete = _Base.get_concrete_function(host, *specs, **kwargs)
        return concrete(*values, **kwargs)

    def _trace_relaxed(self, host: Any, args: Any, kwargs: Any) -> None:
        """Traces for a relaxed signature if a call that it serves would trace.

        This applies in each Python state. The call then finds the trace.
        """
        try:
            looked_up = self.look_up(args, kwargs)
            args, kwargs = _tensorflow.canonical(self, args, kwargs)
        except TypeError:  # the call itself raises
            return
        if looked_up is not None and looked_up.concrete is not None:
            return
        general = next((each for each in reversed(self.relaxed) if each.serves(args, kwargs)), None)
        if general is not None:
            specs, named = general.arguments
            concrete = _Base.get_concrete_function(host, *specs, **named)
            general.mark(self.recorder.traces[id(concrete)])

    def _call_unobserved(self, args: Any, kwargs: Any) -> Any:
        """Records a call with public API only: the tracing count before and after."""
        before = self.experimental_get_tracing_count()
        result = super().__call__(*args, **kwargs)
        traced = self.experimental_get_tracing_count() > before
        concrete = super().get_concrete_function(*args, **kwargs)
        (self.recorder.on_added if traced else self.recorder.on_hit)(concrete)
        return result

    def _converted(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        try:
            args, kwargs = _tensorflow.canonical(self, args, kwargs)
        except TypeError:  # the call itself raises
            return args, kwargs
        for general in reversed(self.converts):
            args, kwargs = general.convert(args, kwargs)
        return args, kwargs

    def prepared(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        """Returns what a call is traced for, and its arguments.

        Numbers are converted for relaxed signatures, and arguments as the input signature or its
        pattern asks.

        Returns:
            The positional values or specifications to trace for, the positional arguments, and the
            keyword arguments. The first two are the same object if nothing is specified.

        Raises:
            TypeError: If the arguments do not fit a pattern.
        """
        if self.converts:
            args, kwargs = self._converted(args, kwargs)
        signature = self.input_signature
        try:
            if self._pattern is not None:
                return self._pattern.match(self, args, kwargs)
            # A concrete function has no defaults: it needs all arguments (TensorFlow 2.21).
            args, kwargs = _tensorflow.canonical(self, args, kwargs)
        except TypeError as error:
            raise clearer_error(self, args, kwargs, error) or error from None
        if signature is None:
            return args, args, kwargs
        named = zip(_tensorflow.parameter_names(self), signature, args, strict=False)
        return (), [match(name, spec, value)[1] for name, spec, value in named], kwargs

    def _record_compilation(self, trace: Trace, args: Any, kwargs: Any, seconds: float) -> None:
        """Records the shapes of a call that XLA has just compiled, if it has."""
        if _tensorflow.plain_eager_device() is not None:
            self.recorder.record_compilation(trace, _tensorflow.shapes_text(args, kwargs), seconds)

    def _run_eagerly(self, args: Any, kwargs: Any) -> Any:
        """Runs only the Python function, for the stance ``"eager"``."""
        __tracebackhide__ = True
        calls = this_thread.calls
        depth = len(calls)
        try:
            calls.append(self.recorder)
            calls.eager_depth += depth == calls.eager_depth
            return self._run_without_trace(args, kwargs)
        finally:
            del calls[depth:]
            calls.eager_depth = min(calls.eager_depth, depth)

    def _run_without_trace(self, args: Any, kwargs: Any) -> Any:
        """Runs the Python function in place of a trace, or as a part of the trace around it."""
        __tracebackhide__ = True
        python = self.python_function
        if self._autograph and tf.inside_function():
            run = _tensorflow.Conversion(always=True).call
            return self._run_python(lambda *a, **k: run(python, a, k), args, kwargs)
        return self._run_python(python, args, kwargs)

    def _run_python(self, python: Any, args: Any, kwargs: Any) -> Any:
        """Calls the Python function, converted or not, here or on the replicas of a strategy."""
        __tracebackhide__ = True
        if self.recorder.spread is None:
            return python(*args, **kwargs)
        return self.recorder.spread.run(python, tuple(args), dict(kwargs))

    @contextmanager
    def spread_by(self, spread: Any) -> Iterator[None]:
        """Makes calls inside run on the replicas of a strategy, with traces of their own.

        Args:
            spread: Its `run` calls a function on the replicas; its `label` names the strategy.
        """
        before, self.recorder.spread = self.recorder.spread, spread
        self._dispatch.invalidate()
        try:
            yield
        finally:
            self.recorder.spread = before
            self._dispatch.invalidate()

    def within_trace(self, call: functools.partial[Any], host: Any = None) -> Any:
        """Calls the Python function while it is traced, on the caller's explicit device if any.

        With ``local_state=True`` the variables that it creates live for one call. After an
        operation that fails, no later write of the program happens.

        Args:
            call: The call of the Python function.
            host: The tf.function that is traced, if it is a private copy of this one.
        """
        __tracebackhide__ = True
        host = self if host is None else host
        graph, running = tf.compat.v1.get_default_graph(), self.recorder.current
        if running is not None:
            running.graph = weakref.ref(graph)
        run: Callable[[], Any] = call
        if self.recorder.spread is not None:
            run = functools.partial(self._run_python, call.func, call.args, call.keywords)
        with tf.device(running.device) if running and running.device else nullcontext():
            if self._settings.local_state:
                return with_local_variables(self.label, run)
            if not self.checked_effects:
                warn_before_first_trace(self, call.args)
            may_create = _tensorflow.may_create_variables(host)
            with self._creations.watched(self.label, may_create):
                try:
                    # Only for the outermost trace: nested ones have their frames in the same chunk.
                    result = with_room(run) if len(this_thread.calls) == 1 else run()
                except Exception as error:
                    self.recorder.note_failure(error)
                    raise
                finally:
                    _tensorflow.hold_custom_gradients(tf.compat.v1.get_default_graph())
            # Not those of a function that the code calls: TensorFlow keeps the trace around it.
            creates = may_create and _tensorflow.has_created_variables(host)
            if running is not None:
                running.creates = creates
            # TensorFlow discards a trace that creates variables, and can lift their initial values
            # out of it only if these have no control inputs. Replicas wait for each other: an
            # order across them would deadlock.
            if not creates and not tf.distribute.has_strategy():
                _tensorflow.keep_order(graph)
            return result

    # Traces on request ------------------------------------------------------------------

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the concrete function for values or specifications, as ``tf.function`` does."""
        if self._pattern is not None:
            args, _, kwargs = self.prepared(args, kwargs)
        return self.request(args, kwargs, counts=_tensorflow.schedules())

    def request(
        self, args: Any, kwargs: Any, reason: Cause | None = None, counts: bool = False
    ) -> Any:
        """Returns the concrete function for values or specifications; traces it if needed.

        Args:
            args: Positional values or specifications.
            kwargs: The same by keyword.
            reason: Why it is requested, for the trace's cause.
            counts: Whether it represents a call, which the requester will make.
        """
        return self._make_concrete(Call(self.recorder, counts=counts, reason=reason), args, kwargs)

    def _make_concrete(self, call: Call, args: Any, kwargs: Any) -> Any:
        host = self._host_for(args, kwargs, self.recorder.guards.state)
        call.variables = self._variables_in(args, kwargs)
        trace = functools.partial(_Base.get_concrete_function, host, *args, **kwargs)
        try:
            return self._while_open(call, host, trace)
        except TypeError as error:
            clearer = self._clearer(error, call, args, kwargs)
            if clearer is None:
                raise
            raise clearer from None

    def trace_eager_call(self, args: Sequence[Any], reason: Cause | None = None) -> Trace | None:
        """Makes the trace of a call that Python has run, as the call would have made it.

        Args:
            args: The call's arguments.
            reason: The cause, if the user did not provoke the trace.

        Returns:
            The trace; None if the stance or the limit requires such calls to stay eager.
        """
        call = Call(self.recorder, counts=False, explains=True, reason=reason)
        try:
            return self.recorder.traces.get(id(self._make_concrete(call, args, {})))
        except RunEagerly:
            return None
        finally:
            self._evict_excess(call)

    def graph_function(self, *args: Any, **kwargs: Any) -> Trace:
        """Returns the trace for these values or specifications, made now if needed.

        RFC "Functions, not Sessions", section "Serialization". A specification may have its short
        form, ``(tf.float32, [None, 10])``.

        Returns:
            The trace; its ``graph`` is the ``tf.Graph``.
        """
        named = {name: long_form(value) for name, value in kwargs.items()}
        concrete = self.get_concrete_function(*map(long_form, args), **named)
        return self.recorder.traces[id(concrete)]

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Reports which trace would serve a call, or why none would, without running anything.

        Raises:
            TypeError: If the arguments do not fit the function.
        """
        try:
            inspect.signature(self.python_function).bind(*args, **kwargs)
        except TypeError as error:
            raise SignatureError(f"`{self.label}`: {error}") from None
        except ValueError:  # a C function may have no signature
            pass
        if self.input_signature is None:
            args, _, kwargs = self.prepared(args, kwargs)
        try:
            return explanation(self, args, kwargs)
        except TypeError as error:
            raise clearer_error(self, args, kwargs, error) or error from None

    def look_up(self, args: Any, kwargs: Any) -> Any:
        """Looks a call up without tracing or running anything; see `_tensorflow.look_up`."""
        host = self._host_for(args, kwargs, self.recorder.guards.state)
        if _tensorflow.initialization(host) is not None:  # nothing was traced in this state
            host = self
        calls = this_thread.calls
        depth = len(calls)
        try:
            variables = self._variables_in(args, kwargs)
            calls.append(Call(self.recorder, counts=False, variables=variables))
            return _tensorflow.look_up(host, args, kwargs)
        finally:
            del calls[depth:]

    def serving(self, args: Sequence[Any]) -> Trace | None:
        """Returns the trace that serves a call with these arguments; None if it must trace."""
        guards = self.recorder.guards
        found = self._dispatch.find(args, {}, guards.state, guards)
        if found is not None:
            return found[0].trace
        looked_up = self.look_up(args, {}) if self.recorder.traces else None
        concrete = None if looked_up is None else looked_up.concrete
        return None if concrete is None else self.recorder.traces.get(id(concrete))

    def run(
        self,
        *args: Any,
        metadata: bool = False,
        numerics: bool = False,
        values: bool = False,
        **kwargs: Any,
    ) -> Run:
        """Makes a call and records on which device each operation ran.

        RFC "Functions, not Sessions", ``RunOptions`` and ``RunMetadata``. The call traces if
        needed; it really runs, but it is not counted.

        Args:
            *args: Positional arguments of the call. Those with the name of an option must be
                positional.
            metadata: Whether TensorFlow's profiler measures how long each operation takes:
                ``times``, and the step statistics of the ``RunMetadata``.
            numerics: Whether to search for NaN and infinity before the call, as `numerics` does.
            values: Whether to record intermediate values before the call, as `values` does.
            **kwargs: The other arguments of the call.

        Returns:
            The call's value, ``RunMetadata``, placement, and times if requested.

        Raises:
            ProfilerBusyError: If times are asked for while another profiler is running.
        """
        found = self.numerics(*args, **kwargs) if numerics else None
        recorded = self.values(*args, **kwargs) if values else None
        specs, args, kwargs = self.prepared(args, kwargs)
        if self.relaxed:
            self._trace_relaxed(self, args, kwargs)
        concrete = self.get_concrete_function(*specs, **kwargs)
        watched = run(concrete, args, kwargs, timed=metadata)
        self.recorder.placement = watched.placement
        name = self.recorder.reference_expression() or ""
        call = rewritten_call(call_site(), name, (), {}, ("metadata", "numerics", "values"))
        return replace(watched, numerics=found, values=recorded, call=call)

    def check(self, *args: Any, numerics: bool = False, **kwargs: Any) -> Check:
        """Compares an eager run with a traced one: values, variable updates, Python side effects.

        Variables and Python state are restored.

        Args:
            *args: Positional arguments of the call.
            numerics: Whether to also search for NaN and infinity, as `numerics` does.
            **kwargs: The other arguments of the call.

        Raises:
            CheckError: If the arguments do not fit the function.
        """
        found = check(self, args, kwargs)
        return replace(found, numerics=self.numerics(*args, **kwargs)) if numerics else found

    def numerics(self, *args: Any, **kwargs: Any) -> Numerics:
        """Finds the operations of a call that give NaN or infinity from finite numbers.

        The function is traced once more and run; operations in loops, in branches, in called
        functions and in gradients are included. What `check` restores is restored.

        Raises:
            CheckError: If the arguments do not fit the function.
        """
        return numerics(self, args, kwargs)

    def values(
        self, *args: Any, names: Sequence[str] = (), line: int | Sequence[int] = (), **kwargs: Any
    ) -> Values:
        """Records intermediate values of a call from its graph; restores what `check` restores.

        Args:
            *args: The arguments of the call; names may follow those that it takes, as in
                ``f.values(x, "hidden")``.
            names: The names whose values are recorded; all without names and lines.
            line: The line, or lines, whose values are recorded, including subexpressions.
            **kwargs: The other arguments of the call.

        Returns:
            The values by name: the last computed array of each; ``.all`` has all of them.

        Raises:
            CheckError: If the arguments do not fit the function.
        """
        found = values(self, args, kwargs, names, line)
        self.recorder.values = found.texts
        return found

    # Policies and eviction --------------------------------------------------------------

    @property
    def stance(self) -> Stance | None:
        """Its own stance, which takes precedence over `nbfn.stance`; None if it has none."""
        return self.recorder.own_stance

    @stance.setter
    def stance(self, name: Stance | None) -> None:
        self.recorder.own_stance = None if name is None else checked(name)

    def suggest(self) -> Cover:
        """Returns the least general signature that covers several traces, the newest possible.

        These traces differ in shapes of tensors and values of Python numbers only.

        Returns:
            The signature; its ``str`` is source text. That of the newest trace, if no two traces
            are similar.

        Raises:
            RelaxError: If there is no trace yet.
        """
        return relaxing.suggest(self)

    def relax(self) -> Trace:
        """Replaces the traces that `suggest` covers by one trace.

        The new trace is made at once, and serves every size that differed; Python numbers that
        differed become tensors, now and in later calls. The covered traces are evicted, and so is
        the one that created variables, which serves no call. A single trace stays as it is.

        Returns:
            The trace that covers the others.

        Raises:
            RelaxError: If there is no trace yet, if no signature covers two traces, or if the code
                cannot be traced for the signature.
        """
        return relaxing.relax(self)

    def evict(self, trace: Trace) -> None:
        """Removes a trace from the cache; a call that needs it traces again.

        Raises:
            TypeError: If it is not a trace.
            ValueError: If the trace is not in this function's cache.
        """
        if not isinstance(trace, Trace):
            example = f"{self.label}.evict({self.label}.traces[-1])"
            raise TypeError(f"expected a trace, as in {example}, found {shorten(repr(trace))}")
        if not eviction.evict(self, trace):
            raise ValueError(f"trace {trace.number} is not in the cache of `{self.label}`")
        self._states.drop_unused(self)

    def renew(self) -> tuple[Trace, ...]:
        """Evicts stale traces and traces again for the same arguments.

        Unless `on_stale` is ``"retrace"`` this does nothing, as the old values are wanted.

        Returns:
            The new traces.
        """
        return relaxing.renew(self)

    def free(self) -> Freed:
        """Evicts all traces and returns their memory; the next call traces again."""
        freed = eviction.free(self)
        self._states.drop_unused(self)
        return freed

    def discard(self, concrete: Any) -> None:
        """Removes a trace from the cache, this function's own or that of one of its clones."""
        clones = [clone for own in self._clones if (clone := own()) is not None]
        for each in (self, *self._states.copies(), *clones):
            _tensorflow.discard(each, concrete)

    def adopt_clone(self, clone: Any) -> None:
        """Records calls of a clone, which a strategy's replicas call, as calls of this function."""
        clone.__class__ = TracedFunction
        self._share_with(clone)
        clone._observed = _tensorflow.observe(clone, self.recorder)
        self._clones.append(weakref.ref(clone))
        self.recorder.on_cache_change = functools.partial(_invalidate, weakref.ref(self))

    # Methods ----------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: Any) -> Any:
        method = self._descriptor_cache.get(instance)
        # TensorFlow puts a method there before it has a record (2.21).
        if method is not None and getattr(method, "_owner", method) is not None:
            return method
        with _binding:
            bound = super().__get__(instance, owner)
            if isinstance(bound, TracedFunction) and bound is not self and bound._owner is None:
                bound._become_method(self, instance)
            return bound

    def _become_method(self, unbound: TracedFunction, instance: Any) -> None:
        python_function = unbound.python_function
        self.start_recording(unbound._settings)
        self._owner = owner = weakref.ref(instance)
        recorder = self.recorder
        cls = instance if isinstance(instance, type) else type(instance)
        recorder.name = f"{cls.__name__}.{unbound.name}"
        recorder.limit = unbound.recorder.limit
        recorder.own_stance = unbound.recorder.own_stance
        recorder.first_cause = Cause("new_instance", "first call on this instance")
        self._definition, self.checked_effects = None, unbound.checked_effects
        recorder.roots = lambda: roots(python_function, owner())
        self.site = unbound.site

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in _NOT_PICKLED:
            state.pop(name, None)
        return state | dict.fromkeys(state.keys() & set(_tensorflow.OF_FIRST_TRACE))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**_tensorflow.new_cache(), **state})
        self.start_recording(state.get("_settings"))


def _is_object(value: Any) -> bool:
    """Returns whether an argument is an object whose attributes a trace may read."""
    if type(value) in PLAIN or isinstance(value, tf.Tensor | tf.Variable | np.ndarray):
        return False
    if _tensorflow.is_composite(value):
        return False
    return not isinstance(value, list | tuple | dict) or any(
        map(_is_object, value.values() if isinstance(value, dict) else value)
    )


def _invalidate(function: weakref.ReferenceType[TracedFunction]) -> None:
    alive = function()
    if alive is not None:
        alive._dispatch.invalidate()
        for clone in alive._clones:
            if (traced := clone()) is not None:
                traced._dispatch.invalidate()
