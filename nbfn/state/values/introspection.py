"""Reads what objects, classes and functions hold, without running any code of the user's."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable
from types import CellType, MemberDescriptorType
from typing import Any

import numpy as np

from nbfn import _tensorflow
from nbfn.state.bytecode.parts import Part
from nbfn.state.values.fingerprints import ABSENT, is_a

Fetch = Callable[[], Any]


def undressed(value: Any) -> Any:
    """What a class holds under a name, without the descriptor around it."""
    if is_a(value, property):
        return value.fget
    if is_a(value, functools.cached_property):
        return value.func
    if is_a(value, (staticmethod, classmethod)):
        return value.__func__
    return value


def own_attributes(value: Any) -> dict[str, Any]:
    """What an object itself holds, in its dictionary and its slots."""
    found: dict[str, Any] = {}
    classes: Any = type(value).__mro__
    for cls in classes:
        for name in _slots(cls):
            try:
                found.setdefault(name, vars(cls)[name].__get__(value))
            except (AttributeError, TypeError):  # not set yet, or a proxy that says it is another
                continue
    return {**found, **_dictionary(value)}


@functools.lru_cache(4096)
def _slots(cls: Any) -> tuple[str, ...]:
    return tuple(n for n, v in vars(cls).items() if isinstance(v, MemberDescriptorType))


def count_attributes(holder: Fetch, cls: Fetch | None = None) -> int:
    """How many attributes an object has, at most 256.

    CPython shares whole numbers up to there, and `State.holds` compares with ``is``.

    Args:
        holder: Fetches the object.
        cls: Fetches the class that it had; if it has another now, the answer is -1.
    """
    value = holder()
    if cls is not None and type(value) is not cls():
        return -1
    kind: Any = type(value)
    if issubclass(kind, type):
        return min(len(vars(value)), 256)
    own = own_attributes if _has_slots(kind) else _dictionary
    return min(len(own(value)), 256)


def _dictionary(value: Any) -> dict[str, Any]:
    """An object's dictionary itself; empty if it has none."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        if not is_a(value, threading.local):
            return {}
        attributes = threading.local.__getattribute__(value, "__dict__")
    return attributes if isinstance(attributes, dict) else {}


@functools.lru_cache(4096)
def _has_slots(cls: Any) -> bool:
    return any(map(_slots, cls.__mro__))


def hides_none(namespace: dict[str, Any], names: frozenset[str]) -> bool:
    """Returns whether a module has none of these names of builtins."""
    return namespace.keys().isdisjoint(names)


def reference_to(value: Any) -> Fetch | None:
    """A weak reference; None if the value cannot have one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return None


def late(value: Any) -> Fetch:
    """Fetches a value by a weak reference; by a strong one if it cannot have one."""
    return reference_to(value) or (lambda: value)


def closed_over(function: Fetch, index: int) -> Any:
    """A value in a function's closure; `ABSENT` if it is not bound, or the function is gone."""
    closure: tuple[CellType, ...] = getattr(function(), "__closure__", None) or ()
    try:
        return closure[index].cell_contents
    except (IndexError, ValueError):  # the function is gone, or the name is not bound yet
        return ABSENT


def part_of(function: Fetch, name: str) -> Any:
    """A part of a function, such as its code; None if the function is gone."""
    return getattr(function(), name, None)


def bound_by(holder: Fetch) -> Any:
    """What a partial binds."""
    value = holder()
    return (getattr(value, "args", ()), getattr(value, "keywords", {}))


def member(holder: Fetch, attribute: str) -> Any:
    """The attribute that an object or a class holds itself; `ABSENT` if it holds none."""
    value = holder()
    kind: Any = type(value)
    if issubclass(kind, type):
        return undressed(vars(value).get(attribute, ABSENT))
    found = _tensorflow.unwrapped(_dictionary(value).get(attribute, ABSENT))
    if found is ABSENT and _has_slots(kind):
        return own_attributes(value).get(attribute, ABSENT)
    return found


def parts_of(value: Any, parts: Iterable[Part]) -> bool:
    """Whether these parts can be looked at by themselves: the class is Python's or NumPy's."""
    kinds = {part.kind for part in parts}
    if type(value) in (dict, defaultdict, list, tuple):
        return "attribute" not in kinds
    if type(value) in (set, frozenset):
        return kinds == {"length"}
    return type(value) is np.ndarray and "item" not in kinds


def part_fetched(fetch: Fetch, part: Part) -> Any:
    """A part of a value; `ABSENT` if there is none."""
    value = fetch()
    if not parts_of(value, [part]):
        return ABSENT
    if part.kind == "length":
        return len(value)
    if part.kind == "attribute":
        return getattr(value, str(part.name))
    try:
        if type(value) is defaultdict:  # whose own look-up makes what is missing
            return dict.get(value, part.name, ABSENT)
        return value[part.name]
    except (LookupError, TypeError):
        return ABSENT
