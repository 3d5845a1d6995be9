"""Digests of code: equal for code that does the same, at any position in a file.

A hash of code cannot serve: in Python 3.11 it excludes the instructions, and it treats ``-1`` and
``-2``, or ``1`` and ``1.0``, as equal constants.
"""

from __future__ import annotations

import hashlib
import inspect
from types import CodeType
from typing import Any

from nbfn.serial import ByIdentity

# Not by equality: equal code objects may differ in lines, and so in weak references.
_known: ByIdentity[str] = ByIdentity()


def digest(code: CodeType) -> str:
    """Returns the digest of code, of its constants and of the functions nested in it."""
    found = _known.get(code)
    if found is not None:
        return found
    parts = (
        # Without the specialised instructions, which change while code runs (CPython 3.11). File,
        # qualified name and lines are left out: they differ for the same code at another place.
        code.co_code,
        code.co_exceptiontable,
        code.co_name,
        code.co_names,
        code.co_varnames,
        code.co_cellvars,
        code.co_freevars,
        code.co_flags,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        _text(_without_docstring(code)),
    )
    value = hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    _known[code] = value
    return value


def _without_docstring(code: CodeType) -> tuple[Any, ...]:
    """Returns the constants of code, without its docstring."""
    # The first constant of a function is its docstring, or None (Python 3.11).
    # Lambdas and comprehensions, whose names begin with "<", have none.
    is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
    has_docstring = is_function and isinstance(code.co_consts[0], str)
    return (None, *code.co_consts[1:]) if has_docstring else code.co_consts


def _text(constant: Any) -> str:
    """Formats a constant, with its type."""
    if isinstance(constant, CodeType):
        return f"code {digest(constant)}"
    if isinstance(constant, tuple):
        return f"({','.join(map(_text, constant))})"
    # Equal sets may iterate in different orders.
    if isinstance(constant, frozenset):
        return f"{{{','.join(sorted(map(_text, constant)))}}}"
    if type(constant) is int:
        return hex(constant)  # decimal conversion has a limit of digits
    return f"{type(constant).__name__} {constant!r}"
