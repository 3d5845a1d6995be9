"""The registry of live traced functions, held weakly; readable from any thread."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from nbfn.underway.registered import notify_registered

if TYPE_CHECKING:
    from nbfn.functions.calls.record import Observed

# Garbage may be collected while it is held, and a finalizer may come here again.
_lock = threading.RLock()
_live: weakref.WeakValueDictionary[str, Observed] = weakref.WeakValueDictionary()


def register(function: Observed) -> None:
    """Adds a function; it is removed when it is garbage-collected."""
    with _lock:
        _live[function.id] = function
    notify_registered(function)


def unregister(function: Observed) -> None:
    """Removes a function that will not be used again, though something may keep it alive."""
    with _lock:
        _live.pop(function.id, None)


def live_functions() -> list[Observed]:
    """Returns the live traced functions, in the order of creation."""
    with _lock:
        return list(_live.values())
