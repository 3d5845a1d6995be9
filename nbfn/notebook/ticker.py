"""Updates the views while a cell runs, at most ten times a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from nbfn.errors import reporting

if TYPE_CHECKING:
    from nbfn.protocol import WorkRecord

INTERVAL = 0.1
"""Seconds between two updates."""

SAMPLES_PER_MARK = 10
"""Number of updates after which pages can check whether they missed a message."""


class Ticker:
    """A thread that flushes the feed periodically, from `start` to `stop`.

    Args:
        sample: Returns the running work, by id.
        show: Displays the running work.
    """

    def __init__(
        self,
        sample: Callable[[], dict[str, WorkRecord]] = dict,
        show: Callable[[Collection[WorkRecord]], None] = lambda _: None,
    ) -> None:
        self._sample = sample
        self._show = show
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="nbfn-ticker", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stops the thread, and flushes the rest."""
        if self._thread is not None:
            self._stop.set()
            # Joined, so that no update of the cell comes after its end.
            self._thread.join()
            self._thread = None
        self._tick(dict, marks=True)

    def _run(self) -> None:
        samples = 0
        while not self._stop.wait(INTERVAL):
            samples += 1
            self._tick(self._sample, marks=samples % SAMPLES_PER_MARK == 0)

    def _tick(self, sample: Callable[[], dict[str, WorkRecord]], *, marks: bool) -> None:
        """Shows running work, and flushes the feed, which exists once a view was opened."""
        with reporting("could not bring its views up to date, and will try again"):
            work = sample()
            self._show(work.values())
            # While another thread imports the module, it exists without `feed`.
            feed = getattr(sys.modules.get("nbfn.sessions.messages.feed"), "feed", None)
            if feed is not None:
                feed().environment.work = work
                feed().flush()
                if marks:
                    feed().mark()
