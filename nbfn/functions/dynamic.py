"""Attributes that code reads without their names behind a dot: by `getattr`, `vars`, a copy."""

from __future__ import annotations

import dis
from collections.abc import Sequence
from dis import Instruction

ANY = "*"
_BY_TEXT = frozenset({"getattr", "hasattr", "attrgetter", "__getattribute__"})
_ALL = frozenset({"vars", "__dict__", "asdict", "astuple"})
_COPYING = frozenset({"copy", "dataclasses"})
_COPIES = frozenset({"copy", "deepcopy", "replace"})
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_NAMES = (*_GLOBALS, "LOAD_ATTR", "LOAD_METHOD")


def dynamic(instructions: Sequence[Instruction], name: str) -> tuple[set[str], set[str]]:
    """What instructions read so.

    Args:
        instructions: The instructions of one function.
        name: The name of the function. ``__getattr__`` reads the names that other code has.

    Returns:
        The attributes, `ANY` among them if they may have any name; and the globals in which
        attributes of any name are looked up.
    """
    attributes: set[str] = set()
    roots: set[str] = set()
    texts = {
        each.argval
        for each in instructions
        if isinstance(each.argval, str) and each.opname == "LOAD_CONST" and _is_name(each.argval)
    }
    for i, each in enumerate(instructions):
        if each.opname not in _NAMES:
            continue
        before = instructions[i - 1].argval if i else None
        copies = each.opname in _GLOBALS or before in _COPYING
        if each.argval in _ALL or (each.argval in _COPIES and copies):
            attributes.add(ANY)
        elif each.argval in _BY_TEXT:
            attributes |= texts
            if each.argval == "getattr" and name not in ("__getattr__", "__getattribute__"):
                root = _root_of_unknown(instructions[i + 1 :])
                if root is not None:
                    (roots if root else attributes).add(root or ANY)
    return attributes, roots


def _is_name(text: str) -> bool:
    return text.isidentifier() and not text.startswith("__")


def _root_of_unknown(rest: Sequence[Instruction]) -> str | None:
    """Where the call of `getattr` that follows looks up a name that is not written out.

    Returns:
        The global whose attribute it is, or that of an attribute of it; empty if it is something
        else; None if the name is written out.
    """
    depth, second, touched = 0, -1, 0
    for i, each in enumerate(rest):
        if each.opname == "PUSH_NULL" and depth == 0:
            continue
        if each.opname in ("PRECALL", "CALL") and each.arg == depth:
            break
        if "JUMP" in each.opname or "RETURN" in each.opname:
            return ""
        before = depth
        depth += dis.stack_effect(each.opcode, each.arg)
        if before < 2 <= depth:
            second, touched = i, 0
        elif depth == 2:
            touched += 1
    else:
        return ""
    if second < 0:
        return ""
    if rest[second].opname == "LOAD_CONST" and not touched:
        return None
    path = [each for each in rest[:second] if each.opname != "PUSH_NULL"]
    is_path = bool(path) and all(each.opname in _NAMES for each in path)
    return str(path[0].argval) if is_path and path[0].opname in _GLOBALS else ""
