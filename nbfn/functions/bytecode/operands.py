"""Which instructions make the operands of another."""

from __future__ import annotations

import dis
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dis import Instruction

PLACES = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "LOAD_NAME")
VALUES = (*PLACES, "LOAD_FAST")
_ENDS = ("STORE", "FOR_ITER", "BEFORE_")
NEUTRAL = ("COPY", "TO_BOOL", "NOP", "PUSH_NULL", "CACHE", "EXTENDED_ARG")
WINDOW = 100
"""Operands are looked for no further away than this."""
CALLS = ("PRECALL", "CALL", "CALL_KW")


def simple(instructions: Iterable[Instruction]) -> Iterator[Instruction]:
    """The instructions, with those that load or store two names at once as two."""
    for each in instructions:
        parts = [f"{part}_FAST" for part in each.opname.split("_FAST")[:-1]]
        if len(parts) < 2 or not isinstance(each.argval, tuple):
            yield each
            continue
        for part, name in zip(parts, each.argval, strict=True):
            opname = part.lstrip("_")
            yield each._replace(opname=opname, opcode=dis.opmap[opname], arg=0, argval=name)


def arguments(rest: Sequence[Instruction]) -> list[Sequence[Instruction]] | None:
    """The arguments of the call whose function has just been loaded.

    Args:
        rest: The instructions after that.

    Returns:
        The instructions of each; None if that cannot be told.
    """
    depth = 0
    starts: list[int] = []
    for i, each in enumerate(rest):
        if each.opname in ("PUSH_NULL", "KW_NAMES") and depth == 0:
            continue
        named = each.opname == "CALL_KW"
        if each.opname in CALLS and each.arg == depth - named:
            bounds = [*starts, i][: depth - named + 1]
            return [rest[a:b] for a, b in itertools.pairwise(bounds)]
        if "JUMP" in each.opname or "RETURN" in each.opname:
            return None
        before = depth
        depth += dis.stack_effect(each.opcode, each.arg)
        if depth < 0:
            return None
        del starts[depth:]
        if depth > before == len(starts):
            starts.append(i)
    return None


def operand(before: Sequence[Instruction], user: Instruction) -> Sequence[Instruction]:
    """The instructions that make the topmost value.

    Args:
        before: The instructions before the one that uses the value.
        user: That one.

    Returns:
        The last of them; empty if the value is made on several ways, or if it cannot be told.
    """
    height, after = 0, user
    for i in range(len(before) - 1, -1, -1):
        each = before[i]
        is_joined = after.is_jump_target and after.opname != "FOR_ITER"  # a loop comes back to it
        if is_joined or "JUMP" in each.opname or each.opname.startswith(_ENDS):
            break
        height += dis.stack_effect(each.opcode, each.arg)
        if height > 0:
            return before[i:]
        after = each
    return ()
