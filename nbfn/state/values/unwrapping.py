"""Unwraps user functions from partials, methods, caches and decorators."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from nbfn import _tensorflow
from nbfn.code import is_user_module
from nbfn.state.bytecode.digest import digest
from nbfn.state.bytecode.graph_time import NOTHING, GraphTime
from nbfn.state.values.fingerprints import Fingerprint, content_of, is_a
from nbfn.state.values.introspection import own_attributes, with_decorated

# A bound, as an object may be its own `__wrapped__`.
_MAX_WRAPPERS = 50
PARTIALS = (functools.partial, functools.partialmethod)
WRAPPERS = (
    *(*PARTIALS, staticmethod, classmethod, functools._lru_cache_wrapper),
    _tensorflow.Function,
)
"""Classes of objects that call another one."""


def inside(wrapper: Any) -> Any:
    """Returns what a wrapper or a bound method calls; None if it calls nothing."""
    if is_a(wrapper, PARTIALS):
        return wrapper.func
    if is_a(wrapper, _tensorflow.Function):
        return getattr(wrapper, "python_function", None)
    return wrapper.__wrapped__ if is_a(wrapper, functools._lru_cache_wrapper) else wrapper.__func__


def unwrapped(function: Any) -> Iterator[FunctionType]:
    """Yields the user functions among a function and those that it wraps, outermost first."""
    for _ in range(_MAX_WRAPPERS):
        if is_a(function, FunctionType):
            is_users = is_user_module(function.__globals__.get("__name__"))
            if is_users:
                yield function
            inner = vars(function).get("__wrapped__")
            function = _wrapped_function(function) if inner is None and not is_users else inner
            if function is None:
                return
        elif is_a(function, (MethodType, *WRAPPERS)):
            function = inside(function)
        else:
            function = own_attributes(function).get("__wrapped__")
            if function is None:
                return


def _wrapped_function(function: FunctionType) -> FunctionType | None:
    """Returns the user's function that a library's decorator only closes over."""
    inner = with_decorated(function)[1:]
    return next((f for f in inner if is_user_module(f.__globals__.get("__name__"))), None)


def is_decorator_object(value: Any) -> bool:
    """Returns whether a value is an object of a user class that wraps a function.

    So do classes that are used as decorators, whose objects have a state of their own.
    """
    return is_user_module(type(value).__module__) and "__wrapped__" in own_attributes(value)


def fingerprint_of_functions(
    functions: list[FunctionType],
    value: Any,
    graph_time: GraphTime = NOTHING,
    *,
    with_defaults: bool = True,
) -> Fingerprint:
    """Returns the fingerprint of a user function and its wrappers: code and bound values."""
    text = f"function {functions[-1].__name__}"
    if any(graph_time.runs(f.__code__) for f in functions):
        return Fingerprint(("function", *(digest(f.__code__) for f in functions)), text, "function")
    parts: list[Any] = [digest(f.__code__) for f in functions]
    if with_defaults:
        parts += [content_of((f.__defaults__, f.__kwdefaults__)) for f in functions]
    if is_a(value, PARTIALS):
        parts.append(content_of((value.args, value.keywords)))
    if is_a(value, MethodType):
        parts.append(content_of(value.__self__))
    # Weak, and no code object: it would keep the constants of a redefined function alive.
    codes = [(weakref.ref(f), id(f.__code__)) for f in functions]
    return Fingerprint(
        ("function", *parts), text, "function", functools.partial(_are_replaced, codes)
    )


def _are_replaced(codes: list[tuple[weakref.ReferenceType[FunctionType], int]]) -> bool:
    """Returns whether one of some functions is dead, or has different code now."""
    found = ((reference(), code) for reference, code in codes)
    return any(function is None or id(function.__code__) != code for function, code in found)
