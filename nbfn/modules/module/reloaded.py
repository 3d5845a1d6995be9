"""Wraps methods of module classes again after autoreload has changed them."""

from __future__ import annotations

import inspect
import sys
from types import FunctionType
from typing import Any

from nbfn.modules.lifecycle import methods


def wrap_again(cls: type) -> None:
    """Wraps the methods that autoreload has added to a class or put in place of wrapped ones.

    Autoreload (IPython 9) copies the code of the new method to nbfn's wrapper, which then runs
    without its module's context and with the globals of nbfn.
    """
    for name, value in list(vars(cls).items()):
        if (
            inspect.isfunction(value)
            and (value.__module__ == cls.__module__ or _is_users_code_in_nbfn(value))
            and not methods.is_exempt(name, value)
        ):
            setattr(cls, name, methods.wrapped(name, _among_own_globals(value, cls)))


def _is_users_code_in_nbfn(function: Any) -> bool:
    return inspect.isfunction(function) and (
        function.__globals__ is vars(methods) and not hasattr(function, "__wrapped__")
    )


def _among_own_globals(function: Any, cls: type) -> Any:
    """Returns a function of a class with the globals of the class's module instead of nbfn's."""
    module = sys.modules.get(cls.__module__)
    if module is None or not _is_users_code_in_nbfn(function):
        return function
    copy = FunctionType(
        function.__code__,
        vars(module),
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__
    copy.__qualname__, copy.__doc__ = function.__qualname__, function.__doc__
    vars(copy).update(vars(function))
    return copy
