"""Finds attributes that code reads without naming them: by `getattr`, `vars`, or copies."""

from __future__ import annotations

import dis
import itertools
from collections.abc import Collection, Sequence
from dis import Instruction

ANY = "*"
_BY_TEXT = frozenset({"getattr", "hasattr", "attrgetter", "methodcaller", "__getattribute__"})
_BY_NAME = _BY_TEXT - {"__getattribute__"}
_GETTERS = frozenset({"attrgetter", "methodcaller"})
_ALL = frozenset(
    {
        *("vars", "dir", "__dict__", "asdict", "astuple"),
        *("model_dump", "model_dump_json", "model_copy"),  # of pydantic, whose compiled core reads
    }
)
_COPYING = frozenset({"copy", "dataclasses"})
_COPIES = frozenset({"copy", "deepcopy", "replace"})
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
# CPython 3.11 has both for each call, later versions only the second.
_CALLS = ("PRECALL", "CALL")
_NAMES = (*_GLOBALS, "LOAD_ATTR", "LOAD_METHOD")


def dynamic(
    instructions: Sequence[Instruction], name: str, libraries: Collection[str] = ()
) -> set[str]:
    """Returns the attributes that instructions read dynamically; `ANY` if they may have any name.

    Args:
        instructions: The instructions of one function.
        name: The name of the function. ``__getattr__`` reads the names that other code uses.
        libraries: The globals that are library modules, whose attributes do not count.
    """
    attributes: set[str] = set()
    # A heuristic: each constant text in the function may be the name that `getattr` gets. Held by
    # the cases with `getattr` in `test_state_that_is_read_without_its_name`.
    names = {
        name
        for each in instructions
        if each.opname == "LOAD_CONST" and isinstance(each.argval, str) and _is_path(each.argval)
        for name in each.argval.split(".")
    }
    for i, each in enumerate(instructions):
        if each.opname not in _NAMES:
            continue
        before = instructions[i - 1].argval if i else None
        # `replace` and `copy` are also methods of strings and lists, which copy no attributes.
        copies = each.opname in _GLOBALS or before in _COPYING
        if each.argval in _ALL or (each.argval in _COPIES and copies):
            attributes.add(ANY)
        elif each.argval in _BY_TEXT:
            attributes |= names
            if each.argval in _BY_NAME and name not in ("__getattr__", "__getattribute__"):
                position = 1 if each.argval in _GETTERS else 2
                rest = instructions[i + 1 :]
                if not (_is_constant_text(rest, position) or _first_global(rest) in libraries):
                    attributes.add(ANY)
    return attributes


def _is_path(text: str) -> bool:
    """Returns whether a text is an attribute name, or several with dots between them."""
    return not text.startswith("__") and all(name.isidentifier() for name in text.split("."))


def _first_global(rest: Sequence[Instruction]) -> str | None:
    """Returns the global with which the first argument of the following call begins, if any."""
    before_call = itertools.takewhile(lambda each: not each.opname.startswith(_CALLS), rest)
    loads = (each for each in before_call if each.opname not in ("PUSH_NULL", "CACHE", "KW_NAMES"))
    first = next(loads, None)
    return str(first.argval) if first is not None and first.opname in _GLOBALS else None


def _is_constant_text(rest: Sequence[Instruction], position: int) -> bool:
    """Returns whether an argument of the following call is a constant text and nothing else."""
    depth, found = 0, False
    for each in rest:
        if each.opname.startswith(_CALLS) and each.arg == depth:
            return found
        # In an argument `a if b else c` both ends of the branch leave one value.
        if each.opname == "JUMP_FORWARD" or (each.opname == "PUSH_NULL" and not depth):
            continue
        depth += dis.stack_effect(each.opcode, each.arg, jump=False)
        if depth == position:  # the last instruction that leaves this depth has made the argument
            found = each.opname == "LOAD_CONST" and isinstance(each.argval, str)
    return False
