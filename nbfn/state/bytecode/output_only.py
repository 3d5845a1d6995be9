"""Finds what code only outputs: arguments of `print` and loggers, messages of assertions."""

from __future__ import annotations

import dis
from collections.abc import Collection, Sequence
from dis import Instruction

_CALLS = ("PRECALL", "CALL", "CALL_KW")
_LEVELS = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})


def output_only(instructions: Sequence[Instruction], loggers: Collection[str]) -> set[int]:
    """Returns the indices of the instructions that only compute output.

    `loggers` are the globals that are loggers, or the module ``logging``.
    """
    found: set[int] = set()
    for i, each in enumerate(instructions):
        before = instructions[i - 1].argval if i else None
        # Methods of other objects have the same names, so only those of known loggers are output:
        # `test_a_method_named_like_those_of_loggers_counts`.
        is_print = each.opname == "LOAD_GLOBAL" and each.argval == "print"
        if each.opname == "LOAD_ASSERTION_ERROR":
            raises = (j for j in range(i, len(instructions)) if "RAISE" in instructions[j].opname)
            found |= set(range(i, next(raises, i)))
        elif is_print or (each.argval in _LEVELS and before in loggers):
            found |= _arguments(instructions, i)
    return found


def _arguments(instructions: Sequence[Instruction], index: int) -> set[int]:
    """Returns the indices that compute the arguments of the function loaded at `index`."""
    depth = 0
    for i in range(index + 1, len(instructions)):
        each = instructions[i]
        if each.opname == "PUSH_NULL":
            continue
        # The call is the first that takes everything pushed since the function was loaded. CALL_KW
        # (Python 3.13) also takes the names of the keywords.
        if each.opname in _CALLS and each.arg == depth - (each.opname == "CALL_KW"):
            inside = range(index + 1, i)
            stores = any(instructions[j].opname.startswith("STORE_") for j in inside)
            return set() if stores else set(inside)
        if "JUMP" in each.opname or "RETURN" in each.opname:
            break  # an argument has branches
        depth += dis.stack_effect(each.opcode, each.arg)
    return set()
