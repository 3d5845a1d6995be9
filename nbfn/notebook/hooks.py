"""What is done before and after each cell runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.notebook.displays import Displays
from nbfn.notebook.progress import ProgressDisplay
from nbfn.notebook.ticker import Ticker
from nbfn.site import Cell, enter_cell, leave_cell

if TYPE_CHECKING:
    from nbfn.protocol import WorkRecord
    from nbfn.sessions.lookout import Lookout

_LOADING = object()
"""Stands for the cell that loads nbfn, of which no hook tells."""


class Hooks:
    """Tells which cell runs, and keeps the views up to date while it runs.

    Args:
        shell: The shell.
        displays: The outputs that are brought up to date when a cell has ended.
        ended: Is called when a cell has ended.
    """

    def __init__(
        self, shell: InteractiveShell, displays: Displays, ended: Callable[[], None] = lambda: None
    ) -> None:
        self._shell = shell
        self._displays = displays
        self._ended = ended
        self._entered: list[Any] = []
        self._progress = ProgressDisplay(shell)
        self._lookout: Lookout | None = None
        self._thread = threading.get_ident()
        self._ticker = Ticker(self._look, self._progress.show)
        self._discovering = False

    def register(self) -> None:
        """Registers with the shell. If a cell runs, as ``%load_ext`` does in one, it is entered."""
        if self._in_a_cell():
            self._enter(_LOADING, count=self._shell.displayhook.prompt_count)
        self._shell.events.register("pre_run_cell", self.before)
        self._shell.events.register("post_run_cell", self.after)

    def unregister(self) -> None:
        """Takes the registration back."""
        self._shell.events.unregister("pre_run_cell", self.before)
        self._shell.events.unregister("post_run_cell", self.after)
        while self._entered:  # the cell that unloads nbfn, whose end no hook will tell
            self._entered.pop()
            leave_cell()
        self._ticker.stop()
        if self._discovering:
            from nbfn.functions.watching.watch import stop_discovering

            stop_discovering()

    def before(self, info: Any) -> None:
        """A cell begins to run."""
        if info.silent:
            return
        count = self._shell.displayhook.prompt_count if info.store_history else None
        self._enter(info, count)

    def _enter(self, info: Any, count: int | None) -> None:
        cell_id = _cell_id(self._shell) if info is _LOADING else getattr(info, "cell_id", None)
        enter_cell(Cell(cell_id, count), self._shell.user_ns)
        self._displays.begin(cell_id)
        self._entered.append(info)
        self._discover()
        self._ticker.start()

    def _discover(self) -> None:
        """Sees every tf.function of the notebook, from the first cell that finds TensorFlow."""
        if self._discovering or not hasattr(sys.modules.get("tensorflow"), "function"):
            return
        self._discovering = True
        from nbfn.functions.watching.watch import discover

        discover()
        self._look()

    def _look(self) -> dict[str, WorkRecord]:
        """What takes long in the cell, once the user has imported nbfn's functions."""
        if self._lookout is None:
            if not hasattr(sys.modules.get("nbfn.functions"), "Doing"):
                return {}
            from nbfn.notebook.frames import cell_name
            from nbfn.sessions.lookout import Lookout

            self._lookout = Lookout(self._thread, cell_name)
        return self._lookout.look()

    def _in_a_cell(self) -> bool:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            code = frame.f_code
            # What a front end evaluates beside the cells is "<string>".
            if frame.f_globals is self._shell.user_ns and code.co_name == "<module>":
                return code.co_filename != "<string>"
            frame = frame.f_back
        return False

    def after(self, result: Any) -> None:
        """A cell has ended."""
        if not self._entered or self._entered[-1] not in (result.info, _LOADING):
            return
        self._entered.pop()
        leave_cell()
        _tell_devices()
        self._ended()
        if not self._entered:
            self._ticker.stop()
            self._progress.end()
            self._displays.refresh()


def _cell_id(shell: InteractiveShell) -> str | None:
    """Id of the cell that runs, from the kernel's message."""
    get_parent = getattr(shell, "get_parent", None)
    message = get_parent() if get_parent is not None else None
    found: str | None = (message or {}).get("metadata", {}).get("cellId")
    return found


def _tell_devices() -> None:
    """Tells the feed of the devices, once a trace has made TensorFlow find them anyway."""
    if "nbfn.sessions.feed" in sys.modules and "nbfn.functions" in sys.modules:
        from nbfn.sessions.devices import tell_devices

        tell_devices()
