"""What a module has now in the place of what the notebook imported from it by name.

Autoreload updates what names stand for when it reloads a file, but no traced functions; and when it
patches functions the next time, only those that the module itself has by then.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from types import FunctionType, ModuleType
from typing import Any

from nbfn.notebook.reloading.reach import functions_of


def successor(value: Any, module: ModuleType) -> Any:
    """The function or class of a module that has taken the place of an older one.

    Returns:
        None if the value is none of the module's, is in its place still, or does the same already.
    """
    if not isinstance(value, FunctionType | type) or value.__module__ != module.__name__:
        return None
    try:
        newer: Any = functools.reduce(getattr, value.__qualname__.split("."), module)
    except Exception:  # it is gone, or a module's `__getattr__` fails
        return None
    if isinstance(value, FunctionType):
        newer = getattr(newer, "python_function", newer)
        # A decorator has put something around it since.
        if not isinstance(newer, FunctionType) or value in functions_of(module.__name__, [newer]):
            return None
    if not isinstance(newer, FunctionType | type) or newer is value:
        return None
    return None if _does(newer) == _does(value) else newer


def _does(value: Any) -> Any:
    """What autoreload makes the same in an older function or class, by identity."""
    if isinstance(value, FunctionType):
        return id(value.__code__), id(vars(value).get("__wrapped__"))
    held = {name: _undressed(each) for name, each in vars(value).items() if name[:2] != "__"}
    if isinstance(vars(value).get("__call__"), FunctionType):
        held["__call__"] = vars(value)["__call__"]
    return {n: _does(v) if isinstance(v, FunctionType) else id(v) for n, v in held.items()}


def _undressed(value: Any) -> Any:
    """What a class holds under a name, without the descriptor around it."""
    if isinstance(value, property):
        return value.fget
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


def take_over(old: Any, new: Any) -> None:
    """Makes an older function or class do what a newer one does, as autoreload would."""
    update = getattr(sys.modules.get("IPython.extensions.autoreload"), "update_generic", None)
    if update is not None:
        with contextlib.suppress(Exception):  # it closes over something else
            update(old, new)
