"""What a function's code names: the globals and closures it reads, and every attribute."""

from __future__ import annotations

import dis
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dis import Instruction
from types import CodeType
from typing import Any

from nbfn.functions.bytecode.dynamic_attributes import dynamic
from nbfn.functions.bytecode.graph_time import NOTHING, GraphTime
from nbfn.functions.bytecode.special_methods import special_methods

_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"})
_BY_TEXT = frozenset({"globals", "eval", "exec"})
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Reads:
    """The names that code reads, those of the functions nested in it included.

    Attributes:
        globals: Names that are looked up in the module, or among the builtins.
        attributes: Names that are looked up on some object; `ANY` among them if it may be any.
            The special methods that the code may run though it names none are there too.
        roots: Those of the globals on which attributes of any name are looked up.
        modules: Modules that are imported by their full names.
        keys: Those of the globals of which only items are read, by keys that are written out.
    """

    globals: frozenset[str]
    attributes: frozenset[str]
    roots: frozenset[str]
    modules: frozenset[str]
    keys: Mapping[str, frozenset[str | int]]


@functools.lru_cache(4096)
def reads(code: CodeType, graph_time: GraphTime = NOTHING) -> Reads:
    """The names that code reads.

    Args:
        code: The code of a function.
        graph_time: What runs at graph time, and is left out.
    """
    names: set[str] = set()
    attributes: set[str] = set()
    roots: set[str] = set()
    modules: set[str] = set()
    keys: dict[str, set[Any]] = {}
    for each in _codes(code, graph_time):
        instructions = list(dis.get_instructions(each))
        attributes |= special_methods(instructions)
        named, looked_up_on = dynamic(instructions, each.co_name)
        attributes |= named
        roots |= looked_up_on
        for i, instruction in enumerate(instructions):
            name = instruction.opname
            if name in _GLOBALS:
                names.add(str(instruction.argval))
                key = _item_key(instructions[i + 1 : i + 3])
                keys.setdefault(str(instruction.argval), set()).add(key)
                if instruction.argval in _BY_TEXT:
                    in_texts = _named_in_texts(each)
                    names |= in_texts
                    keys |= {other: {None} for other in in_texts}
            elif name in _ATTRIBUTES:
                attributes.add(str(instruction.argval))
            elif name == "IMPORT_NAME":
                modules.add(str(instruction.argval))
            elif name == "MATCH_CLASS":
                attributes.add("__match_args__")
                attributes |= set(instructions[i - 1].argval or ())
    items = {name: frozenset(each) for name, each in keys.items() if None not in each}
    globals_, others = frozenset(names), frozenset(attributes)
    return Reads(globals_, others, frozenset(roots), frozenset(modules), items)


def _item_key(rest: Sequence[Instruction]) -> str | int | None:
    """The key under which an item is read of what has just been loaded; None if it is not."""
    if [each.opname for each in rest] != ["LOAD_CONST", "BINARY_SUBSCR"]:
        return None
    key = rest[0].argval
    return key if type(key) in (str, int) else None


def _named_in_texts(code: CodeType) -> set[str]:
    """The names that the texts in some code hold, for `globals` and `eval`."""
    texts = (each for each in code.co_consts[1:] if isinstance(each, str))
    return {name for text in texts for name in _NAME.findall(text)}


def _codes(code: CodeType, graph_time: GraphTime) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not graph_time.runs(constant):
            yield from _codes(constant, graph_time)
