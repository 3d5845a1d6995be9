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
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MemberDescriptorType
from typing import Any

import numpy as np

MAX_PARTS = 2000
MAX_DEPTH = 8
FINGERPRINT_BYTES = 1 << 16

_LITERALS = frozenset({bool, int, str, bytes, type(None), type(...), range})
_TEXTS = {int: int.__repr__, float: float.__repr__, complex: complex.__repr__, str: str.__str__}
_SEQUENCES = (list, tuple, deque)
_SETS = (set, frozenset)
_CONTAINERS = (dict, *_SEQUENCES, *_SETS)
_MAX_KEPT = 1000

_serials: dict[int, tuple[weakref.ReferenceType[Any], int]] = {}
_kept: dict[int, Any] = {}
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
    return Mark(content_of(value), _text(value))


def content_of(value: Any) -> Any:
    """What a mark compares; of a container no more than `MAX_PARTS` parts are looked at."""
    return _content(value, 0, [MAX_PARTS])


def is_immutable(value: Any) -> bool:
    """Whether a value is the same as long as the object is the same."""
    kind = type(value)
    if kind is tuple:
        return len(value) <= 100 and all(map(is_immutable, value))
    return kind in _LITERALS or kind in (float, complex) or isinstance(value, np.generic)


def is_content(value: Any) -> bool:
    """Whether a value is marked by what it holds, and not by which object it is."""
    return is_immutable(value) or isinstance(
        value, (*_CONTAINERS, np.ndarray, bytearray, array, *_TEXTS)
    )


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
            # Kept for a while, so that no other object gets its address meanwhile.
            _kept[id(value)] = value
            if len(_kept) > _MAX_KEPT:
                del _kept[next(iter(_kept))]
            return "address", id(value)
        _serials[id(value)] = reference, number
        return number


def _drop(key: int, number: int, _: Any) -> None:
    known = _serials.get(key)
    if known is not None and known[1] == number:
        del _serials[key]


def _content(value: Any, depth: int, left: list[int]) -> Any:
    kind = type(value)
    if kind in _LITERALS:
        return kind, value
    for base, text in _TEXTS.items():
        if isinstance(value, base):
            return kind, text(value)
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    if isinstance(value, np.ndarray):
        return "array", value.shape, value.dtype.str, _fingerprint(value)
    if isinstance(value, bytearray):
        return kind, bytearray.__len__(value), _sample(value)
    if isinstance(value, array):
        return kind, value.typecode, array.__len__(value), _sample(value)
    left[0] -= 1
    if depth < MAX_DEPTH and left[0] > 0:
        if isinstance(value, dict):
            items = _some(dict.items(value), left)
            pairs = tuple(
                (_content(k, depth + 1, left), _content(v, depth + 1, left)) for k, v in items
            )
            return kind, dict.__len__(value), pairs
        for base in (*_SEQUENCES, *_SETS):
            if isinstance(value, base):
                # The class's own methods: those of a subclass may do anything.
                items = _some(base.__iter__(value), left)  # type: ignore[arg-type]
                parts = [_content(item, depth + 1, left) for item in items]
                size = base.__len__(value)  # type: ignore[arg-type]
                return kind, size, frozenset(parts) if base in _SETS else tuple(parts)
        slots = _slots_of(value)
        if slots is not None:
            return kind, tuple(_content(v, depth + 1, left) for v in _some(slots, left))
    if isinstance(value, _CONTAINERS):
        return kind, "unwatched"
    return kind.__qualname__, serial(value)


def _some(items: Iterable[Any], left: list[int]) -> Iterator[Any]:
    """Items as long as parts are left."""
    for item in items:
        if left[0] <= 0:
            return
        left[0] -= 1
        yield item


def _slots_of(value: Any) -> list[Any] | None:
    """What the slots of an object hold that no weak reference can watch; else None."""
    if type(value).__weakrefoffset__ or isinstance(value, type):
        return None
    found = []
    for cls in type(value).__mro__:
        for member in vars(cls).values():
            if isinstance(member, MemberDescriptorType):
                try:
                    found.append(member.__get__(value))
                except AttributeError:
                    found.append(None)
    return found or None


def _fingerprint(array: np.ndarray[Any, Any]) -> Any:
    """The bytes of a small array; of a large one those of elements spread over it."""
    if array.dtype.hasobject:
        return tuple(_content(each, 0, [100]) for each in array.flat[:100])
    if array.nbytes <= FINGERPRINT_BYTES:
        return array.tobytes()
    wanted = max(FINGERPRINT_BYTES // array.itemsize, 1)
    sample = array.flat[:: max(array.size // wanted, 1)]
    return sample.tobytes(), array.flat[-1].tobytes()


def _sample(items: bytearray | array[Any]) -> bytes:
    """The bytes of a short buffer; of a long one those of items spread over it, and the last."""
    base = bytearray if isinstance(items, bytearray) else array
    width = items.itemsize if isinstance(items, array) else 1
    size = base.__len__(items)  # type: ignore[arg-type]
    step = max(size * width // FINGERPRINT_BYTES, 1)
    parts = [slice(None, None, step), slice(-1, None)] if step > 1 else [slice(None)]
    return b"".join(bytes(base.__getitem__(items, each)) for each in parts)  # type: ignore


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 40
        self.maxlist = self.maxdict = self.maxtuple = self.maxset = 6
        self.maxlevel = 2


_short = _Short()


def _text(value: Any) -> str:
    try:
        if isinstance(value, np.ndarray):
            small = value.size <= 4 and not value.dtype.hasobject
            return str(value.tolist()) if small else f"an array {value.dtype}{list(value.shape)}"
        if isinstance(value, (bytearray, array)) and len(value) > 100:
            return f"a {type(value).__name__} of {len(value)} items"
        if is_content(value):
            return _short.repr(value)
        name = vars(value).get("__name__") if not isinstance(value, type) else value.__name__
        if isinstance(name, str):
            return f"{type(value).__name__} {name}"
    except Exception:  # a user's class may do anything, also when it is shown
        return f"a {type(value).__name__}"
    return f"a {type(value).__name__} object"
