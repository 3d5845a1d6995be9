"""Maps functions and classes to their versions in the reloaded module.

When autoreload reloads a file, it updates the values of names, but not traced functions; and on the
next reload it updates only functions that the module then has.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from types import FunctionType, ModuleType
from typing import Any

from nbfn.notebook.reloading.module_functions import functions_of


def successor(value: Any, module: ModuleType) -> Any:
    """Returns the function or class of a module that has replaced an older one.

    Returns:
        None if the value is not of this module or has not been replaced.
    """
    if not isinstance(value, FunctionType | type) or value.__module__ != module.__name__:
        return None
    try:
        newer: Any = functools.reduce(getattr, value.__qualname__.split("."), module)
    except Exception:  # it was removed, or a module's `__getattr__` fails
        return None
    if isinstance(value, FunctionType):
        newer = getattr(newer, "python_function", newer)
        # A decorator was added around it.
        if not isinstance(newer, FunctionType) or value in functions_of(module.__name__, [newer]):
            return None
    return newer if isinstance(newer, FunctionType | type) and newer is not value else None


def take_over(old: Any, new: Any) -> None:
    """Updates an older function or class to behave like a newer one, as autoreload would."""
    # Not documented by IPython, so it may be missing. In IPython 9.18 it copies code, defaults and
    # attributes to the old function, and updates the instances of an old class.
    update = getattr(sys.modules.get("IPython.extensions.autoreload"), "update_generic", None)
    if update is not None:
        with contextlib.suppress(Exception):  # for example, if their closures differ
            update(old, new)
