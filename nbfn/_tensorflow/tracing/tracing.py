"""Controls how tf.functions trace: their scope, lock and first call."""

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

from nbfn._tensorflow.base import Function, internal, tf_function
from nbfn._tensorflow.tracing.cache import DryCache, LookedUp, mute_tracing_warning

_context = internal("eager.context")

_function_type_utils = internal("eager.polymorphic_function.function_type_utils")

_Weakref: Any = getattr(getattr(_function_type_utils, "trace_type", None), "Weakref", None)
"""The trace type of objects that are keyed by identity (TensorFlow 2.21)."""

_FRAMES_TO_CALLER = 4
"""Maximum number of frames between `schedules` and the caller of ``get_concrete_function``."""

_Function: Any = Function
CAN_SCOPE = hasattr(Function, "_generate_scoped_tracing_options")
"""Whether TensorFlow wraps the Python function in one that `ScopedFunction` can change."""

_PLAIN = (tf.Tensor, int, float, str)
"""The types of common arguments that contain no others."""


class _Decorated:
    """Wraps a decorated argument, so that TensorFlow does not unwrap it.

    TensorFlow would trace with what its ``__wrapped__`` leads to: the function without decorators.
    """

    def __init__(self, function: Any) -> None:
        self.__wrapped__ = function  # `Weakref.cast` looks for the function here

    def __tf_tracing_type__(self, context: Any) -> Any:
        return _Weakref(weakref.ref(self.__wrapped__))


def _is_decorated(value: Any) -> bool:
    """Returns whether TensorFlow would replace an argument by the function that it decorates."""
    cls = type(value)
    can_be_kept = cls.__weakrefoffset__ and not hasattr(cls, "__tf_tracing_type__")
    return bool(can_be_kept) and callable(value) and hasattr(value, "__wrapped__")


