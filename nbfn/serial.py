"""Numbers for objects that, other than ``id``, are never given to another object."""

from __future__ import annotations

import functools
import itertools
import threading
import weakref
from typing import Any

_MAX_KEPT = 1000

_serials: dict[int, tuple[weakref.ReferenceType[Any], int]] = {}
_kept: dict[int, Any] = {}
_numbers = itertools.count(1)
_lock = threading.Lock()


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
