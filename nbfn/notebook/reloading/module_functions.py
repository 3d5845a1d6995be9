"""Finds the functions of a module that values lead to, also through decorators."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from types import FunctionType, MethodType
from typing import Any

from nbfn.code import closure


def functions_of(module: str, values: Iterable[Any]) -> Iterator[FunctionType]:
    """Yields the functions of a module among values, including methods and decorated functions.

    No user code runs.

    Args:
        module: The module's name.
        values: The values.
    """
    seen: set[int] = set()
    left = list(values)
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType):
            if value.__module__ == module:
                yield value
            # A decorator's wrapper closes over the decorated function.
            contents = closure(value).values()
            left += [each for each in contents if isinstance(each, FunctionType | MethodType)]
            left.append(vars(value).get("__wrapped__"))
        elif isinstance(value, MethodType | staticmethod | classmethod):
            left.append(value.__func__)
        elif isinstance(value, property):
            left += [value.fget, value.fset, value.fdel]
        elif isinstance(value, functools.cached_property | functools.partial):
            left.append(value.func)
        elif isinstance(value, type):
            # A metaclass may define `__dict__` itself, or raise.
            attributes = type.__dict__["__dict__"].__get__(value)
            if attributes.get("__module__") == module:
                left += list(attributes.values())
                # Autoreload assigns the code of a new method to the wrapper that nbfn has put
                # around it.
                functions = (each for each in attributes.values() if isinstance(each, FunctionType))
                yield from (each for each in functions if each.__module__ != module)
        else:
            left.append(_unwrap(value))


def _unwrap(value: Any) -> Any:
    """Returns what an object wraps, as traced functions and caches do."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return attributes.get("__wrapped__") if isinstance(attributes, dict) else None
