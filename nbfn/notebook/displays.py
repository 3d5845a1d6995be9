"""Outputs that stay true: what stands under a cell is brought up to date when its subject changes.

A notebook that is saved at its end shows its end, also where no kernel and no script runs.
"""

from __future__ import annotations

import secrets
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import tell_failure
from nbfn.notebook.formatters import LIVE, forget
from nbfn.site import current_cell

MAX_DISPLAYS = 50
"""So many outputs are kept true; older ones stay as they are."""


@dataclass
class _Display:
    id: str
    cell: str | None
    subject: Callable[[], Any]
    shown: int


class Displays:
    """The outputs of one shell that show what changes."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._displays: deque[_Display] = deque(maxlen=MAX_DISPLAYS)

    def register(self) -> None:
        """Has the objects displayed so that their outputs can be changed, if there is a kernel."""
        # In a terminal, which can change nothing that it has printed, they are text.
        if getattr(self._shell, "kernel", None) is not None:
            for module, name in LIVE:
                self._formatter.for_type_by_name(module, name, self.show)

    def unregister(self) -> None:
        """Takes the registration back; what is displayed stays."""
        for module, name in LIVE:
            forget(self._formatter, module, name)
        self._displays.clear()

    @property
    def _formatter(self) -> Any:
        return self._shell.display_formatter.ipython_display_formatter

    def show(self, subject: Any) -> None:
        """Displays an object."""
        cell = current_cell()
        display = _Display(
            f"nbfn-{secrets.token_hex(8)}",
            None if cell is None else cell.id,
            _reference(subject),
            _changes(subject),
        )
        self._publish(display, subject, update=False)
        self._displays.append(display)

    def begin(self, cell: str | None) -> None:
        """A cell runs anew: what it has displayed is replaced."""
        if cell is not None:
            kept = [each for each in self._displays if each.cell != cell]
            self._displays = deque(kept, maxlen=MAX_DISPLAYS)

    def refresh(self) -> None:
        """Brings up to date what has changed."""
        for display in list(self._displays):
            subject = display.subject()
            if subject is None:
                self._displays.remove(display)
                continue
            now = _changes(subject)
            if now != display.shown:
                display.shown = now
                try:
                    self._publish(display, subject, update=True)
                except Exception as error:
                    self._displays.remove(display)
                    tell_failure("could not bring an output up to date, and leaves it", error)

    def _publish(self, display: _Display, subject: Any, *, update: bool) -> None:
        data, metadata = self._shell.display_formatter.mimebundle_formatter(subject)
        transient = {"display_id": display.id}
        self._shell.display_pub.publish(data, metadata, transient=transient, update=update)


def _reference(subject: Any) -> Callable[[], Any]:
    """What is displayed is not kept alive; the session, a view that nobody else keeps, is held."""
    return (lambda: subject) if type(subject).__name__ == "Session" else weakref.ref(subject)


def _changes(subject: Any) -> int:
    """A number that is another one when the object has changed."""
    counted = getattr(subject, "recorder", subject)
    if hasattr(counted, "changed"):
        return int(counted.changed)
    from nbfn.sessions.feed import feed

    return feed().seq
