"""From which names the values come that code computes with: those that they may be, or hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dis import Instruction
from types import CodeType

from nbfn.functions.bytecode.operands import CALLS, NEUTRAL, PLACES, WINDOW, arguments, operand

Names = frozenset[str] | None
"""Names of globals, closures and attributes; None if a value may be any object."""

_PLAIN: frozenset[str] = frozenset()
_MAKE_PLAIN = ("len", "int", "float", "bool", "str", "repr", "round", "range", "type")
_PASS_ON = ("enumerate", "zip", "reversed", "sorted", "list", "tuple", "set", "iter", "next")
_MAKE_NEW = ("LOAD_CONST", "BINARY_OP", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "IMPORT_NAME")
_STORES = ("STORE_FAST", "STORE_DEREF")
_INNER = ("LOAD_ATTR", "LOAD_METHOD")
_MUTABLE = ("BUILD_LIST", "BUILD_SET", "BUILD_MAP", "BUILD_CONST", "LIST_", "SET_", "DICT_")
# A comprehension makes room for what it collects once it has its iterator.
_COLLECTING = ("SWAP", "COPY", "BUILD_LIST", "BUILD_SET", "BUILD_MAP", "LOAD_FAST_AND_CLEAR")
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def made_by(name: str) -> str:
    """What stands for the results of a global that is called, or of an attribute of it."""
    return f"{name}()"


def names_of(run: Sequence[Instruction], known: Mapping[str, Names]) -> Names:
    """The last name of each path in the instructions that make a value.

    Args:
        run: The instructions.
        known: The names that the local names of the function stand for; others of them may be any
            object.
    """
    path = [each for each in run if each.opname not in NEUTRAL]
    if not path or path[-1].opname.startswith(_MUTABLE):  # which may get anything later
        return None
    last = path[-1]
    if last.opname in _MAKE_NEW or last.opname.startswith(("FORMAT", "BUILD_STRING", "UNARY")):
        return _PLAIN
    if last.opname in CALLS:
        return _result(path, known)
    found: set[str] = set()
    for each, after in zip(path, [*path[1:], None], strict=True):
        if after is not None and after.opname in _INNER:
            continue
        names: Names = _PLAIN
        if each.opname.startswith("LOAD_FAST") or (
            each.opname == "LOAD_DEREF" and each.argval in known
        ):
            names = known.get(str(each.argval))
        elif each.opname in PLACES:
            names = frozenset({str(each.argval)})
        elif each.opname in CALLS:
            names = None
        if names is None:
            return None
        found |= names
    return frozenset(found)


def _result(path: Sequence[Instruction], known: Mapping[str, Names]) -> Names:
    """What a call returns: the names that are passed to it, or what stands for its results."""
    first = path[0]
    if first.opname.startswith("LOAD_FAST"):
        return _PLAIN if known.get(str(first.argval)) == _PLAIN else None
    if first.opname != "LOAD_GLOBAL" or first.argval in _MAKE_PLAIN:
        return _PLAIN if first.argval in _MAKE_PLAIN else None
    if first.argval not in _PASS_ON:
        return frozenset({made_by(str(first.argval))})
    found: set[str] = set()
    for run in arguments(path[1:]) or [[]]:
        names = names_of(run, known)
        if names is None:
            return None
        found |= names
    return frozenset(found)


def locals_of(instructions: Sequence[Instruction], known: Mapping[str, Names]) -> dict[str, Names]:
    """The names that each local name of some code stands for.

    Args:
        instructions: The instructions of one function.
        known: What is known of its parameters; others may be any object.
    """
    put_back = _put_back(instructions)
    stores = [
        (str(each.argval), instructions[max(i - WINDOW, 0) : i + 1])
        for i, each in enumerate(instructions)
        if each.opname.startswith(_STORES) and i not in put_back
    ]
    found: dict[str, Names] = {name: known.get(name, _PLAIN) for name, _ in stores} | dict(known)
    for _ in range(len(stores) + 1):
        before = dict(found)
        for name, run in stores:
            names, now = found[name], _stored(run, found)
            found[name] = None if names is None or now is None else names | now
        if found == before:
            break
    return found


def _put_back(instructions: Sequence[Instruction]) -> set[int]:
    """The stores by which comprehensions put back the local names that they have set aside."""
    set_aside = {each.argval for each in instructions if each.opname == "LOAD_FAST_AND_CLEAR"}
    found: set[int] = set()
    last = ""  # before the stores that follow each other
    for i, each in enumerate(instructions):
        if not each.opname.startswith(_STORES):
            last = each.opname
        elif each.argval in set_aside and last in ("SWAP", "POP_TOP"):
            found.add(i)
    return found


def _stored(run: Sequence[Instruction], known: Mapping[str, Names]) -> Names:
    """The names of the value that the last of some instructions stores."""
    *before, user = run
    is_first = bool(before) and before[-1].opname == "UNPACK_SEQUENCE"
    if is_first:
        user = before.pop()
    if before and before[-1].opname == "FOR_ITER":
        user = before.pop()
        while before and before[-1].opname in _COLLECTING:
            before.pop()
        if before and before[-1].opname == "GET_ITER":
            user = before.pop()
        made = operand(before, user)
        is_count = is_first and bool(made) and made[0].argval == "enumerate"
        return _PLAIN if is_count else names_of(made, known)
    return names_of(operand(before, user), known)


def comprehensions(
    instructions: Sequence[Instruction], known: Mapping[str, Names]
) -> dict[CodeType, Names]:
    """The names of what the comprehensions in some code go through, by their own code."""
    found: dict[CodeType, Names] = {}
    for i, each in enumerate(instructions):
        code = each.argval
        if not isinstance(code, CodeType) or code.co_name not in _COMPREHENSIONS:
            continue
        rest = list(instructions[i + 1 : i + WINDOW])
        while rest and rest.pop(0).opname != "MAKE_FUNCTION":
            pass
        ends = [j for j, one in enumerate(rest) if one.opname == "GET_ITER"]
        run = next((rest[:j] for j in ends if len(operand(rest[:j], rest[j])) == j), ())
        found[code] = names_of(run, known)
    return found