def _with_decorators(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Returns arguments in which TensorFlow finds decorated functions as they are."""
    if all(isinstance(each, _PLAIN) for each in itertools.chain(args, kwargs.values())):
        return args, kwargs
    try:
        leaves = tf.nest.flatten((args, kwargs))
        if _Weakref is None or not any(map(_is_decorated, leaves)):
            return args, kwargs
        decorated = [_Decorated(leaf) if _is_decorated(leaf) else leaf for leaf in leaves]
        packed: tuple[Any, Any] = tf.nest.pack_sequence_as((args, kwargs), decorated)
    except TypeError:  # keys that cannot be sorted
        return args, kwargs
    return packed


class ScopedFunction(_Function):  # type: ignore[misc]
    """A tf.function that controls with what and how its Python code is called while traced."""

    def within_trace(self, call: functools.partial[Any]) -> Any:
        """Calls the Python code while it is traced; subclasses enter contexts here."""
        return call()

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        # Calls and requests of concrete functions bind their arguments apart (TensorFlow 2.21), so
        # both ways are overridden.
        args, kwargs = _with_decorators(args, kwargs)
        return super()._call(*args, **kwargs)

    def _get_concrete_function_garbage_collected(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        args, kwargs = _with_decorators(args, kwargs)
        return super()._get_concrete_function_garbage_collected(*args, **kwargs)

    def _initialize(
        self, args: Any, kwds: Any, add_initializers_to: list[tuple[Any, Any]] | None = None
    ) -> None:
        __tracebackhide__ = True
        # TensorFlow gives the variables that a trace has created their values later (2.21): when
        # the trace is complete, and its lock is released. If the trace fails, the layers that have
        # created some would count as built, and be useless. Another thread that waits for the lock
        # would read variables without a value, which fails, or ends the process.
        try:
            super()._initialize(args, kwds, add_initializers_to=add_initializers_to)
        finally:  # after an interrupt, too
            if add_initializers_to:
                # A value may depend on the arguments: TensorFlow handles that.
                with contextlib.suppress(Exception):
                    self._initialize_uninitialized_variables(add_initializers_to)
                    add_initializers_to.clear()

    def _initialize_uninitialized_variables(self, initializers: list[tuple[Any, Any]]) -> None:
        if initializers:
            super()._initialize_uninitialized_variables(initializers)

    def adopt_clone(self, clone: Any) -> None:
        """Adopts a function that a strategy has cloned to call this one on its replicas."""

    def _clone(self, python_function: Any) -> Any:
        if _takes_anything(python_function):
            with contextlib.suppress(ValueError):  # functions implemented in C have no signature
                python_function.__signature__ = inspect.signature(self.python_function)
        clone = super()._clone(python_function)
        self.adopt_clone(clone)
        return clone

    def _generate_tracing_options(self, fn: Any, scope_type: Any) -> Any:
        options = super()._generate_tracing_options(fn, scope_type)
        if not hasattr(fn, "__wrapped__"):
            return options
        # TensorFlow's wrapper calls its `__wrapped__`, which is by now the function that
        # AutoGraph has converted. A decorator of its own would be inspected four times.
        inner = fn.__wrapped__
        # Weak, as in TensorFlow's wrapper: the function keeps the options, and a cycle would keep
        # its graphs until the garbage is collected.
        owner = weakref.ref(self)

        def scoped(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            function = owner()
            call = functools.partial(inner, *args, **kwargs)
            try:
                return call() if function is None else function.within_trace(call)
            except BaseException:  # an interrupt, too
                _give_up(tf.compat.v1.get_default_graph())
                raise

        fn.__wrapped__ = scoped
        return options


def _takes_anything(python_function: Any) -> bool:
    """Returns whether a function is a strategy's replacement, whose parameters have no names."""
    # MirroredStrategy makes `wrapped_fn(*args, **kwargs)` (TensorFlow 2.21).
    code: Any = getattr(python_function, "__code__", None)
    return code is not None and code.co_argcount == 0 and code.co_varnames[:2] == ("args", "kwargs")


def _give_up(graph: Any) -> None:
    """Marks a graph as abandoned, so that its operations are not ordered.

    TensorFlow adds control dependencies when a trace ends, even by an error. For an interrupted
    trace with many operations this would take long: quadratic time if they share an iterator.
    """
    manager: Any = getattr(graph, "experimental_acd_manager", None)
    # `AutomaticControlDependencies` orders the operations after this number (TensorFlow 2.21).
    if hasattr(manager, "_n_operations"):
        manager._n_operations = len(graph.get_operations())


def explicit_device() -> str:
    """Returns the device of ``with tf.device`` around eager code; empty if none."""
    eager: Any = _context.context() if _context is not None else None
    return getattr(eager, "device_name", None) or "" if tf.executing_eagerly() else ""


def schedules() -> bool:
    """Returns whether a parameter server's coordinator requests a trace for its workers.

    It calls ``get_concrete_function`` once for each call that it schedules.
    """
    near = itertools.islice(traceback.walk_stack(sys._getframe(2)), _FRAMES_TO_CALLER)
    return any(
        str(frame.f_globals.get("__name__")).endswith("coordinator.cluster_coordinator")
        for frame, _ in near
    )


def look_up(function: Any, args: Any, kwargs: Any) -> LookedUp | None:
    """Looks up a call in a function's cache without tracing or running anything.

    Returns:
        The look-up; None if the function was never traced, or is neither observed nor watched.

    Raises:
        TypeError: If the arguments do not match, as for the call.
    """
    cache = getattr(function, "_function_cache", None)
    if not isinstance(cache, DryCache) or initialization(function) is not None:
        return None
    return cache.look_up(lambda: _Function.get_concrete_function(function, *args, **kwargs))


def holds_lock(function: Any) -> bool:
    """Returns whether this thread holds a function's lock; False if unknown."""
    # It is an `RLock`, as a function may call itself while it is traced
    # (https://github.com/tensorflow/tensorflow/issues/35540). `_is_owned` has no public equivalent.
    is_owned = getattr(getattr(function, "_lock", None), "_is_owned", None)
    return bool(is_owned is not None and is_owned())


def share_lock(function: Any, other: Any) -> None:
    """Has two functions trace one at a time; does nothing if their locks are unknown."""
    if hasattr(function, "_lock"):
        other._lock = function._lock


def release_lock(function: Any) -> None:
    """Releases a function's lock if this thread holds it.

    TensorFlow does not release it if the arguments of a call do not match, and other threads would
    block forever: `Function._call` acquires it before it binds them, outside of its ``try``
    (TensorFlow 2.21).
    """
    while holds_lock(function):
        function._lock.release()


# TensorFlow sets the first two before the first trace: if that fails, the next call counts as a
# later one, which must not create variables (`Function._initialize`, TensorFlow 2.21).
_INITIALIZATION = (
    "_created_variables",
    "_variable_creation_config",
    "_no_variable_creation_config",
)
OF_FIRST_TRACE = (*_INITIALIZATION, "_concrete_variable_creation_fn")
"""Attributes that a tf.function's first trace sets; None before it."""


def initialization(function: Any) -> dict[str, Any] | None:
    """Returns the state of a function before its first call is complete; None afterwards."""
    state = {name: getattr(function, name, None) for name in _INITIALIZATION}
    return state if state["_variable_creation_config"] is None else None


def restore_initialization(function: Any, state: dict[str, Any]) -> None:
    """Resets a function whose first trace failed to the state before its first call."""
    for name, value in state.items():
        if hasattr(function, name):
            setattr(function, name, value)


def adopt_initialization(function: Any, other: Any | None) -> None:
    """Gives a function the first trace of another; without another it was never called.

    Variables that it created itself are no longer kept alive by it.
    """
    for name in OF_FIRST_TRACE:
        if hasattr(function, name):
            setattr(function, name, getattr(other, name, None))


def may_create_variables(function: Any) -> bool:
    """Returns whether a function is making its first trace, which may create variables."""
    # TensorFlow sets it after the first trace (`Function._initialize`, TensorFlow 2.21).
    return getattr(function, "_no_variable_creation_config", None) is None


class UnlistedFunction(ScopedFunction):
    """A tf.function for internal use, which is not listed."""


def untraced_copy(function: Any, kind: type) -> Any:
    """Returns a function of this class with the same Python function and options, untraced."""
    if hasattr(Function, "_clone"):
        copy = Function._clone(function, None)
    else:
        copy = tf_function(function.python_function, input_signature=function.input_signature)
    copy.__class__ = kind  # `_clone` makes a plain `Function` (TensorFlow 2.21)
    mute_tracing_warning(copy)
    return copy


def options_of(function: Any) -> dict[str, Any]:
    """Returns the options of a tf.function besides its signature, as ``tf.function`` takes them."""
    names = ("autograph", "jit_compile", "reduce_retracing", "experimental_autograph_options")
    return {name: getattr(function, f"_{name}") for name in names if hasattr(function, f"_{name}")}
