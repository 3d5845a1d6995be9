"""Finds which part of a value code reads, in simple cases: an item, the length, the shape.

``CFG["lr"]`` and ``CFG.get("lr")`` read one item, ``len(big)`` the length, ``arr.shape[0]`` the
shape. Everything else reads the whole value.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dis import Instruction
from typing import NamedTuple

SHAPES = ("shape", "dtype", "ndim", "size")
CALLS = ("PRECALL", "CALL")
_PATH = ("LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_ATTR")


class Part(NamedTuple):
    """A part of a value.

    Attributes:
        kind: ``"item"``, ``"length"`` or ``"attribute"``.
        name: The key of the item, or the name of the attribute.
    """

    kind: str
    name: str | int = ""

    def __str__(self) -> str:
        return {"item": f"[{self.name!r}]", "length": ".__len__()"}.get(self.kind, f".{self.name}")

    def of(self, value: str) -> str:
        """Returns the expression for this part of a value, such as ``len(items)``."""
        return f"len({value})" if self.kind == "length" else f"{value}{self}"


LENGTH = Part("length")


def part_read(instructions: Sequence[Instruction], index: int) -> Part | None:
    """Returns the part read of the value that an instruction loads; None for the whole value."""
    first, second = [*instructions[index + 1 : index + 3], None, None][:2]
    if first is None or second is None:
        return None
    is_key = type(second.argval) in (str, int) and second.opname == "LOAD_CONST"
    if first.opname == "LOAD_CONST" and second.opname == "BINARY_SUBSCR":
        return Part("item", first.argval) if type(first.argval) in (str, int) else None
    if first.opname in ("LOAD_ATTR", "LOAD_METHOD"):
        if first.argval == "get" and is_key:
            return Part("item", second.argval)
        if first.argval in SHAPES and not _is_method(first):
            return Part("attribute", first.argval)
    if first.opname in CALLS and first.arg == 1:
        # The function was loaded before its argument, which may be a path such as `self.items`.
        before = index
        while before and instructions[before].opname == "LOAD_ATTR":
            before -= 1
        called = instructions[before - 1]
        is_len = called.opname == "LOAD_GLOBAL" and called.argval == "len"
        if before and instructions[before].opname in _PATH and is_len:
            return LENGTH
    return None


def _is_method(instruction: Instruction) -> bool:
    """Returns whether an attribute is loaded to be called at once."""
    if sys.version_info < (3, 12):
        return instruction.opname == "LOAD_METHOD"
    # Python 3.12 merged LOAD_METHOD into LOAD_ATTR: the lowest bit of its argument tells which.
    return bool((instruction.arg or 0) & 1)
