"""What the code of the user's functions names."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from nbfn.notebook.cells.paths import function_of

_BY_TEXT = {"setattr", "delattr", "vars", "__dict__"}


def functions_of(member: Any) -> Iterator[FunctionType]:
    """The Python functions of something that a class defines: a method, a property."""
    for name in ("", "__func__", "fget", "fset", "fdel", "func"):
        function = function_of(getattr(member, name, None) if name else member)
        if function is not None:
            yield function


def named_by(function: Any, namespace: Mapping[str, Any]) -> set[str]:
    """Names of the notebook that a function of the notebook names, itself and through others."""
    found: set[str] = set()
    pending = [function]
    while pending:
        each = function_of(pending.pop())
        if each is not None and each.__globals__ is namespace:
            new = (names_in(each.__code__) & namespace.keys()) - found
            found |= new
            pending += [namespace[name] for name in new]
    return found


def names_in(code: CodeType) -> set[str]:
    """Names of globals and attributes in some code, and in the functions that it defines."""
    nested = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*(names_in(each) for each in nested))


def attributes_in(code: CodeType) -> set[str]:
    """Names in some code that may be those of attributes; also as texts, for `setattr`."""
    found = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found |= attributes_in(each)
        elif isinstance(each, str) and not _BY_TEXT.isdisjoint(code.co_names):
            found.add(each)
    return found


def stored_globals(code: CodeType) -> set[str]:
    """Names that some code, or a function that it defines, assigns by ``global``."""
    found = {
        str(each.argval) for each in dis.get_instructions(code) if each.opname == "STORE_GLOBAL"
    }
    nested = (each for each in code.co_consts if isinstance(each, CodeType))
    return found.union(*(stored_globals(each) for each in nested))
