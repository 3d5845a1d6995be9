"""`function`: makes a traced function from a Python function.

RFC "Functions, not Sessions", section "Functions".
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast, overload

from nbfn import _tensorflow
from nbfn.code import plain_function
from nbfn.functions.guards import OnStale
from nbfn.functions.recording.limit import OnLimit
from nbfn.functions.recording.registry import unregister
from nbfn.functions.signatures.pattern import read_signature
from nbfn.functions.traced.options import Options
from nbfn.functions.traced.traced_function import TracedFunction
from nbfn.text import did_you_mean, shorten


@overload
def function(func: Callable[..., Any], *args: Any, **options: Any) -> TracedFunction: ...


@overload
def function(
    func: None = None, *args: Any, **options: Any
) -> Callable[[Callable[..., Any]], TracedFunction]: ...


def function(
    func: Callable[..., Any] | None = None,
    *args: Any,
    max_traces: int | None = 16,
    on_limit: OnLimit = "warn",
    on_stale: OnStale = "retrace",
    infer_signature_from_first_call: bool = False,
    local_state: bool = False,
    **options: Any,
) -> Any:
    """Makes a traced function: a ``tf.function`` with visible traces, hits and retraces.

    It accepts the arguments of ``tf.function``, so ``tf.function = nbfn.function`` in the first
    cell makes every function of a notebook a traced function.

    Example::

        @nbfn.function
        def scale(x, by=2.0):
            return x * by

        scale(tf.ones([2]))
        scale(tf.ones([3]))  # retraces: the shape differs
        print(scale.retraces)
        scale.relax()  # one trace for all sizes from now on

    Args:
        func: The Python function; without it, a decorator is returned.
        *args: Parameters of ``tf.function`` by position, the input signature first.
        max_traces: Maximum number of traces before `on_limit` applies; None for no limit.
        on_limit: ``"warn"`` once, ``"raise"`` a `TraceLimitError` before the trace is made,
            ``"evict"`` the least recently used trace, or run the call that would need it
            ``"eager"``.
        on_stale: What a call does when a global, closure, attribute or helper that its trace has
            baked in has changed: ``"retrace"``, ``"warn"`` and use the old value, ``"raise"`` a
            `StaleTraceError`, or ``"ignore"`` it, as TensorFlow does.
        infer_signature_from_first_call: Whether the arguments of the first call become the input
            signature.
        local_state: Whether variables that it creates live for one call only, like local variables
            in Python.
        **options: All parameters of ``tf.function``. In `input_signature`, ``(dtype, shape)`` is
            short for ``tf.TensorSpec(shape, dtype)``, and `nbfn.PYTHON_VALUE`,
            `nbfn.TRACE_ON_NEW_VALUE` and `nbfn.ListOf` are patterns for other arguments.

    Returns:
        A `TracedFunction`, or a decorator that makes one.

    Raises:
        TypeError: If an option is unknown, or `func` cannot be called or is a class.
        ValueError: If an option is out of range.
    """
    own = {
        "max_traces": max_traces,
        "on_limit": on_limit,
        "on_stale": on_stale,
        "infer_signature_from_first_call": infer_signature_from_first_call,
        "local_state": local_state,
    }
    options = {**dict(zip(_parameters(), args, strict=False)), **options}
    for name in options.keys() - set(_parameters()):
        hint = did_you_mean(name, [*own, *_parameters()], "{}=")
        raise TypeError(f"function() got an unexpected keyword argument '{name}'{hint}")
    signature, pattern = read_signature(options.get("input_signature"))
    settings = Options(**own, pattern=pattern)  # type: ignore[arg-type]
    if func is None:
        return lambda inner: function(inner, **own, **options)  # type: ignore[call-overload]
    if isinstance(func, type):
        raise TypeError(
            f"expected a function to trace, found the class `{func.__name__}`; put @nbfn.function "
            "above its methods"
        )
    if not callable(func):
        raise TypeError(
            f"expected a function to trace, found {type(func).__name__} {shorten(repr(func))}, "
            "which is not a callable object"
        )
    if local_state and not _tensorflow.CAN_SCOPE:
        raise NotImplementedError(
            "local_state=True does not work with this version of TensorFlow; create the variables "
            "outside the function"
        )
    accepted = {name: value for name, value in options.items() if name != "input_signature"}
    if signature is not None:
        accepted["input_signature"] = signature
    bare = _tensorflow.tf_function(func, **accepted)
    # TensorFlow copies attributes of `func`, such as `_run_eagerly` of a Keras model.
    for name in vars(bare).keys() & getattr(func, "__dict__", {}).keys():
        if hasattr(TracedFunction, name) and not name.startswith("__"):
            del vars(bare)[name]
    bare.__class__ = TracedFunction  # `tf.function` cannot be asked for a subclass
    traced = cast("TracedFunction", bare)
    traced.start_recording(settings)
    traced.options = {**own, **options}
    return traced


def copy_of(original: Any) -> tuple[TracedFunction, tuple[Any, ...]]:
    """Makes a traced function of the Python of a ``tf.function``, which the session does not list.

    Returns:
        The function, and the arguments that come first: the instance of a method.
    """
    owner = _tensorflow.method_owner(original)
    # The signature of a method has no place for the instance.
    signature = original.input_signature if owner is None else None
    options = _tensorflow.options_of(original)
    python = original.python_function
    copy = function(python if owner is None else plain_function(python), signature, **options)
    unregister(copy)
    return copy, () if owner is None else (owner,)


@functools.cache
def _parameters() -> tuple[str, ...]:
    """Returns the parameters of ``tf.function`` after the first."""
    return tuple(inspect.signature(_tensorflow.tf_function).parameters)[1:]
