"""Finds what is reached from values of Python's own classes: views, references, bound methods."""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import operator
import sys
import threading
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from enum import Enum, EnumType
from types import (
    BuiltinMethodType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from nbfn.code import closure, is_user_module, package_of
from nbfn.state.values.fingerprints import ABSENT, is_immutable
from nbfn.state.values.introspection import Fetch, own_attributes
from nbfn.state.values.settings import setting_names
from nbfn.state.values.unwrapping import PARTIALS, WRAPPERS, inside, unwrapped

HOLDERS = (SimpleNamespace, argparse.Namespace, threading.local)
"""Classes whose instances have user-defined attributes."""

_empty: tuple[dict[Any, Any], ...] = ({}, OrderedDict())
# A dataset has its functions as graphs, a shell has the whole notebook, Keras's objects settings.
_NOT_GIVEN = sys.stdlib_module_names | {
    *("tensorflow", "keras", "numpy", "nbfn", "IPython", "ipykernel")
}
_MAX_GIVEN = 100
_VIEWS = tuple(type(view) for each in _empty for view in (each.keys(), each.values(), each.items()))
_GETTERS = (operator.attrgetter, operator.methodcaller)


def _behind(view: Any) -> Any:
    """Returns the dictionary of a view or proxy, which no attribute exposes directly."""
    return next(iter(gc.get_referents(view)), ABSENT)


def _function_in(value: Any) -> Any:
    """Returns the function of a `numpy.frompyfunc` or `cmp_to_key`, which no attribute exposes."""
    referents = gc.get_referents(value)
    return next((each for each in referents if isinstance(each, FunctionType)), ABSENT)


def _in_context(variable: ContextVar[Any]) -> Any:
    try:
        return variable.get()
    except LookupError:
        return None


def _bound_to(method: Any) -> Any:
    return ABSENT if isinstance(method.__self__, ModuleType) else method.__self__


def _context_around(function: FunctionType) -> Any:
    """Returns the context manager that decorates a function, which only contextlib's code reads."""
    if function.__globals__ is not vars(contextlib):
        return ABSENT
    manager = closure(function).get("self", ABSENT)
    own = own_attributes(manager)  # of a generator: how each call makes it again
    return (own["func"], own["args"], own["kwds"]) if "gen" in own else manager


WRAPPED = ".__wrapped__"


def _inside(wrapper: Any) -> Any:
    """Returns the object or bound method in a wrapper, whose own fingerprint covers a function."""
    found = inside(wrapper)
    return ABSENT if found is None or isinstance(found, FunctionType) else found


_REFERENTS: tuple[tuple[tuple[type, ...], str, Callable[[Any], Any]], ...] = (
    ((MappingProxyType, *_VIEWS), ".mapping", _behind),
    ((weakref.ref,), "()", weakref.ref.__call__),
    (WRAPPERS, WRAPPED, _inside),
    (PARTIALS, ".args", lambda partial: partial.args),
    (PARTIALS, ".keywords", lambda partial: partial.keywords),
    ((ContextVar,), ".get()", _in_context),
    ((EnumType,), "", lambda cls: cls._member_map_),
    ((Enum,), ".value", lambda member: member._value_),
    ((BuiltinMethodType, type([].__len__)), ".__self__", _bound_to),
    ((np.vectorize,), ".pyfunc", lambda value: value.pyfunc),
    ((np.ufunc, type(functools.cmp_to_key(operator.sub))), "()", _function_in),
    ((defaultdict,), ".default_factory", lambda value: value.default_factory),
    ((functools.singledispatchmethod,), ".dispatcher", lambda method: method.dispatcher),
    ((FunctionType,), " decorator", _context_around),
    # What `functools.singledispatch` chooses from.
    ((FunctionType,), ".registry", lambda function: vars(function).get("registry", ABSENT)),
)
"""What is reached from values of some classes, with its expression."""


def referents(value: Any, fetch: Fetch) -> Iterator[tuple[str, Fetch]]:
    """Yields what is reached from a value other than by attribute or item, with its expression."""
    for kinds, text, read in _REFERENTS:
        if issubclass(type(value), kinds) and read(value) is not ABSENT:
            yield text, functools.partial(_referent, kinds, read, fetch)


def _referent(kinds: tuple[type, ...], read: Callable[[Any], Any], fetch: Fetch) -> Any:
    value = fetch()
    return read(value) if issubclass(type(value), kinds) else ABSENT


def given_to(value: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yields user functions, user objects and modules that a library was given, with expressions.

    A library's object has them in its parts, a library's function closes over them.

    Args:
        value: The object or function.
        seen: The addresses of what was searched before, to which this search adds.
    """
    package = package_of((value if type(value) is FunctionType else type(value)).__module__)
    # Breadth first: what the user passed is near the surface of a library's object, and the search
    # has a bound.
    found, left = deque(() if id(value) in seen else _parts(value, package)), _MAX_GIVEN
    seen.update(map(id, (value, *unwrapped(value))))
    while found and left:
        path, each = found.popleft()
        if is_immutable(each) or id(each) in seen:
            continue
        left -= 1
        kind = type(each)
        called = type(each.__self__) if kind is MethodType else kind
        is_called = is_user_module(called.__module__) or bool(setting_names(called))
        if is_called or any(True for _ in unwrapped(each)):
            yield path, each
            continue
        seen.add(id(each))
        if kind is dict:
            found.extend((f"{path}[{key!r}]", e) for key, e in each.items() if type(key) is str)
        elif kind in (list, tuple):
            found.extend((f"{path}[{i}]", inner) for i, inner in enumerate(each))
        else:
            at = "" if type(each) is FunctionType else path  # of wrappers in wrappers, the last
            found.extend((at + name, inner) for name, inner in _parts(each, package))


def _parts(value: Any, package: str) -> Iterator[tuple[str, Any]]:
    """Yields what a library's wrapper calls, and the attributes of an object of a package."""
    own = own_attributes(value)
    if "__wrapped__" in own:
        yield WRAPPED, own["__wrapped__"]
    if type(value) is FunctionType:
        yield from ((" closure", inner) for inner in closure(value).values())
    elif package not in _NOT_GIVEN and package_of(type(value).__module__) == package:
        yield from ((f".{name}", inner) for name, inner in own.items())


def names_in(value: Any) -> frozenset[str]:
    """Returns the attributes that an `attrgetter`, a `methodcaller` or a decorator reads."""
    if type(value) is FunctionType and _context_around(value) is not ABSENT:
        return frozenset({"__enter__", "__exit__"})
    if type(value) not in _GETTERS:
        return frozenset()
    # Neither class has a public attribute for its names (CPython).
    texts = [each for each in value.__reduce__()[1] if isinstance(each, str)]
    return frozenset(name for text in texts for name in text.split("."))
