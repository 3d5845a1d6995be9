"""Hooks that run before and after each cell."""

from __future__ import annotations

import ast
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from IPython.core.interactiveshell import InteractiveShell

from nbfn.code import keeping_random_state
from nbfn.errors import NbfnWarning, reporting
from nbfn.notebook.displays import Displays
from nbfn.notebook.frames import line_in_cell
from nbfn.notebook.not_finite import offer_numerics
from nbfn.notebook.progress_display import ProgressDisplay
from nbfn.notebook.ticker import Ticker
from nbfn.sessions.messages.runs import Ending, runs
from nbfn.site import (
    Cell,
    current_cell,
    enter_cell,
    find_cells_by,
    find_cells_that_set_names_by,
    leave_cell,
)

if TYPE_CHECKING:
    from nbfn.protocol import WorkRecord
    from nbfn.sessions.messages.activity_monitor import ActivityMonitor

_AFTER_A_MESSAGE = 0.1
"""Seconds until the kernel has sent its idle status for a page's message."""
_UNTIMED = "could not record when a cell ran"
_LOADING = object()
"""Marks the cell that loads nbfn, whose start no hook reported."""


class Hooks:
    """Tracks the running cell, and updates the views while it runs.

    Args:
        shell: The shell.
        displays: The outputs to update when a cell has ended.
        on_end: Called when a cell has ended.
    """

    def __init__(
        self, shell: InteractiveShell, displays: Displays, on_end: Callable[[], None] = lambda: None
    ) -> None:
        self._shell = shell
        self._displays = displays
        self._on_end = on_end
        self._entered: list[Any] = []
        self._begun: Any = None
        self._progress = ProgressDisplay(shell)
        self._monitor: ActivityMonitor | None = None
        self._thread = threading.get_ident()
        self._ticker = Ticker(self._sample, self._progress.show)
        self._discovering = False
        self._parent: dict[str, Any] | None = None
        self._heard_at: float | None = None

    def register(self) -> None:
        """Registers with the shell. A running cell, such as that of ``%load_ext``, is entered."""
        find_cells_by(line_in_cell)
        if self._in_a_cell():
            self._enter(_LOADING, count=self._shell.displayhook.prompt_count)
        self._shell.events.register("pre_run_cell", self.before)
        self._shell.events.register("post_run_cell", self.after)
        self._shell.ast_transformers.append(self)

    def unregister(self) -> None:
        """Removes the registration."""
        self._shell.events.unregister("pre_run_cell", self.before)
        self._shell.events.unregister("post_run_cell", self.after)
        # IPython removes a transformer that has raised (IPython 9.18).
        if self in self._shell.ast_transformers:
            self._shell.ast_transformers.remove(self)
        while self._entered:  # the cell that unloads nbfn, whose end no hook reports
            self._entered.pop()
            leave_cell()
        self._ticker.stop()
        runs.clear()
        if self._discovering:
            from nbfn.functions.watching.watch import stop_discovering
            from nbfn.sessions.contents.cells import cells
            from nbfn.sessions.contents.transformed import stop_observing_transformations
            from nbfn.sessions.messages.feed import feed

            feed().environment.read_shown = lambda: None
            stop_discovering()
            stop_observing_transformations()
            cells.clear()
            find_cells_that_set_names_by(lambda _: None)

    def before(self, info: Any) -> None:
        """Called when a cell begins."""
        count = self._shell.displayhook.prompt_count if info.store_history else None
        self._enter(info, count)

    def _enter(self, info: Any, count: int | None) -> None:
        cell_id = _cell_id(self._shell) if info is _LOADING else getattr(info, "cell_id", None)
        enter_cell(Cell(cell_id, count), self._shell.user_ns)
        self._displays.begin(cell_id)
        is_outermost = not self._entered
        if is_outermost:
            self._parent = _parent_of(self._shell)
            self._heard_at = None
        self._entered.append(info)
        self._discover()
        if is_outermost:
            with reporting(_UNTIMED):
                runs.begin(Cell(cell_id, count))
        self._ticker.start()

    def _discover(self) -> None:
        """Observes every tf.function of the notebook, once TensorFlow is imported."""
        if self._discovering or not hasattr(sys.modules.get("tensorflow"), "function"):
            return
        with keeping_random_state():
            from nbfn.functions.traced.missing_devices import note_entered_devices
            from nbfn.functions.watching.watch import discover
            from nbfn.sessions.contents.cells import cells
            from nbfn.sessions.contents.transformed import observe_transformations
            from nbfn.sessions.messages.feed import feed
            from nbfn.sessions.session import Session

        self._discovering = True  # not before: an interrupted import is tried again
        discover()
        note_entered_devices()
        observe_transformations()
        feed().environment.read_shown = self._read_shown
        find_cells_that_set_names_by(cells.cell_that_set)
        with reporting("could not look at the functions that were there before"):
            Session(self._shell.user_ns).discover()
        self._sample()

    def on_message(self) -> None:
        """Called when a message of a page is handled, possibly while a cell runs."""
        self._heard_at = time.monotonic()

    def _send_busy(self) -> None:
        """Sends the busy status again after a message was handled on a subshell while a cell runs.

        The kernel sends idle after such a message. JupyterLab, its server and cullers of idle
        kernels take that for the end of the cell (ipykernel 7.4). With a debugger it is the same:
        https://github.com/jupyterlab/jupyterlab/issues/10701.
        """
        heard_at = self._heard_at
        kernel: Any = getattr(self._shell, "kernel", None)
        if heard_at is None or time.monotonic() - heard_at < _AFTER_A_MESSAGE:
            return
        self._heard_at = None
        if self._entered and self._parent and hasattr(kernel, "iopub_socket"):
            content = {"execution_state": "busy"}
            kernel.session.send(kernel.iopub_socket, "status", content, parent=self._parent)

    def _sample(self) -> dict[str, WorkRecord]:
        """Samples what takes long in the cell, once nbfn's functions are imported."""
        self._send_busy()
        if self._monitor is None:
            if not hasattr(sys.modules.get("nbfn.functions"), "Activity"):
                runs.add_sample(None)
                return {}
            from nbfn.notebook.frames import cell_name
            from nbfn.sessions.messages.activity_monitor import ActivityMonitor

            self._monitor = ActivityMonitor(self._thread, cell_name)
        work = self._monitor.sample()
        runs.add_sample(self._monitor.seen)
        return work

    def _in_a_cell(self) -> bool:
        for frame, _ in traceback.walk_stack(sys._getframe()):
            code = frame.f_code
            # Code that a front end evaluates besides cells has the file name "<string>".
            if frame.f_globals is self._shell.user_ns and code.co_name == "<module>":
                return code.co_filename != "<string>"
        return False

    def after(self, result: Any) -> None:
        """Called when a cell has ended."""
        if not self._entered or self._entered[-1] not in (result.info, _LOADING):
            return
        self._entered.pop()
        self._begun = None
        try:  # Ctrl-C may come anywhere
            self._discover()  # the cell may have imported TensorFlow
            self._note_state(result.info, "note")
            if not self._entered:
                self._warn_of_devices(result.info)
                with reporting("could not look at the result of a cell"):
                    offer_numerics(self._shell, result)
        finally:
            leave_cell()
            try:
                if not self._entered:
                    with reporting(_UNTIMED):
                        runs.end(_ending(result))
                self._update_environment()
                self._on_end()
            finally:
                if not self._entered:
                    self._ticker.stop()
                    self._progress.end()
        if not self._entered:
            self._displays.refresh()

    def visit(self, tree: Any) -> Any:
        """Called with the syntax tree of a cell, after all hooks before a cell.

        Autoreload changes modules in these hooks. Magics transform their own code too, so only the
        first call for each cell counts.
        """
        try:
            if self._entered and self._begun is not self._entered[-1]:
                self._begun = self._entered[-1]
                self._note_state(self._begun, "begin")
        except KeyboardInterrupt:
            # IPython does not catch it here (IPython 9.18): the cell would end with a new `info`,
            # or with None if it awaits, and `after` would not recognize it. So the cell raises it.
            tree = ast.fix_missing_locations(ast.parse("raise KeyboardInterrupt"))
        return tree

    def _note_state(self, info: Any, moment: Literal["begin", "note"]) -> None:
        """Records the Python state that the cell reads, at its beginning and end."""
        cell, source = current_cell(), getattr(info, "raw_cell", None)
        if cell is None or not isinstance(source, str) or not self._discovering:
            return
        from nbfn.sessions.contents.cells import cells

        lines = source.split("\n")
        body = "\n".join("" if line.startswith("%%") else line for line in lines)
        with reporting("could not record what a cell reads"):
            note = getattr(cells, moment)
            note(cell, self._shell.transform_cell(body), self._shell.user_ns)

    def _warn_of_devices(self, info: Any) -> None:
        """Warns of devices that the cell asked for and that do not exist."""
        source = getattr(info, "raw_cell", None)
        if not self._discovering or not isinstance(source, str):
            return
        from nbfn.functions.traced.missing_devices import warn_of_entered_devices

        with reporting("could not look at the devices that a cell asked for"):
            try:
                warn_of_entered_devices(source)
            except NbfnWarning as error:  # by the user's filters, and the cell has ended
                sys.stderr.write(f"{error}\n")

    def _update_environment(self) -> None:
        """Updates the feed's devices and models, once TensorFlow is imported.

        This is done even without listeners: a panel that is opened later cannot query TensorFlow.
        """
        if not self._discovering:
            return
        from nbfn.sessions.messages.environment import update_environment
        from nbfn.sessions.session import Session

        with reporting("could not look at the models and devices"):
            update_environment(Session(self._shell.user_ns).named())

    def _read_shown(self) -> None:
        """Schedules a read of values and objects on the main thread, between cells."""
        loop = getattr(getattr(self._shell, "kernel", None), "io_loop", None)
        if loop is not None:
            # The kernel's loop runs on the main thread and is idle between cells.
            loop.add_callback(self._update_shown)

    def _update_shown(self) -> None:
        if self._entered or not self._discovering:
            return  # updated at the end of the running cell
        from nbfn.sessions.messages.environment import update_shown
        from nbfn.sessions.messages.feed import feed
        from nbfn.sessions.session import Session

        with reporting("could not read what a page shows"):
            update_shown(Session(self._shell.user_ns).named())
            feed().flush()


def _ending(result: Any) -> Ending:
    """Classifies the end of a cell."""
    if result.success:
        return "done"
    return "interrupted" if isinstance(result.error_in_exec, KeyboardInterrupt) else "failed"


def _parent_of(shell: InteractiveShell) -> dict[str, Any] | None:
    """Returns the front end's message that the kernel handles on this thread."""
    get_parent = getattr(shell, "get_parent", None)
    return get_parent() if get_parent is not None else None


def _cell_id(shell: InteractiveShell) -> str | None:
    """Returns the id of the running cell, from the kernel's message."""
    found: str | None = (_parent_of(shell) or {}).get("metadata", {}).get("cellId")
    return found
