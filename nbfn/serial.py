"""What belongs to objects by identity: values that go with them, and numbers never reused."""

from __future__ import annotations

import functools
import itertools
import threading
import weakref
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ByIdentity(Generic[T]):
    """A dictionary whose keys are objects by identity; an entry is removed with its object.

    A ``weakref.WeakKeyDictionary`` compares keys with ``==``, which may be the user's: equal
    objects would share a value, and unhashable ones would have none.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ReferenceType[Any], T]] = {}

    def get(self, key: Any) -> T | None:
        """Returns the value of an object; None if it has none."""
        entry = self._entries.get(id(key))
        return entry[1] if entry is not None and entry[0]() is key else None

    def __contains__(self, key: Any) -> bool:
        entry = self._entries.get(id(key))
        return entry is not None and entry[0]() is key

    def __getitem__(self, key: Any) -> T:
        return self._entries[id(key)][1]

    def __setitem__(self, key: Any, value: T) -> None:
        # Weakly, because the callbacks would keep the dictionary as long as its keys live.
        remove = functools.partial(_remove, weakref.ref(self), id(key))
        self._entries[id(key)] = weakref.ref(key, remove), value


def _remove(owner: weakref.ReferenceType[ByIdentity[Any]], address: int, dead: Any) -> None:
    entries = {} if (found := owner()) is None else found._entries
    entry = entries.get(address)
    if entry is not None and entry[0] is dead:  # another object may have its address already
        del entries[address]


_MAX_KEPT = 1000

_serials: ByIdentity[int] = ByIdentity()
_kept: dict[int, Any] = {}
_numbers = itertools.count(1)
# Garbage may be collected while it is held, and a finalizer may come here again.
_lock = threading.RLock()


def serial(value: Any) -> Any:
    """Returns a number that no other object has had; the address if weak references fail."""
    with _lock:
        existing = _serials.get(value)
        if existing is not None:
            return existing
        try:
            _serials[value] = number = next(_numbers)
        except TypeError:
            # Kept alive for a while, so that no other object soon gets its address.
            _kept[id(value)] = value
            if len(_kept) > _MAX_KEPT:
                del _kept[next(iter(_kept))]
            return "address", id(value)
        return number
