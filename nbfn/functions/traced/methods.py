"""Maps instances to the traced functions of a method, by identity.

TensorFlow's dictionary compares instances with ``==``: equal instances would share traces, and
unhashable instances would have none.
"""

from __future__ import annotations

import weakref
from typing import Any


class Instances:
    """Values by instance; an entry is removed with its instance."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ReferenceType[Any], Any]] = {}

    def find(self, instance: Any) -> Any:
        """Returns the value of an instance; None if it has none."""
        entry = self._entries.get(id(instance))
        return entry[1] if entry is not None and entry[0]() is instance else None

    def __contains__(self, instance: Any) -> bool:
        entry = self._entries.get(id(instance))
        return entry is not None and entry[0]() is instance

    def __getitem__(self, instance: Any) -> Any:
        return self._entries[id(instance)][1]

    def __setitem__(self, instance: Any, value: Any) -> None:
        entries = self._entries
        key = id(instance)
        entries[key] = weakref.ref(instance, lambda _: entries.pop(key, None)), value
