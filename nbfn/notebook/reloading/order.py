"""Repairs the functions and classes of a reloaded module."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

from nbfn.notebook.reloading.module_functions import functions_of
from nbfn.notebook.reloading.successors import successor, take_over
from nbfn.notebook.reloading.written import FileFunctions


def repair_module(
    module: ModuleType, values: Sequence[Any], text: str | None, before: FileVersion
) -> None:
    """Repairs the functions and classes of a module whose file has changed.

    Args:
        module: The module.
        values: The values of all names of the notebook and of user modules.
        text: The current text of the file; None if it cannot be read.
        before: The file as it was before.
    """
    file, functions = str(module.__file__), list(functions_of(module.__name__, values))
    linecache.checkcache(file)
    now = _written(text, file)
    left = [each for each in functions if now is None or not now.restore_code(each)]
    if left:
        before.keep(left, file)
    if "nbfn.modules.module.module" in sys.modules:
        _wrap_methods(module)
    for value in values:
        newer = successor(value, module)
        if newer is not None:
            take_over(value, newer)
    if hasattr(sys.modules.get("nbfn.functions"), "TracedFunction"):
        _update_traced_functions(module, functions)


@dataclass(frozen=True)
class FileVersion:
    """A state of a file. It is the source of functions that were not reloaded since.

    Attributes:
        stamp: Modification time and size.
        text: Its text, if it could be read.
        number: Number of earlier states.
    """

    stamp: tuple[int, int] | None = None
    text: str | None = None
    number: int = 0

    def keep(self, functions: Iterable[FunctionType], file: str) -> None:
        """Registers this text with ``linecache`` as the source of functions, under another name."""
        name = f"{file} (version {self.number + 1})"
        written = _written(self.text, name)
        if self.text is None or written is None:
            return
        for function in functions:
            if function.__code__.co_filename == file and written.restore_code(function):
                lines = self.text.splitlines(keepends=True)
                linecache.cache[name] = len(self.text), None, lines, name


def _written(text: str | None, file: str) -> FileFunctions | None:
    try:
        return FileFunctions(text, file) if text is not None else None
    except (SyntaxError, ValueError):  # autoreload has reported it
        return None


def _wrap_methods(module: ModuleType) -> None:
    from nbfn.modules.module.module import Module
    from nbfn.modules.module.reloaded import wrap_again

    for value in list(vars(module).values()):
        is_module = isinstance(value, type) and issubclass(value, Module)
        if is_module and value.__module__ == module.__name__:
            wrap_again(value)


def _update_traced_functions(module: ModuleType, functions: Iterable[FunctionType]) -> None:
    from nbfn import _tensorflow
    from nbfn.functions import TracedFunction, live_functions

    for function in functions:
        _tensorflow.discard_conversion(function)
    for traced in live_functions():
        if isinstance(traced, TracedFunction):
            python: Any = traced.python_function
            python = python.__func__ if isinstance(python, MethodType) else python
            if getattr(python, "__module__", None) == module.__name__:
                newer = successor(python, module)
                if newer is not None:
                    take_over(python, newer)
                # Set by autoreload, which treats it as a plain function.
                traced.__dict__.pop("__code__", None)
                _tensorflow.renew_parameters(traced)
