"""What a function's code names: the globals and closures it reads, and every attribute."""

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
from nbfn.state.bytecode.parts import Part, part_read
from nbfn.state.bytecode.shown import shown
from nbfn.state.bytecode.special_methods import special_methods

GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"})
_CLOSED = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_BY_TEXT = frozenset({"globals", "eval", "exec"})
_NAME = re.compile(r"[^\W\d]\w*")

Named = str | tuple[str, Part]
"""The name of an attribute, or its name and the part of it that is read."""


@dataclass(frozen=True)
class Reads:
    """The names that code reads, those of the functions nested in it included.

    Attributes:
        globals: Names that are looked up in the module, or among the builtins; but for those that
            the code of a cell has given a value itself before.
        attributes: Names that are looked up on some object; `ANY` among them if it may be any.
            Those of modules of libraries are not among them. Where only parts of an attribute are
            read, its name with each of them stands there. The special methods that the code may run
            though it names none are there too.
        roots: Those of the globals on which attributes of any name are looked up.
        modules: Modules that are imported by their full names.
        parts: Those of the globals, and of the names closed over, of which only parts are read.
        written: Those that the code itself writes.
        of_libraries: Names that are looked up on modules of libraries.
        used: All that are read other than by code that runs at graph time, or only to be shown.
    """

    globals: frozenset[str]
    attributes: frozenset[Named]
    roots: frozenset[str]
    modules: frozenset[str]
    parts: Mapping[str, frozenset[Part]]
    written: frozenset[str]
    of_libraries: frozenset[str]
    used: frozenset[str]


@functools.lru_cache(4096)
def reads(
    code: CodeType,
    graph_time: GraphTime = NOTHING,
    loggers: frozenset[str] = frozenset(),
    libraries: frozenset[str] = frozenset(),
) -> Reads:
    """The names that code reads.

    Args:
        code: The code of a function.
        graph_time: What runs at graph time, and is left out.
        loggers: The globals that are loggers: what is logged is no part of a trace.
        libraries: The globals that are modules of libraries, whose attributes are not guarded:
            ``tf.data`` is no reason to guard ``self.data``.
    """
    names: set[str] = set()
    attributes: set[Named] = set()
    roots: set[str] = set()
    modules: set[str] = set()
    written: set[str] = set()
    of_libraries: set[str] = set()
    used: dict[str, set[Part | None]] = defaultdict(set)
    used_attributes: dict[str, set[Part | None]] = defaultdict(set)
    for each in _codes(code, graph_time):
        instructions = list(dis.get_instructions(each))
        attributes |= special_methods(instructions)
        named, looked_up_on = dynamic(instructions, each.co_name)
        attributes |= named
        roots |= looked_up_on
        hidden = shown(instructions, loggers)
        of_library = False
        for i, instruction in enumerate(instructions):
            name, value = instruction.opname, instruction.argval
            is_attribute = name in _ATTRIBUTES
            of_library = (name in GLOBALS and value in libraries) or (of_library and is_attribute)
            if i in hidden:
                continue
            if name in GLOBALS or name in _CLOSED:
                used[value].add(part_read(instructions, i))
                if name in GLOBALS:
                    names.add(value)
                if value in _BY_TEXT:
                    in_texts = _named_in_texts(each)
                    names |= in_texts
                    for other in in_texts:
                        used[other].add(None)
            elif of_library:
                of_libraries.add(value)
            elif is_attribute:
                used_attributes[value].add(part_read(instructions, i))
            elif name == "IMPORT_NAME":
                modules.add(value)
            elif name == "MATCH_CLASS":
                attributes |= set(instructions[i - 1].argval or ())
                if instruction.arg:  # which attributes the positions stand for, the class says
                    attributes.add(ANY)
            elif name == "STORE_GLOBAL" or (name == "STORE_DEREF" and value in code.co_freevars):
                written.add(value)
    for name, found in used_attributes.items():
        attributes |= {name} if None in found else {(name, part) for part in found if part}
    parts = {n: frozenset(p for p in found if p) for n, found in used.items() if None not in found}
    return Reads(
        frozenset(names) - names_given_first(code),
        frozenset(attributes),
        frozenset(roots),
        frozenset(modules),
        parts,
        frozenset(written),
        frozenset(of_libraries),
        frozenset(used),
    )


def names_given_first(code: CodeType) -> frozenset[str]:
    """The names that the code of a cell gives a value before it reads them, as its text goes."""
    first: dict[str, bool] = {}
    for each in dis.get_instructions(code):
        if each.opname.endswith("_NAME") and each.opname != "IMPORT_NAME":
            first.setdefault(each.argval, each.opname == "STORE_NAME")
    return frozenset(name for name, is_given in first.items() if is_given)


def _named_in_texts(code: CodeType) -> set[str]:
    """The names that the texts in some code hold, for `globals` and `eval`."""
    texts = (each for each in code.co_consts[1:] if isinstance(each, str))
    return {name for text in texts for name in _NAME.findall(text)}


def _codes(code: CodeType, graph_time: GraphTime) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not graph_time.runs(constant):
            yield from _codes(constant, graph_time)
