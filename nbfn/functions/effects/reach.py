"""The functions of the user's that a function's code leads to, and where they write and draw."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

from nbfn.code import closure, is_user_module, plain_function
from nbfn.functions.effects.finder import Effect, Finder
from nbfn.state.bytecode.reads import reads

_MAX_FUNCTIONS = 100


def with_helpers(python_function: Any) -> list[Any]:
    """A function and the functions of the user's that its code names, directly or not."""
    found: list[Any] = []
    waiting = [plain_function(python_function)]
    while waiting and len(found) < _MAX_FUNCTIONS:
        function = waiting.pop(0)
        if not hasattr(function, "__code__") or any(each is function for each in found):
            continue
        found.append(function)
        for value in named(function).values():
            inner = plain_function(getattr(value, "python_function", value))
            if isinstance(inner, FunctionType) and is_user_module(inner.__module__):
                waiting.append(inner)
    return found


def named(function: Any) -> dict[str, Any]:
    """The globals and closed-over variables that a function's code names, with their values."""
    values = {}
    stored = {name for name in function.__code__.co_names if name in function.__globals__}
    for name in sorted(reads(function.__code__).globals | stored):
        if name in function.__globals__:
            values[name] = function.__globals__[name]
    return values | closure(function)


def effects_of(functions: Iterable[Any]) -> list[Effect]:
    """Every effect in the source of some functions; nothing of one without source."""
    finder = Finder(strict=False)
    return [effect for function in functions for effect in finder.in_function(function)]


def effect_on(place: str, kind: str, found: Iterable[Effect]) -> Effect | None:
    """The effect that wrote to a place, such as ``self.log``; None if the source does not say."""
    candidates = [effect for effect in found if effect.reason.kind == kind and effect.target]
    for effect in candidates:
        if effect.target == place:
            return effect
    for effect in candidates:
        longer, shorter = sorted((effect.target, place), key=len, reverse=True)
        if longer.startswith(shorter) and longer[len(shorter)] in ".[":
            return effect
    return None
