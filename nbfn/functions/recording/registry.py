"""Every traced function that is alive, held weakly; listed from any thread."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from nbfn.underway.enlisted import tell_enlisted

if TYPE_CHECKING:
    from nbfn.functions.calls.record import Observed

_lock = threading.Lock()
_live: weakref.WeakValueDictionary[str, Observed] = weakref.WeakValueDictionary()


def enlist(function: Observed) -> None:
    """Adds a function, for as long as it lives."""
    with _lock:
        _live[function.id] = function
    tell_enlisted(function)


def delist(function: Observed) -> None:
    """Takes a function off the list that nobody will use, though something may keep it alive."""
    with _lock:
        _live.pop(function.id, None)


def live_functions() -> list[Observed]:
    """Every traced function that is alive, in the order of creation."""
    with _lock:
        found = list(_live.values())
    return sorted(found, key=lambda function: int(function.id.split("-")[1]))
