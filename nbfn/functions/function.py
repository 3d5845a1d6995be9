"""`function`: makes a traced function of a Python function.

RFC "Functions, not Sessions", section "Functions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, overload

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.limit import Limit, OnLimit
from nbfn.functions.traced import TracedFunction


@overload
def function(func: Callable[..., Any], **options: Any) -> TracedFunction: ...


@overload
def function(
    func: None = None, **options: Any
) -> Callable[[Callable[..., Any]], TracedFunction]: ...


def function(
    func: Callable[..., Any] | None = None,
    *,
    max_traces: int | None = 16,
    on_limit: OnLimit = "warn",
    **options: Any,
) -> Any:
    """Makes a traced function: a ``tf.function`` whose traces, hits and retraces can be seen.

    Args:
        func: The Python function; without it, a decorator is returned.
        max_traces: Traces that it may have before `on_limit` applies; None for no limit.
        on_limit: ``"warn"`` once, ``"raise"`` a `TraceLimitError` before the trace is made, or run
            the call that would need it ``"eager"``.
        **options: Every parameter of ``tf.function``.

    Returns:
        A `TracedFunction`, or a decorator that makes one.

    Raises:
        TypeError: If an option is unknown, or `func` cannot be called.
        ValueError: If `max_traces` or `on_limit` is out of range.
    """
    Limit(max_traces, on_limit)
    if func is None:
        return lambda inner: function(inner, max_traces=max_traces, on_limit=on_limit, **options)
    if not callable(func):
        raise TypeError(f"expected a function to trace, found {type(func).__name__} {func!r}")
    if isinstance(func, _tensorflow.Function):
        raise TypeError(
            f"`{func.__name__}` is a tf.function already; put nbfn.function in its place, "
            "or give the Python function, its .python_function"
        )
    made = tf.function(func, **options)
    made.__class__ = TracedFunction
    traced = cast("TracedFunction", made)
    traced.start_recording(Limit(max_traces, on_limit))
    traced.options = {"max_traces": max_traces, "on_limit": on_limit, **options}
    return traced
