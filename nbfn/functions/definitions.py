"""Which functions have been defined before under the same name, and whether their code changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbfn.functions.retrace import Cause

_seen: dict[tuple[str, str], int] = {}


def first_cause(python_function: Callable[..., Any]) -> Cause:
    """Remembers a definition, and says why its first trace will be needed.

    Only a hash of the code is kept, so that the old function and its graphs can be freed.
    """
    function = inspect.unwrap(python_function)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "")
    if code is None or module is None or "<locals>" in name:
        return Cause("first_trace", "first call")
    before = _seen.get((module, name))
    _seen[module, name] = hash(code)
    if before is None:
        return Cause("first_trace", "first call")
    if before == hash(code):
        return Cause("first_trace", "first call of a new function object with the same code")
    return Cause("new_code", "new code: the function was defined again")
