"""What calls of traced functions have taken, thread by thread.

It is counted here, and not added up over the functions, so that a notebook cell with ten thousand
functions behind it learns what it has spent by subtracting two numbers.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, fields


@dataclass(slots=True)
class Spent:
    """What has been spent on some threads. Only a thread itself adds to what is its own.

    Attributes:
        tracing: Seconds in which outermost calls traced.
        running: Seconds in outermost calls, tracing excluded: the graph, its preparation on a first
            run, and the way there. Where a device works on after the call has returned, such as a
            GPU, it is the time until then.
        calls: Outermost calls; what they call is part of them.
        traces: Traces that were made, those within other traces too.
        watched: Calls of which TensorFlow told what was copied between devices.
        copies: Copies between devices in those.
        copied_nbytes: Their size in bytes, as far as it is known.
    """

    tracing: float = 0.0
    running: float = 0.0
    calls: int = 0
    traces: int = 0
    watched: int = 0
    copies: int = 0
    copied_nbytes: int = 0

    def add(self, other: Spent) -> None:
        """Adds what others have spent."""
        for name in _NAMES:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def since(self, before: Spent) -> Spent:
        """What has been spent since an earlier moment."""
        return Spent(*(getattr(self, name) - getattr(before, name) for name in _NAMES))

    def copy(self) -> Spent:
        """What has been spent up to now."""
        return self.since(Spent())


_NAMES = tuple(each.name for each in fields(Spent))


class _Thread(threading.local):
    """Ends with its thread, unlike what it has spent."""

    def __init__(self) -> None:
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
    """What this thread has spent; it goes on growing."""
    return _this_thread.spent


def spent_in_all() -> Spent:
    """What all threads have spent up to now, also those that have ended."""
    with _lock:
        for each in [each for each in _threads if each[0]() is None]:
            _threads.remove(each)
            _ended.add(each[1])
        found = _ended.copy()
        for _, spent in _threads:
            found.add(spent)
    return found
