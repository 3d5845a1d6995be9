"""What a function's code names: the globals and closures it reads, and every attribute."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from nbfn.functions.dynamic import dynamic
from nbfn.functions.special import special_methods
from nbfn.site import is_library

_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"})


@dataclass(frozen=True)
class Reads:
    """The names that code reads, those of the functions nested in it included.

    Attributes:
        globals: Names that are looked up in the module, or among the builtins.
        attributes: Names that are looked up on some object; `ANY` among them if it may be any.
            The special methods that the code may run though it names none are there too.
        roots: Those of the globals on which attributes of any name are looked up.
    """

    globals: frozenset[str]
    attributes: frozenset[str]
    roots: frozenset[str]


@functools.lru_cache(4096)
def reads(code: CodeType) -> Reads:
    """The names that code reads."""
    names: set[str] = set()
    attributes: set[str] = set()
    roots: set[str] = set()
    for each in _codes(code):
        instructions = list(dis.get_instructions(each))
        attributes |= special_methods(instructions)
        named, looked_up_on = dynamic(instructions, each.co_name)
        attributes |= named
        roots |= looked_up_on
        for instruction in instructions:
            if instruction.opname in _GLOBALS:
                names.add(str(instruction.argval))
            elif instruction.opname in _ATTRIBUTES:
                attributes.add(str(instruction.argval))
    return Reads(frozenset(names), frozenset(attributes), frozenset(roots))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


_NOT_THE_USERS = ("nbfn", "tensorflow", "keras", "numpy", "IPython", "ipykernel", "builtins")


def is_the_users(module: Any) -> bool:
    """Whether the module of this name holds the user's own code, and no library's."""
    if module == "__main__":
        return True
    if not isinstance(module, str) or module.split(".")[0] in _NOT_THE_USERS:
        return False
    return _is_outside_libraries(module)


@functools.lru_cache(1024)
def _is_outside_libraries(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None)
    return isinstance(file, str) and not is_library(file)
