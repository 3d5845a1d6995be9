"""Numbers for objects that, unlike ``id``, are never reused."""

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
    """Returns a number that no other object has had; the address if weak references fail."""
    with _lock:
        known = _serials.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        number = next(_numbers)
        try:
            reference = weakref.ref(value, functools.partial(_drop, id(value), number))
        except TypeError:
            # Kept alive for a while, so that no other object soon gets its address.
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
