"""Finds the names in a function's code: globals and closure variables it reads, and attributes."""

from __future__ import annotations

import dis
import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType

from nbfn.state.bytecode.dynamic_attributes import ANY, dynamic
from nbfn.state.bytecode.graph_time import NOTHING, GraphTime
from nbfn.state.bytecode.output_only import output_only
from nbfn.state.bytecode.read_parts import Part, part_read
from nbfn.state.bytecode.special_methods import special_methods

GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"})
_CLOSED = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_BY_TEXT = frozenset({"globals", "eval", "exec"})
_STORES = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR")
_STORES_ANY = frozenset({*_BY_TEXT, "setattr", "__setattr__", "vars", "__dict__"})
_NAME = re.compile(r"[^\W\d]\w*")

Named = str | tuple[str, Part]
"""The name of an attribute, or its name with the part of it that is read."""


@dataclass(frozen=True)
class Reads:
    """The names that code reads, including its nested functions.

    Attributes:
        globals: Names looked up in the module or the builtins, except those that the code of a cell
            has assigned before.
        attributes: Names looked up on objects, with `ANY` if they may have any name. Attributes of
            library modules are excluded. If only parts of an attribute are read, it is listed with
            each part. Special methods that the code may run implicitly are included.
        modules: Full names of imported modules.
        parts: The globals and closure variables of which only parts are read.
        written: The globals and closure variables that the code itself assigns.
        stored: All names and attributes that it assigns, with `ANY` if they may have any name.
        of_libraries: Names looked up on library modules.
        used: All names that are read, except at graph time or only for output.
    """

    globals: frozenset[str]
    attributes: frozenset[Named]
    modules: frozenset[str]
    parts: Mapping[str, frozenset[Part]]
    written: frozenset[str]
    stored: frozenset[str]
    of_libraries: frozenset[str]
    used: frozenset[str]


# Code objects compare by value, so a cell that runs again finds what was read of it before.
@functools.lru_cache(4096)
def reads(
    code: CodeType,
    graph_time: GraphTime = NOTHING,
    loggers: frozenset[str] = frozenset(),
    libraries: frozenset[str] = frozenset(),
) -> Reads:
    """Returns the names that code reads.

    Args:
        code: The code of a function.
        graph_time: What runs at graph time, and is left out.
        loggers: The globals that are loggers: traces do not depend on what is logged.
        libraries: The globals that are library modules, whose attributes are not guarded:
            ``tf.data`` is no reason to guard ``self.data``.
    """
    names: set[str] = set()
    attributes: set[Named] = set()
    modules: set[str] = set()
    written: set[str] = set()
    stored: set[str] = set()
    of_libraries: set[str] = set()
    used: dict[str, set[Part | None]] = defaultdict(set)
    used_attributes: dict[str, set[Part | None]] = defaultdict(set)
    for each in _codes(code, graph_time):
        instructions = list(dis.get_instructions(each))
        attributes |= special_methods(instructions)
        attributes |= dynamic(instructions, each.co_name, libraries)
        hidden = output_only(instructions, loggers)
        of_library = False
        for i, instruction in enumerate(instructions):
            name, value = instruction.opname, instruction.argval
            if name in _STORES:
                stored.add(value)
            elif value in _STORES_ANY and (name in GLOBALS or name in _ATTRIBUTES):
                stored.add(ANY)
            is_attribute = name in _ATTRIBUTES
            of_library = (name in GLOBALS and value in libraries) or (of_library and is_attribute)
            if i in hidden:
                continue
            if name in GLOBALS or name in _CLOSED:
                used[value].add(part_read(instructions, i))
                if name in GLOBALS:
                    names.add(value)
                if value in _BY_TEXT:
                    # A heuristic: no instruction has the names that `eval` reads, so all names in
                    # constant texts count.
                    in_texts = _named_in_texts(each)
                    names |= in_texts
                    for other in in_texts:
                        used[other].add(None)
            elif of_library:
                of_libraries.add(value)
            elif is_attribute:
                used_attributes[value].add(part_read(instructions, i))
            elif name == "IMPORT_NAME":
                # Before it, CPython loads the level and the names that are imported.
                level = instructions[i - 2].argval  # the number of dots of a relative import
                modules.add("." * level + value if isinstance(level, int) else value)
            elif name == "MATCH_CLASS":
                # CPython loads the names of keyword patterns in the instruction before.
                attributes |= set(instructions[i - 1].argval or ())
                if instruction.arg:  # positional patterns: the class maps positions to attributes
                    attributes.add(ANY)
            elif name == "STORE_GLOBAL" or (name == "STORE_DEREF" and value in code.co_freevars):
                written.add(value)
    for name, found in used_attributes.items():
        attributes |= {name} if None in found else {(name, part) for part in found if part}
    parts = {n: frozenset(p for p in found if p) for n, found in used.items() if None not in found}
    return Reads(
        # The body of a function has no `STORE_NAME`: only cells and classes do.
        frozenset(names) - names_assigned_first(code),
        frozenset(attributes),
        frozenset(modules),
        parts,
        frozenset(written),
        frozenset(stored),
        frozenset(of_libraries),
        frozenset(used),
    )


def names_assigned_first(code: CodeType) -> frozenset[str]:
    """Returns the names that the code of a cell assigns before it reads them."""
    first: dict[str, bool] = {}
    for each in dis.get_instructions(code):
        if each.opname.endswith("_NAME") and each.opname != "IMPORT_NAME":
            first.setdefault(each.argval, each.opname == "STORE_NAME")
    return frozenset(name for name, is_given in first.items() if is_given)


def _named_in_texts(code: CodeType) -> set[str]:
    """Returns the names in the strings of some code, for `globals` and `eval`."""
    loaded = (each.argval for each in dis.get_instructions(code) if each.opcode in dis.hasconst)
    texts = (each for each in loaded if isinstance(each, str))
    return {name for text in texts for name in _NAME.findall(text)}


def _codes(code: CodeType, graph_time: GraphTime) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not graph_time.runs(constant):
            yield from _codes(constant, graph_time)
