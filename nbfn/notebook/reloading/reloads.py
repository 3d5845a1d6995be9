"""Finds which modules autoreload may have changed, before a cell runs."""

from __future__ import annotations

import os
import sys
import tokenize
import warnings
from types import ModuleType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.code import is_library
from nbfn.errors import NbfnWarning
from nbfn.notebook.reloading.order import Seen, put_in_order
from nbfn.site import GENERATED


class Reloads:
    """Watches the files of the user's modules.

    Args:
        shell: The shell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._known: dict[str, Seen] = {}
        self._others: set[str] = set()
        self._newest: tuple[int, ModuleType] | None = None
        self._modules: dict[str, ModuleType] = {}
        self._is_registered = False

    def register(self) -> None:
        """Registers with the shell."""
        if "IPython.extensions.autoreload" in sys.modules:
            # What autoreload did before nbfn was there is found by the first cell.
            started = _start_of_process()
            for name, module in self.modules().items():
                stamp = _stamp(module)
                if stamp is not None and stamp[0] > started:
                    self._known[name] = Seen()
        self._shell.events.register("pre_run_cell", self.before)
        self._shell.events.register("post_run_cell", self.after)
        self._is_registered = True

    def unregister(self) -> None:
        """Takes the registration back."""
        if self._is_registered:
            self._is_registered = False
            self._shell.events.unregister("pre_run_cell", self.before)
            self._shell.events.unregister("post_run_cell", self.after)

    def modules(self) -> dict[str, ModuleType]:
        """The modules of the user's that have been imported, by name."""
        newest = len(sys.modules), next(reversed(sys.modules.values()))
        if newest != self._newest:  # there are thousands
            self._newest, self._modules = newest, {}
            for name, module in list(sys.modules.items()):
                if name not in self._others:
                    if (
                        type(module) is ModuleType
                        and name != "__main__"
                        and _is_users(vars(module))
                    ):
                        self._modules[name] = module
                    else:
                        self._others.add(name)
        return self._modules

    def before(self, _: Any) -> None:
        """A cell begins to run: autoreload has reloaded what it will."""
        try:
            self._follow()
        except Exception as error:  # the user's modules may hold anything
            self.unregister()
            warnings.warn(
                f"nbfn no longer follows autoreload, which goes on as usual: {error!r}",
                NbfnWarning,
                stacklevel=1,
            )

    def _follow(self) -> None:
        modules, values = self.modules(), None
        for name, module in modules.items():
            known = self._known.get(name)
            if known is None or known.stamp != _stamp(module):
                self._known[name] = now = _seen(module, known)
                if known is not None:
                    values = values or self._values(modules)
                    put_in_order(module, values, now.text, known)

    def _values(self, modules: dict[str, ModuleType]) -> list[Any]:
        """All that names of the notebook and of the user's modules stand for."""
        namespaces = (self._shell.user_ns, *map(vars, modules.values()))
        return [value for names in namespaces for value in list(names.values())]

    def after(self, _: Any) -> None:
        """A cell has ended: autoreload may have been loaded by it, and modules imported."""
        for name, module in self.modules().items():
            if name not in self._known:
                self._known[name] = _seen(module, None)
        events = self._shell.events
        if events.callbacks["pre_run_cell"][-1] != self.before:
            events.unregister("pre_run_cell", self.before)
            events.register("pre_run_cell", self.before)


def _seen(module: ModuleType, before: Seen | None) -> Seen:
    number = 0 if before is None else before.number + 1
    stamp = _stamp(module)
    try:
        with tokenize.open(str(module.__file__)) as file:
            return Seen(stamp, file.read(), number)
    except (OSError, SyntaxError, ValueError):  # the user is about to save it, or made a mistake
        return Seen(stamp, before.text if before is not None else None, number)


def _is_users(names: dict[str, Any]) -> bool:
    file = names.get("__file__")
    if not (isinstance(file, str) and file.endswith(".py")):
        return False
    return GENERATED not in file and not is_library(file)


def _start_of_process() -> float:
    """When this process started, in nanoseconds; the end of time where that is not known."""
    try:
        import psutil  # type: ignore[import-untyped]  # which ipykernel needs
    except ImportError:
        return float("inf")
    return float(psutil.Process().create_time()) * 1e9


def _stamp(module: ModuleType) -> tuple[int, int] | None:
    """What tells whether a module's file has changed; None if it is not there."""
    try:
        found = os.stat(str(module.__file__))
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
