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
        None if the value is none of the module's, or is in its place still.
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
    return newer if isinstance(newer, FunctionType | type) and newer is not value else None


def take_over(old: Any, new: Any) -> None:
    """Makes an older function or class do what a newer one does, as autoreload would."""
    update = getattr(sys.modules.get("IPython.extensions.autoreload"), "update_generic", None)
    if update is not None:
        with contextlib.suppress(Exception):  # it closes over something else
            update(old, new)
