"""Which functions have been defined before under the same name, and whether their code changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbfn.code import plain_function
from nbfn.functions.bytecode.fingerprint import fingerprint
from nbfn.functions.traces.cause import Cause

FIRST = Cause("first_trace", "first call")
_seen: dict[tuple[str, str], tuple[tuple[str, int], int]] = {}


def first_cause(python_function: Callable[..., Any]) -> Cause:
    """Remembers a definition, and says why its first trace will be needed.

    Only a fingerprint of the code is kept, so that the old function and its graphs can be freed.
    """
    function = plain_function(python_function)
    code = getattr(function, "__code__", None)
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "")
    if code is None or module is None:
        return FIRST
    known = fingerprint(code), code.co_firstlineno
    before = _seen.get((module, name))
    number = 1 if before is None or before[0] != known else before[1] + 1
    _seen[module, name] = known, number
    if before is None:
        return FIRST
    if number > 1:
        times = f" ({number} made so far)" if number > 2 else ""
        sentence = f"first call of a new function object with the same code{times}"
        return Cause("new_function", sentence)
    if "<locals>" in name or name == "<lambda>":
        return FIRST
    return Cause("new_code", "new code: the function was defined again")
