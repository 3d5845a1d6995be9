"""Functions of the user's, bare or dressed: wrapped by decorators, bound, traced."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from nbfn import _tensorflow
from nbfn.functions.fingerprint import fingerprint
from nbfn.functions.marks import Mark, content_of
from nbfn.functions.reads import is_the_users

_MAX_WRAPPERS = 50


def unwrapped(function: Any) -> Iterator[FunctionType]:
    """A function and those that it wraps, outermost first, as far as they are the user's."""
    for _ in range(_MAX_WRAPPERS):
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, _tensorflow.Function):
            function = getattr(function, "python_function", None)
        elif isinstance(function, (MethodType, staticmethod, classmethod)):
            function = function.__func__
        elif isinstance(function, functools._lru_cache_wrapper):
            function = function.__wrapped__
        elif isinstance(function, FunctionType):
            if is_the_users(function.__globals__.get("__name__")):
                yield function
            function = vars(function).get("__wrapped__")
        else:
            return


def mark_of_functions(functions: list[FunctionType], value: Any) -> Mark:
    """The mark of a function of the user's, bare or dressed: its code and what it binds."""
    parts: list[Any] = [
        (fingerprint(f.__code__), content_of(f.__defaults__), content_of(f.__kwdefaults__))
        for f in functions
    ]
    if isinstance(value, functools.partial):
        parts.append(content_of((value.args, value.keywords)))
    if isinstance(value, MethodType):
        parts.append(content_of(value.__self__))
    return Mark(("function", *parts), f"function {functions[-1].__name__}")
