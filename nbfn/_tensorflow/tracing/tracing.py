"""How a tf.function traces: in which scope, under which lock; look-ups that end before it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import sys
import traceback
import weakref
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.autograph.conversion import as_statements
from nbfn._tensorflow.base import Function, internal, tf_function
from nbfn._tensorflow.tracing.cache import DryCache, LookedUp, mute_tracing_warning

_context = internal("eager.context")

_tf_decorator = internal("util.tf_decorator")

_FRAMES_TO_CALLER = 4
"""More than there are between `schedules` and what calls ``get_concrete_function``."""

_Function: Any = Function
CAN_SCOPE = _tf_decorator is not None and hasattr(Function, "_generate_tracing_options")
"""Whether TensorFlow calls what `ScopedFunction` overrides."""


class ScopedFunction(_Function):  # type: ignore[misc]
    """A tf.function that has a say in how its Python is called while it is traced."""

    def within_trace(self, call: functools.partial[Any]) -> Any:
        """Calls the user's Python while it is traced, in whatever it is to be traced in."""
        return call()

    def adopt_clone(self, clone: Any) -> None:
        """Takes a function as its own that a strategy has made to call this one on its replicas."""

    def _clone(self, python_function: Any) -> Any:
        if _takes_anything(python_function):
            with contextlib.suppress(ValueError):  # a function of C has no signature
                python_function.__signature__ = inspect.signature(self.python_function)
        clone = super()._clone(python_function)
        self.adopt_clone(clone)
        return clone

    def _generate_tracing_options(self, fn: Any, scope_type: Any) -> Any:
        if not CAN_SCOPE:
            return super()._generate_tracing_options(fn, scope_type)
        if getattr(self, "_autograph", False):
            fn = as_statements(fn, getattr(self, "_experimental_autograph_options", None))
        owner = weakref.ref(self)
        inner: Any = None

        def scoped(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            function = owner()
            # AutoGraph puts the converted function into `__wrapped__`.
            call = functools.partial(inner().__wrapped__, *args, **kwargs)
            try:
                return call() if function is None else function.within_trace(call)
            except BaseException:
                _give_up(tf.compat.v1.get_default_graph())
                raise

        inner = weakref.ref(scoped)
        return super()._generate_tracing_options(
            _tf_decorator.make_decorator(fn, scoped), scope_type
        )


def _takes_anything(python_function: Any) -> bool:
    """Whether this is what a strategy puts in a function's place: its parameters have no names."""
    code: Any = getattr(python_function, "__code__", None)
    return code is not None and code.co_argcount == 0 and code.co_varnames[:2] == ("args", "kwargs")


def _give_up(graph: Any) -> None:
    """Says that nothing will come of a graph, so that its operations are not put in order.

    TensorFlow does that when a trace ends, however it ends. Of a trace that was interrupted because
    it had no end, it would take long: quadratic time, if the operations share an iterator.
    """
    manager: Any = getattr(graph, "experimental_acd_manager", None)
    if hasattr(manager, "_n_operations"):
        manager._n_operations = len(graph.get_operations())


def explicit_device() -> str:
    """The device that ``with tf.device`` asks for around eager code; empty if none does."""
    eager: Any = _context.context() if _context is not None else None
    return getattr(eager, "device_name", None) or "" if tf.executing_eagerly() else ""


def schedules() -> bool:
    """Whether a coordinator of a parameter server's workers asks for the trace that they will run.

    It calls ``get_concrete_function`` once for each call that it schedules.
    """
    near = itertools.islice(traceback.walk_stack(sys._getframe(2)), _FRAMES_TO_CALLER)
    return any(
        str(frame.f_globals.get("__name__")).endswith("coordinator.cluster_coordinator")
        for frame, _ in near
    )


def look_up(function: Any, args: Any, kwargs: Any) -> LookedUp | None:
    """Looks a call up in a function's cache without tracing or running anything.

    Returns:
        What was found and what was looked up; None if the function was never traced, or is neither
        observed nor watched.

    Raises:
        TypeError: As the call would, if the arguments do not fit.
    """
    cache = getattr(function, "_function_cache", None)
    if not isinstance(cache, DryCache) or initialization(function) is not None:
        return None
    return cache.look_up(lambda: _Function.get_concrete_function(function, *args, **kwargs))


def holds_lock(function: Any) -> bool:
    """Whether this thread holds a function's lock; False where that cannot be told."""
    is_owned = getattr(getattr(function, "_lock", None), "_is_owned", None)
    return bool(is_owned is not None and is_owned())


def release_lock(function: Any) -> None:
    """Releases a function's lock if this thread holds it.

    TensorFlow keeps it when the arguments of a call do not fit, and other threads wait for ever.
    """
    while holds_lock(function):
        function._lock.release()


_INITIALIZATION = (
    "_created_variables",
    "_variable_creation_config",
    "_no_variable_creation_config",
)


def initialization(function: Any) -> dict[str, Any] | None:
    """The state of a function's first call, for `restore_initialization`; None once it is done."""
    state = {name: getattr(function, name, None) for name in _INITIALIZATION}
    return state if state["_variable_creation_config"] is None else None


def restore_initialization(function: Any, state: dict[str, Any]) -> None:
    """Makes a function whose first trace failed as good as one that was never called."""
    for name, value in state.items():
        if hasattr(function, name):
            setattr(function, name, value)


def adopt_initialization(function: Any, other: Any | None) -> None:
    """Gives a function the first trace of another one; without another it was never called.

    What it has created itself is kept alive by nothing of it any more.
    """
    for name in (*_INITIALIZATION, "_concrete_variable_creation_fn"):
        if hasattr(function, name):
            setattr(function, name, getattr(other, name, None))


def may_create_variables(function: Any) -> bool:
    """Whether the trace that a function is making is its first, which may create variables."""
    return getattr(function, "_no_variable_creation_config", None) is None


class UnlistedFunction(ScopedFunction):
    """A tf.function that nbfn makes for its own use, and that is shown nowhere."""


def unlisted(function: Any, kind: type) -> Any:
    """A function of this kind with the same Python function and options, and no traces."""
    if hasattr(Function, "_clone"):
        made = Function._clone(function, None)
    else:
        made = tf_function(function.python_function, input_signature=function.input_signature)
    made.__class__ = kind
    mute_tracing_warning(made)
    return made


def global_seed() -> Any:
    """The seed that ``tf.random.set_seed`` has set; None if there is none, or it is not known."""
    safe = getattr(_context, "context_safe", None)
    return getattr(safe(), "_seed", None) if safe is not None else None


def eager_random_state() -> Any:
    """The state from which eager operations draw their seeds; None where it cannot be told."""
    numbers: Any = getattr(_context.context(), "_rng", None) if _context is not None else None
    return numbers.getstate() if hasattr(numbers, "getstate") else None


def put_eager_random_state_back(state: Any) -> None:
    """Puts back what `eager_random_state` gave."""
    if state is not None and _context is not None:
        _context.context()._rng.setstate(state)
