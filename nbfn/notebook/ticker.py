"""Brings the views up to date while a cell runs, at most ten times a second."""

from __future__ import annotations

import sys
import threading
import warnings

from nbfn.errors import NbfnWarning

INTERVAL = 0.1
"""Seconds between two looks."""


class Ticker:
    """A thread that flushes the feed from time to time, from `start` to `stop`.

    Attributes:
        failed: The error that ended the updates, if one did.
    """

    def __init__(self) -> None:
        self.failed: Exception | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins to flush, until `stop`."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="nbfn-ticker", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stops, and flushes what is left."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None
        self._flush()

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL):
            self._flush()

    def _flush(self) -> None:
        """Flushes the feed if there is one; a feed exists only where somebody watches."""
        # While another thread imports the module, it is there but has no feed yet.
        feed = getattr(sys.modules.get("nbfn.sessions.feed"), "feed", None)
        if feed is None or self.failed is not None:
            return
        try:
            feed().flush()
        except Exception as error:
            self.failed = error
            warnings.warn(
                f"nbfn's views are no longer updated: {error!r}", NbfnWarning, stacklevel=2
            )
