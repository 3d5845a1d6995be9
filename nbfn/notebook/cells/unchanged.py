"""Finds whether a cell that runs again defines the same function as before."""

from __future__ import annotations

import weakref
from types import CodeType, FunctionType
from typing import Any

from nbfn.code import PLAIN
from nbfn.functions import TracedFunction

_made_with: weakref.WeakKeyDictionary[TracedFunction, Any] = weakref.WeakKeyDictionary()


def note_options(traced: TracedFunction, options: Any) -> None:
    """Records the options on the magic's line that belong to a function."""
    _made_with[traced] = options


def is_unchanged(traced: TracedFunction, defined: Any, options: Any) -> bool:
    """Returns whether a traced function, with its traces, can replace a newly defined function.

    Args:
        traced: The existing traced function.
        defined: The newly defined Python function.
        options: Its options on the magic's line.
    """
    old = traced.python_function
    if not (isinstance(defined, FunctionType) and isinstance(old, FunctionType)):
        return False
    return (
        _same_code(old.__code__, defined.__code__)
        and _is_same(old.__defaults__, defined.__defaults__)
        and _is_same(old.__kwdefaults__, defined.__kwdefaults__)
        and _made_with.get(traced) == options
    )


def _is_same(left: Any, right: Any) -> bool:
    """Compares two values; arrays and tensors by identity."""
    if left is right:
        return True
    if isinstance(left, tuple | list) and type(left) is type(right):
        return len(left) == len(right) and all(map(_is_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_same(left[k], right[k]) for k in left)
    return type(left) is type(right) and type(left) in PLAIN and bool(left == right)


def _same_code(left: CodeType, right: CodeType) -> bool:
    """Compares code including line numbers, which errors and views show."""
    return (
        left == right
        and left.co_freevars == right.co_freevars
        and left.co_firstlineno == right.co_firstlineno
        and left.co_linetable == right.co_linetable
    )
