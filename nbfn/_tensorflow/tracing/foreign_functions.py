"""Observes look-ups and traces of tf.functions that nbfn did not make."""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from nbfn._tensorflow.base import Function, degraded, internal
from nbfn._tensorflow.tracing.cache import DryCache, TraceCache
from nbfn.errors import report_failure

_transform = internal("eager.polymorphic_function.transform")
_tracing_compilation = internal("eager.polymorphic_function.tracing_compilation")
COMPILED = "_XlaMustCompile"
"""The attribute of functions that XLA compiles (TensorFlow 2.21)."""
TRACES = "_maybe_define_function"
"""TensorFlow's function in whose frame each trace is made."""


class WatchedCache(DryCache):
    """A trace cache that notifies a watcher, and shares the traces of the original.

    The watcher's methods are ``on_hit(concrete, call)`` and ``on_miss(function_type, call)``, for a
    call or a request, and ``on_added(concrete)``.
    """

    def __init__(self, original: Any, watcher: Any) -> None:
        super().__init__()
        self._primary = original._primary
        self._dispatch_dict = original._dispatch_dict
        self._watcher = watcher

    def lookup(self, function_type: Any, context: Any = None) -> Any:
        found = super().lookup(function_type, context)
        self.end_dry_run(found, function_type)
        # The callers are `_maybe_define_function` and `trace_function`, then for a call
        # `call_function`, or `_initialize` and `_call` if it is the first (TensorFlow 2.21).
        if found is None:
            self._notify("on_miss", function_type, _within({"_call", "call_function"}, 6))
        else:
            self._notify("on_hit", found, _within({"call_function"}, 4))
        return found

    def add(self, fn: Any, context: Any = None) -> None:
        super().add(fn, context)
        self._notify("on_added", fn)

    def _notify(self, event: str, *about: Any) -> None:
        try:
            getattr(self._watcher, event)(*about)
        # Whatever the watcher does wrong, the user's call must not notice.
        except Exception as error:
            report_failure(
                "could not record a call that it observes; the call itself is not affected", error
            )


def _within(names: set[str], depth: int) -> bool:
    """Returns whether one of these functions of TensorFlow is among the nearest callers."""
    near = itertools.islice(traceback.walk_stack(sys._getframe(2)), depth)
    return any(
        frame.f_code.co_name in names
        and str(frame.f_globals.get("__name__")).startswith("tensorflow.")
        for frame, _ in near
    )


def watch_cache(function: Any, watcher: Any) -> bool:
    """Lets a watcher observe the look-ups of one function without changing its traces.

    Returns:
        Whether it can. If not, only the traces can be listed.
    """
    if TraceCache is object or not hasattr(TraceCache(), "_dispatch_dict"):
        degraded("which trace serves a call")
        return False
    cache = WatchedCache(function._function_cache, watcher)
    function._function_cache = cache
    # After a first call these hold a reference of their own to the cache (TensorFlow 2.21).
    for name in ("_variable_creation_config", "_no_variable_creation_config"):
        config: Any = getattr(function, name, None)
        if getattr(config, "function_cache", None) is not None:
            config.function_cache = cache
    return True


def add_trace_callback(callback: Callable[[Any], None]) -> bool:
    """Registers a callback for each new concrete function, before it is in its cache.

    Returns:
        False if the internals are missing.
    """
    callbacks = getattr(_transform, "CONCRETE_FUNCTION_CALLBACKS", None)
    if not isinstance(callbacks, list) or not hasattr(_tracing_compilation, TRACES):
        degraded("functions that are not watched by name")
        return False
    if callback not in callbacks:
        callbacks.append(callback)
    return True


def remove_trace_callback(callback: Callable[[Any], None]) -> None:
    """Removes a callback of `add_trace_callback`."""
    callbacks = getattr(_transform, "CONCRETE_FUNCTION_CALLBACKS", [])
    if callback in callbacks:
        callbacks.remove(callback)


def tracing_function() -> Any | None:
    """Returns the tf.function whose trace is being made in the innermost trace frame.

    Returns:
        None if that trace belongs to no function's cache, such as variable initialisation.
    """
    return next(map(owner_of_trace, trace_frames()), None)


def trace_frames() -> Iterator[FrameType]:
    """Yields the frames in which traces are made on this thread, innermost first."""
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        if frame.f_code.co_name == TRACES:
            yield frame


def attributes_of_trace(frame: FrameType) -> dict[str, Any]:
    """Returns the attributes of the function whose trace is made in a frame."""
    return getattr(frame.f_locals.get("tracing_options"), "attributes", None) or {}


def data_function() -> tuple[Any, str] | None:
    """Returns the function of a dataset, as passed to ``map``, that is being traced.

    Returns:
        The function and the name of the method; None if there is none, or if it runs as Python for
        each element.
    """
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        # `f_locals` is only read for matching code: reading it makes Python keep a copy.
        code = frame.f_code
        if code.co_name == "trace_py_function":  # the debug mode of tf.data
            return None
        # `StructuredFunctionWrapper.__init__` of TensorFlow 2.21.
        if code.co_name == "__init__" and {"func", "transformation_name"} <= {*code.co_varnames}:
            names = frame.f_locals
            return names["func"], str(names["transformation_name"]).removesuffix("()")
    return None


def owner_of_trace(frame: FrameType) -> Any | None:
    """Returns the tf.function whose trace is made in this frame of `TRACES`."""
    options: Any = frame.f_locals.get("tracing_options")
    cache = getattr(options, "function_cache", None)
    if cache is None:
        return None
    # The options do not refer to the tf.function: a method of it further up has made them.
    file = Function._initialize.__code__.co_filename if hasattr(Function, "_initialize") else None
    for around, _ in traceback.walk_stack(frame):
        if around.f_code.co_filename == file:
            found = around.f_locals.get("self")
            if isinstance(found, Function) and getattr(found, "_function_cache", None) is cache:
                return found
    return None


def building_seconds() -> float | None:
    """Returns the seconds spent so far on graphs of outermost functions; None if unknown."""
    # It counts microseconds, and nothing inside of another trace (TensorFlow 2.21).
    counter: Any = getattr(_tracing_compilation, "_graph_building_time_counter", None)
    return counter.get_cell().value() / 1e6 if hasattr(counter, "get_cell") else None


def has_created_variables(function: Any) -> bool:
    """Returns whether a function created variables on its first call; False if unknown."""
    return bool(getattr(function, "_created_variables", None))


def method_owner(function: Any) -> Any | None:
    """Returns the instance whose method a tf.function is; None if none or garbage-collected."""
    bound: Any = getattr(function, "python_function", None)
    while hasattr(bound, "__wrapped__") and not hasattr(bound, "__self__"):
        bound = bound.__wrapped__
    # The method is bound to a `TfMethodTarget`, which holds the instance weakly (TensorFlow 2.21).
    return getattr(getattr(bound, "__self__", None), "target", None)
