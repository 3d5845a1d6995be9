"""Loads nbfn into IPython and unloads it."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.notebook.channel import Channel
from nbfn.notebook.displays import Displays
from nbfn.notebook.errors.tracebacks import Tracebacks
from nbfn.notebook.formatters import register_formatters, unregister_formatters
from nbfn.notebook.hooks import Hooks
from nbfn.notebook.magics.cell_magics import CellMagics
from nbfn.notebook.magics.completion import Completion
from nbfn.notebook.magics.line_magics import LineMagics
from nbfn.notebook.reloading.reloads import Reloads

_ATTRIBUTE = "_nbfn"


class Extension:
    """Everything that nbfn registers with one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.cells = CellMagics(shell)
        self.displays = Displays(shell)
        self.hooks = Hooks(shell, self.displays, self.cells.forget_dropped)
        self.reloads = Reloads(shell)
        self.magics = (self.cells, LineMagics(shell))
        self.completion = Completion(shell, self.magics)
        self.channel = Channel(self.hooks.on_message)
        self.tracebacks = Tracebacks(shell)

    def load(self) -> None:
        """Registers magics, hooks, formatters and the comm target."""
        self.shell.register_magics(*self.magics)
        self.completion.register()
        self.hooks.register()
        self.cells.auto.register()
        self.reloads.register()
        self.tracebacks.register()
        register_formatters(self.shell)
        self.displays.register()
        # Last: a page may send requests as soon as it hears of nbfn.
        self.channel.open()

    def unload(self) -> None:
        """Reverts everything that `load` did."""
        # First, for the same reason.
        self.channel.close()
        self.displays.unregister()
        unregister_formatters(self.shell)
        self.tracebacks.unregister()
        self.reloads.unregister()
        self.cells.auto.unregister()
        self.hooks.unregister()
        self.completion.unregister()
        self.cells.forget()
        for magics in self.magics:
            for kind, names in magics.magics.items():
                for name in names:
                    # IPython can register magics, but not remove them (IPython 9.18).
                    self.shell.magics_manager.magics[kind].pop(name, None)


def load(shell: InteractiveShell) -> None:
    """Loads nbfn into a shell, once."""
    if getattr(shell, _ATTRIBUTE, None) is None:
        extension = Extension(shell)
        extension.load()
        setattr(shell, _ATTRIBUTE, extension)


def unload(shell: InteractiveShell) -> None:
    """Unloads nbfn from a shell, if loaded."""
    extension: Any = getattr(shell, _ATTRIBUTE, None)
    if extension is not None:
        extension.unload()
        setattr(shell, _ATTRIBUTE, None)
