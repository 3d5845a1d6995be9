"""Marks of values: equal as long as a trace that read the value would be traced the same again.

A mark holds no object of the user's. Plain values stand for themselves, containers for what they
hold, arrays for a fingerprint, and every other object for a serial number that dies with it.
"""

from __future__ import annotations

import functools
import itertools
import reprlib
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_ITEMS = 100
MAX_DEPTH = 4
FINGERPRINT_BYTES = 4096

_LITERALS = (bool, int, float, complex, str, bytes, type(None), type(...), range)
_IMMUTABLE = (*_LITERALS, np.generic)

_serials: dict[int, tuple[weakref.ReferenceType[Any], int]] = {}
_numbers = itertools.count(1)
_lock = threading.Lock()


@dataclass(frozen=True)
class Mark:
    """A mark, and the value in words for when it differs."""

    content: Any
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mark) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)


ABSENT = Mark("absent", "absent")


def is_function(known: Mark) -> bool:
    """Whether a mark is that of a function of the user's."""
    return isinstance(known.content, tuple) and known.content[:1] == ("function",)


def mark(value: Any) -> Mark:
    """The mark of a value."""
    return Mark(_content(value, 0), _text(value))


def is_immutable(value: Any) -> bool:
    """Whether a value is the same as long as the object is the same."""
    if isinstance(value, tuple):
        return len(value) <= MAX_ITEMS and all(map(is_immutable, value))
    return isinstance(value, _IMMUTABLE)


def is_content(value: Any) -> bool:
    """Whether a value is marked by what it holds, and not by which object it is."""
    return isinstance(value, (dict, list, tuple, set, frozenset, np.ndarray, *_IMMUTABLE))


def serial(value: Any) -> Any:
    """A number that no other object has had; the address where an object cannot be watched."""
    with _lock:
        known = _serials.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        number = next(_numbers)
        try:
            reference = weakref.ref(value, functools.partial(_drop, id(value), number))
        except TypeError:
            return "address", id(value)
        _serials[id(value)] = reference, number
        return number


def _drop(key: int, number: int, _: Any) -> None:
    known = _serials.get(key)
    if known is not None and known[1] == number:
        del _serials[key]


def _content(value: Any, depth: int) -> Any:
    kind = type(value)
    if isinstance(value, (float, complex)):
        return kind, repr(value)
    if isinstance(value, _LITERALS):
        return kind, value
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    if isinstance(value, np.ndarray):
        return "array", value.shape, value.dtype.str, _fingerprint(value)
    if depth < MAX_DEPTH:
        if isinstance(value, dict):
            items = itertools.islice(value.items(), MAX_ITEMS)
            pairs = ((_content(k, depth + 1), _content(item, depth + 1)) for k, item in items)
            return kind, len(value), tuple(pairs)
        if isinstance(value, (list, tuple)):
            return kind, len(value), tuple(_content(v, depth + 1) for v in value[:MAX_ITEMS])
        if isinstance(value, (set, frozenset)) and len(value) <= MAX_ITEMS:
            return kind, frozenset(_content(item, depth + 1) for item in value)
    return kind.__name__, serial(value)


def _fingerprint(array: np.ndarray[Any, Any]) -> Any:
    """The bytes of a small array; of a large one those of elements spread over it."""
    if array.dtype.hasobject:
        return repr(array.reshape(-1)[:MAX_ITEMS].tolist())
    if array.nbytes <= FINGERPRINT_BYTES:
        return array.tobytes()
    wanted = max(FINGERPRINT_BYTES // array.itemsize, 1)
    sample = array.flat[:: max(array.size // wanted, 1)]
    return sample.tobytes(), array.flat[-1].tobytes()


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 40
        self.maxlist = self.maxdict = self.maxtuple = self.maxset = 6
        self.maxlevel = 2


_short = _Short()


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        small = value.size <= 4 and not value.dtype.hasobject
        return str(value.tolist()) if small else f"an array {value.dtype}{list(value.shape)}"
    if isinstance(value, (*_LITERALS, dict, list, tuple, set, frozenset)):
        try:
            return _short.repr(value)
        except Exception:  # a user's __repr__ may do anything
            return f"a {type(value).__name__}"
    name = getattr(value, "__name__", None)
    if isinstance(name, str):
        return f"{type(value).__name__} {name}"
    return f"a {type(value).__name__} object"
