"""Updates displayed outputs when the objects that they show change.

So a saved notebook shows the final state, also without a kernel and without scripts.
"""

from __future__ import annotations

import secrets
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import report_failure
from nbfn.notebook.formatters import forget, split
from nbfn.site import current_cell
from nbfn.views.shown import LIVE

MAX_DISPLAYS = 50
"""Maximum number of outputs that are updated; older ones stay as they are."""


@dataclass
class _Display:
    id: str
    cell: str | None
    subject: Callable[[], Any]
    shown: int


class Displays:
    """The updatable outputs of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._displays: deque[_Display] = deque(maxlen=MAX_DISPLAYS)

    def register(self) -> None:
        """Registers the display of objects by updatable outputs, if there is a kernel."""
        # A terminal cannot update what it printed, so objects are shown as text there.
        if getattr(self._shell, "kernel", None) is not None:
            for name in LIVE:
                self._formatter.for_type_by_name(*split(name), self.show)

    def unregister(self) -> None:
        """Removes the registration; outputs stay as they are."""
        for name in LIVE:
            forget(self._formatter, name)
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
        """Stops updating the outputs of a cell that runs again: they are replaced."""
        if cell is not None:
            kept = [each for each in self._displays if each.cell != cell]
            self._displays = deque(kept, maxlen=MAX_DISPLAYS)

    def refresh(self) -> None:
        """Updates the outputs whose objects have changed."""
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
                    report_failure("could not bring an output up to date, and leaves it", error)

    def _publish(self, display: _Display, subject: Any, *, update: bool) -> None:
        data, metadata = self._shell.display_formatter.mimebundle_formatter(subject)
        transient = {"display_id": display.id}
        self._shell.display_pub.publish(data, metadata, transient=transient, update=update)


def _reference(subject: Any) -> Callable[[], Any]:
    """Returns a weak reference to an object; a session has no other owner, so a strong one."""
    # By name, because importing the class would import TensorFlow.
    return (lambda: subject) if type(subject).__name__ == "Session" else weakref.ref(subject)


def _changes(subject: Any) -> int:
    """Returns a number that changes when an object changes."""
    counted = getattr(subject, "recorder", subject)
    if hasattr(counted, "changed"):
        return int(counted.changed)
    from nbfn.sessions.messages.feed import feed

    return feed().seq
