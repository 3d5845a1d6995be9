"""Shows running work below a cell."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

if TYPE_CHECKING:
    from nbfn.protocol import WorkRecord


DISPLAY = "nbfn-work-"
"""Prefix of the ids of its displays, by which `nbfn run` finds them."""


class ProgressDisplay:
    """One display of running work, which is empty at the end.

    In a notebook it is an updated display; in a terminal, the last line of the standard error
    stream. Log files and terminals that cannot clear a line have none.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._shown: tuple[WorkRecord, ...] = ()
        self._display: str | None = None

    def show(self, work: Collection[WorkRecord]) -> None:
        """Shows this work instead of earlier work."""
        rows = tuple(work)
        if rows == self._shown:
            return
        self._shown = rows
        if getattr(self._shell, "kernel", None) is not None:
            self._publish(rows)
        # Elsewhere, such as in a log file, each update would be a new line.
        elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            _write_line(rows)

    def end(self) -> None:
        """Removes the display."""
        self.show(())
        self._display = None

    def _publish(self, rows: tuple[WorkRecord, ...]) -> None:
        publisher = self._shell.display_pub
        # Captured output is kept by the program, and progress should not be part of it.
        if isinstance(publisher, CapturingDisplayPublisher) or not (rows or self._display):
            return
        if self._display is None:
            self._display = f"{DISPLAY}{secrets.token_hex(8)}"
            # Empty, because some front ends keep the first display and ignore updates.
            self._send({}, update=False)
        self._send(_bundle(rows), update=True)

    def _send(self, data: dict[str, Any], *, update: bool) -> None:
        transient = {"display_id": self._display}
        self._shell.display_pub.publish(data, transient=transient, update=update)


def _bundle(rows: Sequence[WorkRecord]) -> dict[str, Any]:
    if not rows:
        return {}
    from nbfn.views.work_text import work_html, work_text

    return {"text/plain": work_text(rows), "text/html": work_html(rows)}


def _write_line(rows: Sequence[WorkRecord]) -> None:
    """Writes the newest work where the cell's next output overwrites it."""
    text = ""
    if rows:
        from nbfn.views.work_text import work_text

        text = work_text(rows[-1:])[: shutil.get_terminal_size().columns - 1]
    sys.stderr.write(f"{text}{_CLEAR}\r" if text else _CLEAR)
    sys.stderr.flush()


_CLEAR = "\x1b[K"
"""Terminal escape that clears the rest of the line."""
