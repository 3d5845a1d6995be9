"""Which Python state outside its arguments a function reads, and so bakes into its traces."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from nbfn import _tensorflow

MAX_DEPTH = 4
MAX_ITEMS = 100
MAX_ARRAY_BYTES = 1_000_000

_LITERALS = (bool, int, float, complex, str, bytes, type(None), range, slice)


def baked(python_function: Callable[..., Any]) -> dict[str, Any]:
    """A mark of each global that a function reads, itself and through its helpers.

    Marks are equal if nothing has changed. They hold no object: plain values stand for themselves,
    functions are marked by their code and what that reads, plain objects of the notebook by their
    attributes, small arrays by their content, everything else by identity.
    """
    function = inspect.unwrap(python_function)
    return _marks(getattr(function, "__func__", function), 0)


def changed(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Names whose marks differ."""
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]


def _marks(function: Any, depth: int) -> dict[str, Any]:
    code = getattr(function, "__code__", None)
    if code is None or depth > MAX_DEPTH:
        return {}
    namespace = function.__globals__
    names = {name for name in _names(code) if name in namespace}
    return {
        name: _mark(namespace[name], depth)
        for name in sorted(names)
        if name != function.__name__ and not inspect.ismodule(namespace[name])
    }


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _mark(value: Any, depth: int) -> Any:
    if isinstance(value, _LITERALS):
        return type(value), repr(value)
    if isinstance(value, _tensorflow.Function):
        value = getattr(value, "python_function", value)
    if isinstance(value, FunctionType):
        return "function", hash(value.__code__), tuple(_marks(value, depth + 1).items())
    if isinstance(value, np.ndarray) and value.nbytes <= MAX_ARRAY_BYTES:
        content = repr(value.tolist()) if value.dtype == object else value.tobytes()
        return "array", value.shape, value.dtype.str, hash(content)
    if depth < MAX_DEPTH:
        if isinstance(value, dict) and len(value) <= MAX_ITEMS:
            return dict, tuple((repr(k), _mark(item, depth + 1)) for k, item in value.items())
        if isinstance(value, (list, tuple)) and len(value) <= MAX_ITEMS:
            return type(value), tuple(_mark(item, depth + 1) for item in value)
        if isinstance(value, (set, frozenset)) and len(value) <= MAX_ITEMS:
            return type(value), frozenset(_mark(item, depth + 1) for item in value)
        if type(value).__module__ == "__main__" and not _has_variables(value):
            attributes = getattr(value, "__dict__", {})
            return id(value), tuple((k, _mark(v, depth + 1)) for k, v in attributes.items())
    return type(value).__name__, id(value)


def _has_variables(value: Any) -> bool:
    return hasattr(type(value), "variables") or isinstance(value, type)
