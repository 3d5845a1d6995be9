"""Finds the user functions that a function uses, and the values of names in their code."""

from __future__ import annotations

from typing import Any

from nbfn.code import closure, plain_function
from nbfn.state.bytecode.reads import reads
from nbfn.state.values.unwrapping import unwrapped

_MAX_FUNCTIONS = 100


def with_helpers(python_function: Any) -> list[Any]:
    """Returns a function and the user functions that its code names, directly or indirectly."""
    found: list[Any] = []
    waiting = [plain_function(python_function)]
    while waiting and len(found) < _MAX_FUNCTIONS:
        function = waiting.pop(0)
        if not hasattr(function, "__code__") or any(each is function for each in found):
            continue
        found.append(function)
        for value in named_values(function).values():
            waiting += unwrapped(value)
    return found


def named_values(function: Any) -> dict[str, Any]:
    """Returns the globals and closure variables that a function's code names, with their values."""
    space, found = function.__globals__, closure(function)
    for name in (*function.__code__.co_names, *sorted(reads(function.__code__).globals)):
        if name in space:
            found.setdefault(name, space[name])
    return found
