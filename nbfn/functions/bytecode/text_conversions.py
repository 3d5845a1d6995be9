"""Where code turns values into text, which runs methods that it does not name.

What `print` shows and what an error says is no part of a trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dis import Instruction

from nbfn.functions.bytecode.operands import PLACES, WINDOW, arguments, operand
from nbfn.functions.bytecode.special_methods import FORMAT, TEXT, named_before, text_of
from nbfn.functions.bytecode.value_sources import Names, names_of

_NAMES = ("str", "repr", "ascii", "format", "format_map", "substitute")
_LOADS = (*PLACES, "LOAD_METHOD")


def texts(instructions: Sequence[Instruction], known: Mapping[str, Names]) -> frozenset[str]:
    """The special methods that make text, as far as the instructions may run them.

    Args:
        instructions: The instructions of one function.
        known: The names that its local names stand for.
    """
    found: set[str] = set()
    shown = _shown(instructions)
    for i, each in enumerate(instructions):
        before = instructions[max(i - WINDOW, 0) : i]
        if i in shown:
            continue
        if each.opname.startswith("FORMAT_"):
            found |= _formatted(before, each, known)
        elif each.opname == "BINARY_OP" and each.argrepr in ("%", "%="):
            found |= _interpolated(before, each, known)
        elif each.argval in _NAMES and each.opname.startswith(_LOADS):
            runs = arguments(instructions[i + 1 : i + WINDOW])
            if runs is not None:
                found = found.union(*(_text(run, known) for run in runs))
            elif "isinstance" not in named_before(before):
                found |= TEXT  # it is passed on, and another calls it
    return frozenset(found)


def _shown(instructions: Sequence[Instruction]) -> set[int]:
    """The instructions that make what is only shown to the user."""
    found: set[int] = set()
    for i, each in enumerate(instructions):
        if each.opname == "RAISE_VARARGS":
            message = operand(instructions[max(i - WINDOW, 0) : i], each)
            found |= set(range(i - len(message), i))
        elif each.opname == "LOAD_GLOBAL" and each.argval == "print":
            runs = arguments(instructions[i + 1 : i + WINDOW]) or ()
            found |= set(range(i, i + 2 + sum(map(len, runs))))
    return found


def _formatted(
    before: Sequence[Instruction], last: Instruction, known: Mapping[str, Names]
) -> frozenset[str]:
    """What a replacement field of an f-string runs."""
    run = operand(before, last)
    if last.opname == "FORMAT_WITH_SPEC" or (last.opname == "FORMAT_VALUE" and (last.arg or 0) & 4):
        value = operand(before[: len(before) - len(run)], run[0]) if run else ()
        found = _text(value, known)
        # With a specification, no other method stands in for `__format__`.
        is_plain = bool(run) and run[-1].opname == "LOAD_CONST"
        return FORMAT if found == TEXT and is_plain else found
    if before and before[-1].opname == "CONVERT_VALUE":
        run = operand(before[:-1], before[-1])
    return _text(run, known)


def _interpolated(
    before: Sequence[Instruction], last: Instruction, known: Mapping[str, Names]
) -> frozenset[str]:
    """What ``%`` runs on its right side; where the left may be a number, only for names."""
    right = operand(before, last)
    left = operand(before[: len(before) - len(right)], right[0]) if right else ()
    found = _text(right, known)
    is_text = bool(left) and left[-1].opname == "LOAD_CONST" and isinstance(left[-1].argval, str)
    return found if is_text or found != TEXT else frozenset()


def _text(run: Sequence[Instruction], known: Mapping[str, Names]) -> frozenset[str]:
    """What turning the value that some instructions make into text runs."""
    names = names_of(run, known)
    return TEXT if names is None else frozenset(map(text_of, names))
