"""Reads the attributes of objects, classes and functions without running user code."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, KeysView, Mapping
from types import CellType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

import numpy as np

from nbfn import _tensorflow
from nbfn.code import closure
from nbfn.state.bytecode.read_parts import Part
from nbfn.state.values.fingerprints import ABSENT, is_a, is_content

Fetch = Callable[[], Any]

_MADE_BY_CYTHON = frozenset({"__reduce_cython__", "__pyx_vtable__"})


def without_descriptor(value: Any) -> Any:
    """Returns what a class attribute wraps, without a descriptor such as ``property``."""
    if is_a(value, property):
        return value.fget
    if is_a(value, functools.cached_property):
        return value.func
    if is_a(value, (staticmethod, classmethod)):
        return value.__func__
    return value


def with_decorated(value: Any) -> list[FunctionType]:
    """Returns a function and those that it wraps, which decorators often only close over."""
    found = [value] if is_a(value, FunctionType) else []
    for function in found:
        inner = (vars(function).get("__wrapped__"), *closure(function).values())
        # `functools.wraps` sets `__wrapped__`; decorators without it leave only the closure.
        found += [each for each in inner if is_a(each, FunctionType) and each not in found]
    return found


def own_attributes(value: Any) -> dict[str, Any]:
    """Returns the attributes in an object's own dictionary and slots."""
    found: dict[str, Any] = {}
    for name, cls in slots_of(type(value)).items():
        get = vars(cls())[name].__get__
        try:
            content = get(value)
        except Exception:  # not set, or a proxy with a false `__class__`
            continue
        # A property of Cython, such as the transpose, may be another object at each look.
        if is_content(content) or get(value) is content:
            found[name] = content
    return {**found, **dictionary(value)}


# Weakly, and without the descriptors of the slots, which refer to their class.
_slots_by_class: weakref.WeakKeyDictionary[type, dict[str, Fetch]] = weakref.WeakKeyDictionary()


def slots_of(cls: type) -> dict[str, Fetch]:
    """Returns the slots of a class and its bases, each with a reference to the class it is of."""
    found = _slots_by_class.get(cls)
    if found is None:
        bases: Any = reversed(cls.__mro__)
        found = {name: weakref.ref(base) for base in bases for name in _slots_in(base)}
        _slots_by_class[cls] = found
    return found


def _slots_in(cls: Any) -> tuple[str, ...]:
    if cls.__module__ == "builtins":  # a function's `__globals__` is a member, too
        return ()
    kinds: tuple[type, ...] = (MemberDescriptorType,)
    if _MADE_BY_CYTHON & vars(cls).keys():  # as pandas is, where attributes are properties
        kinds = (MemberDescriptorType, GetSetDescriptorType)
    return tuple(n for n, v in vars(cls).items() if isinstance(v, kinds) and n != "__dict__")


def attribute_names(value: Any) -> KeysView[str]:
    """Returns the names of the attributes that an object or a class has itself."""
    kind: Any = type(value)
    found: Mapping[str, Any] = dictionary(value)
    if issubclass(kind, type):
        found = vars(value)
    elif slots_of(kind):
        found = own_attributes(value)
    return found.keys()


def dictionary(value: Any) -> dict[str, Any]:
    """Returns an object's own ``__dict__``; empty if it has none."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        if not is_a(value, threading.local):
            return {}
        # Only its own `__getattribute__` finds the dictionary of this thread (CPython).
        attributes = threading.local.__getattribute__(value, "__dict__")
    if attributes == {} and is_a(value, threading.local):  # a subclass has another, empty one
        attributes = threading.local.__getattribute__(value, "__dict__")
    return attributes if isinstance(attributes, dict) else {}


def reference_to(value: Any) -> Fetch | None:
    """Returns a weak reference; None if the value does not support it."""
    try:
        return weakref.ref(value)
    except TypeError:
        return None


def fetch_of(value: Any) -> Fetch:
    """Returns a weak reference to a value; a strong one if it does not support weak references."""
    return reference_to(value) or (lambda: value)


def closed_over(function: Fetch, index: int) -> Any:
    """Returns a value in a closure; `ABSENT` if it is unbound or the function is dead."""
    closure: tuple[CellType, ...] = getattr(function(), "__closure__", None) or ()
    try:
        return closure[index].cell_contents
    except (IndexError, ValueError):  # the function is dead, or the name is not bound yet
        return ABSENT


def part_of(function: Fetch, name: str) -> Any:
    """Returns an attribute of a function, such as its code; None if the function is dead."""
    return getattr(function(), name, None)


def member(holder: Fetch, attribute: str) -> Any:
    """Returns an attribute in an object's or class's own dictionary; `ABSENT` if there is none."""
    value = holder()
    kind: Any = type(value)
    if issubclass(kind, type):
        return without_descriptor(vars(value).get(attribute, ABSENT))
    found = _tensorflow.unwrap(dictionary(value).get(attribute, ABSENT))
    if found is ABSENT and attribute in (slots := slots_of(kind)):
        try:
            return vars(slots[attribute]())[attribute].__get__(value)
        except Exception:  # as in `own_attributes`
            return ABSENT
    return found


def parts_of(value: Any, parts: Iterable[Part]) -> bool:
    """Returns whether parts can be read without user code: the class is Python's or NumPy's."""
    kinds = {part.kind for part in parts}
    if type(value) in (dict, defaultdict, list, tuple):
        return "attribute" not in kinds
    if type(value) in (set, frozenset):
        return kinds == {"length"}
    return type(value) is np.ndarray and "item" not in kinds


_OF_ANOTHER_CLASS = object()


def part_fetched(fetch: Fetch, part: Part) -> Any:
    """Returns a part of a value; `ABSENT` if it has none; another object if it has other parts."""
    value = _tensorflow.unwrap(fetch())
    if not parts_of(value, [part]):
        return _OF_ANOTHER_CLASS
    if part.kind == "length":
        return len(value)
    if part.kind == "attribute":
        return getattr(value, str(part.name))
    try:
        if type(value) is defaultdict:  # its own look-up would create a missing item
            return dict.get(value, part.name, ABSENT)
        return value[part.name]
    except (LookupError, TypeError):
        return ABSENT
