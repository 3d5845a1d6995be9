"""Finds the modules that autoreload may have changed before a cell runs."""

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
from nbfn.notebook.reloading.order import FileVersion, repair_module
from nbfn.site import GENERATED


class Reloads:
    """Watches the files of user modules.

    Args:
        shell: The shell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._known: dict[str, FileVersion] = {}
        self._others: set[str] = set()
        self._newest: tuple[int, ModuleType] | None = None
        self._modules: dict[str, ModuleType] = {}
        self._is_registered = False

    def register(self) -> None:
        """Registers with the shell."""
        if "IPython.extensions.autoreload" in sys.modules:
            # The first cell finds what autoreload did before nbfn was loaded.
            started = _start_of_process()
            for name, module in self.modules().items():
                stamp = _stamp(module)
                if stamp is not None and stamp[0] > started:
                    self._known[name] = FileVersion()
        self._shell.events.register("pre_run_cell", self.before)
        self._shell.events.register("post_run_cell", self.after)
        self._is_registered = True

    def unregister(self) -> None:
        """Removes the registration."""
        if self._is_registered:
            self._is_registered = False
            self._shell.events.unregister("pre_run_cell", self.before)
            self._shell.events.unregister("post_run_cell", self.after)

    def modules(self) -> dict[str, ModuleType]:
        """Returns the imported user modules by name."""
        newest = len(sys.modules), next(reversed(sys.modules.values()))
        if newest != self._newest:  # cached, as there are thousands of modules
            self._newest, self._modules = newest, {}
            for name, module in list(sys.modules.items()):
                if name not in self._others:
                    if (
                        # A lazy module, of a subclass, is imported when an attribute is read
                        # (`importlib.util.LazyLoader`).
                        type(module) is ModuleType
                        and name != "__main__"
                        and _is_users(vars(module))
                    ):
                        self._modules[name] = module
                    else:
                        self._others.add(name)
        return self._modules

    def before(self, _: Any) -> None:
        """Called when a cell begins, after autoreload."""
        try:
            self._follow()
        except Exception as error:  # user modules may contain anything
            self.unregister()
            warnings.warn(
                f"nbfn no longer follows autoreload, which goes on as usual: {error!r}",
                NbfnWarning,
                stacklevel=1,
            )

    def _follow(self) -> None:
        modules, values = self.modules(), None
        for name, module in modules.items():
            previous = self._known.get(name)
            if previous is None or previous.stamp != _stamp(module):
                self._known[name] = now = _file_version(module, previous)
                if previous is not None:
                    values = values or self._values(modules)
                    repair_module(module, values, now.text, previous)

    def _values(self, modules: dict[str, ModuleType]) -> list[Any]:
        """Returns the values of all names of the notebook and of user modules."""
        namespaces = (self._shell.user_ns, *map(vars, modules.values()))
        return [value for names in namespaces for value in list(names.values())]

    def after(self, _: Any) -> None:
        """Called when a cell has ended; it may have loaded autoreload or imported modules."""
        for name, module in self.modules().items():
            if name not in self._known:
                self._known[name] = _file_version(module, None)
        events = self._shell.events
        # IPython calls hooks in the order of registration (IPython 9.18), and autoreload may have
        # registered later.
        if events.callbacks["pre_run_cell"][-1] != self.before:
            events.unregister("pre_run_cell", self.before)
            events.register("pre_run_cell", self.before)


def _file_version(module: ModuleType, before: FileVersion | None) -> FileVersion:
    number = 0 if before is None else before.number + 1
    stamp = _stamp(module)
    try:
        with tokenize.open(str(module.__file__)) as file:
            return FileVersion(stamp, file.read(), number)
    except (OSError, SyntaxError, ValueError):  # the file is being saved, or has an error
        return FileVersion(stamp, before.text if before is not None else None, number)


def _is_users(names: dict[str, Any]) -> bool:
    file = names.get("__file__")
    if not (isinstance(file, str) and file.endswith(".py")):
        return False
    return GENERATED not in file and not is_library(file)


def _start_of_process() -> float:
    """Returns the start time of this process in nanoseconds; infinity if unknown."""
    try:
        import psutil  # type: ignore[import-untyped]  # which ipykernel needs
    except ImportError:
        return float("inf")
    return float(psutil.Process().create_time()) * 1e9


def _stamp(module: ModuleType) -> tuple[int, int] | None:
    """Returns what identifies a version of a module's file; None if the file does not exist."""
    try:
        found = os.stat(str(module.__file__))
    except OSError:
        return None
    # Both, because some file systems store whole seconds, in which an editor may save twice.
    return found.st_mtime_ns, found.st_size
