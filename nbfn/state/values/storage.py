"""Finds the attributes in which objects of libraries store what code reads through their methods.

Code that reads ``config.rate`` may run a ``__getattr__`` that looks in ``config._fields``. So a
state has the attributes that those methods read which the code names or which operators run. Plain
values that these methods assign themselves are their own records, such as the number of iterations
of a progress bar: no state has them.
"""

from __future__ import annotations

import dis
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Set
from dis import Instruction
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from nbfn.code import is_user_module, names_in_code, package_of, with_inner
from nbfn.state.bytecode.special_methods import ALWAYS, IN_PLACE, LENGTH
from nbfn.state.values.fingerprints import is_a, is_content, items_of
from nbfn.state.values.introspection import with_decorated, without_descriptor

# Keras's objects and modules have settings; a shell has the whole notebook, and a logger no values.
_EXCLUDED = frozenset(
    {
        *("builtins", "nbfn", "tensorflow", "keras", "numpy", "IPython", "ipykernel"),
        *("logging", "contextlib", "typing"),
    }
)
_OPERATORS = (ALWAYS | LENGTH) - IN_PLACE
MAX_ITEMS = 200


def library_bases(cls: type) -> tuple[type, ...]:
    """Returns the library classes that a class is or extends, of which `read_by_methods` knows."""
    return tuple(
        base
        for base in cls.__mro__
        if package_of(base.__module__) not in _EXCLUDED and not is_user_module(base.__module__)
    )


@functools.lru_cache(256)
def attributes_of_methods(classes: tuple[type, ...]) -> frozenset[str]:
    """Returns the attributes that methods of library classes read or assign on their own object."""
    functions = itertools.chain.from_iterable(_functions_of(classes).values())
    return frozenset[str]().union(*(names for f in functions for names in _of_self(f.__code__)))


class MethodReads(NamedTuple):
    """What the methods of a library class do with attributes.

    Attributes:
        names: The names that they read, of attributes and of much else.
        assigned: The attributes that they assign on their own object.
        others: The attributes of the class, such as traits, that they do not read.
    """

    names: frozenset[str]
    assigned: frozenset[str]
    others: frozenset[str]


def read_by_methods(cls: type, named: Set[str], indirect: Set[str]) -> MethodReads:
    """Returns what the methods do that code runs when it reads some names on an object.

    Args:
        cls: The class of the object, which is or extends a library's.
        named: The names that the code reads.
        indirect: The names that methods of other objects of the library read.
    """
    bases, descriptors = library_bases(cls), _descriptors_in(cls)
    used = dict.fromkeys(kind for name, kind in descriptors.items() if name in named)
    # A descriptor, such as a trait, stores values in the object that has it (traitlets 5: in
    # `_trait_values`).
    bases += tuple(base for kind in used for base in library_bases(kind) if base not in bases)
    members = _functions_of(bases).keys()
    named = named | ({"__get__"} if used else set())
    read = _read_by(bases, frozenset(members & named), frozenset(members & indirect))
    return read._replace(others=read.others | (descriptors.keys() - named))


def _descriptors_in(cls: type) -> dict[str, type]:
    """Returns the classes of a library's descriptors in user classes, such as those of traits."""
    return {
        name: type(each)
        for base in cls.__mro__
        if is_user_module(base.__module__)
        for name, each in vars(base).items()
        if hasattr(type(each), "__get__") and without_descriptor(each) is each
        if library_bases(type(each))
    }


@functools.lru_cache(1024)
def _read_by(
    bases: tuple[type, ...], named: frozenset[str], indirect: frozenset[str]
) -> MethodReads:
    functions, started = _functions_of(bases), named | _OPERATORS
    names = _reachable(functions, started | indirect, _names_in)[0]
    own = _reachable(functions, started, lambda code: _of_self(code)[0])[1]
    assigned = frozenset[str]().union(*(_of_self(code)[1] for code in own))
    return MethodReads(names, assigned, frozenset(functions) - names - named)


def _reachable(
    functions: Mapping[str, list[FunctionType]],
    names: frozenset[str],
    led_to: Callable[[CodeType], frozenset[str]],
) -> tuple[frozenset[str], list[CodeType]]:
    """Returns the names and the code that are reached from methods with these names."""
    left, found, codes = dict(functions), set[str](), list[CodeType]()
    while new := left.keys() & names:
        reached = [function.__code__ for name in new for function in left.pop(name)]
        names = frozenset().union(*map(led_to, reached))
        found |= names
        codes += reached
    return frozenset(found), codes


@functools.lru_cache(256)
def _functions_of(bases: tuple[type, ...]) -> dict[str, list[FunctionType]]:
    """Returns the functions behind each attribute of some classes."""
    found: dict[str, list[FunctionType]] = {}
    for base in bases:
        for name, each in list(vars(base).items()):
            found.setdefault(name, []).extend(_functions_behind(each))
    return found


def _functions_behind(value: Any) -> Iterator[FunctionType]:
    inner = getattr(value, "fget", None) or without_descriptor(value)
    if is_a(inner, FunctionType):
        yield from with_decorated(inner)
        return
    # A descriptor of the library, such as a trait, reads the object that has it.
    for base in library_bases(type(value)) if hasattr(type(value), "__get__") else ():
        yield from (each for each in vars(base).values() if is_a(each, FunctionType))


@functools.lru_cache(4096)
def _names_in(code: CodeType) -> frozenset[str]:
    """Returns the names in some code, and its texts, as in ``self.__dict__["_content"]``."""
    constants = itertools.chain.from_iterable(each.co_consts for each in with_inner(code))
    return frozenset(names_in_code(code).union(each for each in constants if isinstance(each, str)))


@functools.lru_cache(4096)
def _of_self(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the attributes that a method reads and assigns on its own object."""
    read, assigned = set[str](), set[str]()
    own = code.co_varnames[:1]
    for before, each in itertools.pairwise(dis.get_instructions(code)):
        if each.opname in ("LOAD_ATTR", "LOAD_METHOD") and _loads(before, own):
            read.add(each.argval)
        # A swap precedes the store of `self.number += 1` (CPython 3.11).
        elif each.opname == "STORE_ATTR" and (_loads(before, own) or before.opname == "SWAP"):
            assigned.add(each.argval)
    return frozenset(read), frozenset(assigned)


def _loads(instruction: Instruction, own: tuple[str, ...]) -> bool:
    loaded = instruction.argval  # of two variables since CPython 3.13
    return loaded in own or (isinstance(loaded, tuple) and loaded[-1:] == own)


# Values ---------------------------------------------------------------------------------


def is_data(name: str, value: Any, package: str) -> bool:
    """Returns whether a value that a library's object stores is data, and cheap to compare."""
    if "cache" in name:  # it depends on the rest
        return False
    if not is_content(value):
        return package_of(type(value).__module__) == package
    items = None if is_a(value, np.ndarray) else items_of(value)
    return items is None or len(value) <= MAX_ITEMS
