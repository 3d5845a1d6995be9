"""Counts the time and the number of calls of traced functions, by thread.

Counters are kept per thread instead of summed over functions, so a notebook cell finds what it
spent by one subtraction, however many functions exist.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, fields


@dataclass(slots=True)
class Spent:
    """Time and counts of some threads. Each thread changes only its own.

    Attributes:
        tracing: Seconds that outermost calls spent on tracing.
        running: Seconds of outermost calls without tracing: the graph, its preparation on the first
            run, and the overhead of the call. If a device such as a GPU continues after the call
            has returned, only the time until the return counts.
        calls: Number of outermost calls; nested calls are part of them.
        traces: Number of traces made, including nested ones.
        watched: Number of calls whose copies between devices were recorded.
        copies: Number of copies between devices in these calls.
        copied_nbytes: Their size in bytes, as far as known.
    """

    tracing: float = 0.0
    running: float = 0.0
    calls: int = 0
    traces: int = 0
    watched: int = 0
    copies: int = 0
    copied_nbytes: int = 0

    def add(self, other: Spent) -> None:
        """Adds the counters of others."""
        for name in _NAMES:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def since(self, before: Spent) -> Spent:
        """Returns the difference from earlier counters."""
        return Spent(*(getattr(self, name) - getattr(before, name) for name in _NAMES))

    def copy(self) -> Spent:
        """Returns a copy."""
        return self.since(Spent())


_NAMES = tuple(each.name for each in fields(Spent))


class _Thread(threading.local):
    """Lives as long as its thread; its `spent` lives on."""

    def __init__(self) -> None:
        # Python calls this in each thread that uses the object.
        self.spent = Spent()
        self.owner = _Owner()
        with _lock:
            _threads.append((weakref.ref(self.owner), self.spent))


class _Owner:
    __slots__ = ("__weakref__",)


_lock = threading.RLock()
_threads: list[tuple[weakref.ReferenceType[_Owner], Spent]] = []
_ended = Spent()
_this_thread = _Thread()


def spent_here() -> Spent:
    """Returns the live counters of this thread."""
    return _this_thread.spent


def spent_in_all() -> Spent:
    """Returns a copy of the counters of all threads, including those that have ended."""
    with _lock:
        for each in [each for each in _threads if each[0]() is None]:
            _threads.remove(each)
            _ended.add(each[1])
        found = _ended.copy()
        for _, spent in _threads:
            found.add(spent)
    return found
