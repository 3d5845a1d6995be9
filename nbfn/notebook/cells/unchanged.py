"""Whether a cell that is run again defines the function that is there already."""

from __future__ import annotations

import weakref
from types import CodeType, FunctionType
from typing import Any

from nbfn.code import PLAIN
from nbfn.functions import TracedFunction

_made_with: weakref.WeakKeyDictionary[TracedFunction, Any] = weakref.WeakKeyDictionary()


def note_options(traced: TracedFunction, options: Any) -> None:
    """Notes the options on the magic's line that belong to a function."""
    _made_with[traced] = options


def is_of_a_cell(function: Any) -> bool:
    """Whether a function was made by ``%%tf_function``, whose line has its options."""
    return isinstance(function, TracedFunction) and function in _made_with


def is_unchanged(
    traced: TracedFunction, defined: Any, options: Any, *, own_policy: bool = False
) -> bool:
    """Whether a function can stay, with its traces, in place of one that has just been defined.

    Args:
        traced: The function that is there.
        defined: The Python function of the cell.
        options: The options on the magic's line that belong to it.
        own_policy: Whether the function's own policy says what a call does after its globals have
            changed, if it has another one than to trace again.
    """
    old = traced.python_function
    if not (isinstance(defined, FunctionType) and isinstance(old, FunctionType)):
        return False
    changed = getattr(traced, "changed_globals", list)
    if own_policy and traced.recorder.guards.on_stale != "retrace":
        changed = list
    return (
        _same_code(old.__code__, defined.__code__)
        and _same(old.__defaults__, defined.__defaults__)
        and _same(old.__kwdefaults__, defined.__kwdefaults__)
        and _made_with.get(traced) == options
        and not changed()
    )


def _same(left: Any, right: Any) -> bool:
    """Equality that takes arrays and tensors by identity."""
    if left is right:
        return True
    if isinstance(left, tuple | list) and type(left) is type(right):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
    return type(left) is type(right) and type(left) in PLAIN and bool(left == right)


def _same_code(left: CodeType, right: CodeType) -> bool:
    """Equality that heeds lines in every Python, because errors and views name them."""
    return (
        left == right
        and left.co_freevars == right.co_freevars
        and left.co_firstlineno == right.co_firstlineno
        and left.co_linetable == right.co_linetable
    )
