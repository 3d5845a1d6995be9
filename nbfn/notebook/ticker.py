"""Brings the views up to date while a cell runs, at most ten times a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from nbfn.errors import tell_failure

if TYPE_CHECKING:
    from nbfn.protocol import WorkRecord

INTERVAL = 0.1
"""Seconds between two looks."""

LOOKS_PER_MARK = 10
"""Number of looks after which pages learn whether they have missed a message."""


class Ticker:
    """A thread that flushes the feed from time to time, from `start` to `stop`.

    Args:
        look: Says what work is under way, by id.
        show: Shows it.
    """

    def __init__(
        self,
        look: Callable[[], dict[str, WorkRecord]] = dict,
        show: Callable[[Collection[WorkRecord]], None] = lambda _: None,
    ) -> None:
        self._look = look
        self._show = show
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
        self._tick(dict, marks=True)

    def _run(self) -> None:
        looks = 0
        while not self._stop.wait(INTERVAL):
            looks += 1
            self._tick(self._look, marks=looks % LOOKS_PER_MARK == 0)

    def _tick(self, look: Callable[[], dict[str, WorkRecord]], *, marks: bool) -> None:
        """Shows what is under way, and flushes the feed, which is made when a first view opens."""
        try:
            work = look()
            self._show(work.values())
            # While another thread imports the module, it is there but has no feed yet.
            feed = getattr(sys.modules.get("nbfn.sessions.feed"), "feed", None)
            if feed is not None:
                feed().environment.work = work
                feed().flush()
                if marks:
                    feed().mark()
        except Exception as error:
            tell_failure("could not bring its views up to date, and will try again", error)
