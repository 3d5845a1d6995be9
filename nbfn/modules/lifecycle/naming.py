"""Names inside one module: automatic names, reservations, and comparison of modules."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.code import closure, with_inner
from nbfn.modules.errors import NameInUseError
from nbfn.modules.lifecycle.fields import field_values
from nbfn.serial import serial

_TWIN = "a method"
_ASSIGNING = tuple(dis.opmap[name] for name in ("STORE_DEREF", "STORE_GLOBAL"))


class TakenNames:
    """The names taken by the declarations of one module.

    A submodule conflicts with anything of its name; two variables conflict only within one
    collection.
    """

    __slots__ = ("_counts", "_taken")

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str | None, ...]] = {}
        self._counts: dict[str, int] = {}

    def copy(self) -> TakenNames:
        """Returns a copy."""
        copy = TakenNames()
        copy._taken = self._taken.copy()
        copy._counts = self._counts.copy()
        return copy

    def for_a_run(self) -> TakenNames:
        """Returns the names with which a run of a transformed function starts.

        The run may declare again what the surrounding method has declared: these are the same
        variables.
        """
        copy = TakenNames()
        copy._taken = {name: (None,) for name, taken in self._taken.items() if None in taken}
        copy._counts = self._counts.copy()
        return copy

    def add(self, others: TakenNames) -> None:
        """Adds the names that others have taken."""
        for name, collections in others._taken.items():
            self._taken[name] = tuple(
                {**dict.fromkeys(self._taken.get(name, ())), **dict.fromkeys(collections)}
            )
        for name, count in others._counts.items():
            self._counts[name] = max(count, self._counts.get(name, 0))

    def next_auto(self, cls: type) -> str:
        """Returns the next result of ``auto``, unless that name is taken."""
        return f"{cls.__name__}_{self._counts.get(cls.__name__, 0)}"

    def count(self, cls: type) -> None:
        """Advances to the class's next automatic name."""
        self._counts[cls.__name__] = self._counts.get(cls.__name__, 0) + 1

    def auto(self, cls: type) -> str:
        """Returns the next automatic name for a class: ``Dense_0``, ``Dense_1``, ..."""
        while True:
            index = self._counts.get(cls.__name__, 0)
            self._counts[cls.__name__] = index + 1
            name = f"{cls.__name__}_{index}"
            # An explicit name may look like an automatic one; then that number is skipped.
            if name not in self._taken:
                return name

    def is_name_scope(self, name: str) -> bool:
        """Returns whether the name is the scope of a ``compact_name_scope`` method."""
        return _TWIN in self._taken.get(name, ())

    def take_name_scope(self, name: str) -> None:
        """Reserves the name for a method."""
        self._taken[name] = (None, _TWIN)

    def held(self) -> dict[str, tuple[str | None, ...]]:
        """Returns the collections that have each name; None marks a submodule."""
        return self._taken

    def taken(self, name: str, collection: str | None) -> bool:
        """Returns whether a name is taken for a variable of the collection (None: a submodule)."""
        collections = self._taken.get(name)
        if collections is None:
            return False
        return collection is None or None in collections or collection in collections

    def take(self, name: str, collection: str | None) -> None:
        """Reserves the name for a variable of the collection, or (None) for a submodule."""
        collections = self._taken.get(name, ())
        if collection not in collections:
            self._taken[name] = (*collections, collection)

    def take_free(self, name: str, collection: str | None, lasting: TakenNames) -> bool:
        """Takes a name unless it is taken here or in ``lasting``; returns whether it did."""
        taken = self._taken
        if name not in taken and name not in lasting._taken:
            taken[name] = (collection,)
            return True
        if self.taken(name, collection) or lasting.taken(name, collection):
            return False
        taken[name] = (*taken.get(name, ()), collection)
        return True


def name_in_use(
    owner: Any, name: str, collection: str | None, *declared: TakenNames
) -> NameInUseError:
    """Returns the error for a name collision.

    Args:
      owner: the module that wants to declare.
      name: the name.
      collection: of the variable that is declared; None for a submodule.
      declared: where the name may be taken.
    """
    holders = [kind for names in declared for kind in names.held().get(name, ())]
    found = _kind_of(holders[0]) if holders else "a submodule"
    return NameInUseError(
        f"{owner._internal.scope.label(owner)} already has {found} called {name!r}, so it cannot "
        f"have {_kind_of(collection)} of that name. Rename one of them; to share a module, create "
        "it once and call it twice."
    )


def _kind_of(collection: str | None) -> str:
    kinds = {None: "a submodule", "params": "a parameter", _TWIN: _TWIN}
    return kinds.get(collection, f"a variable of the collection {collection!r}")


def same_configuration(a: Any, b: Any, exact: bool = False) -> bool:
    """Returns whether two modules have the same type and ``configuration``."""
    if not _is_same_class(type(a), type(b)):
        return False
    others = field_values(b)
    return all(
        value is others[name] or configuration(value, exact) == configuration(others[name], exact)
        for name, value in field_values(a).items()
    )


def _is_same_class(a: Any, b: Any) -> bool:
    """Returns whether two classes are the same, or versions of one from a cell that ran again."""
    return a is b or (
        (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)
        and a.__field_names__ == b.__field_names__
    )


def assigned(code: types.CodeType) -> frozenset[str]:
    """Returns the names of enclosing functions and globals that code assigns."""
    found: set[str] = set()
    for each in with_inner(code):
        # To disassemble is slow. Each instruction is two bytes, of which the first is the operation
        # (CPython from 3.6 on).
        if any(operation in each.co_code[::2] for operation in _ASSIGNING):
            named = (i for i in dis.get_instructions(each) if i.opcode in _ASSIGNING)
            found |= {str(i.argval) for i in named}
    return frozenset(found)


def configuration(
    value: Any, exact: bool = True, _inside: frozenset[int] = frozenset()
) -> Hashable:
    """Returns a hashable value that is equal for configurations written in the same way.

    Functions defined at the same place are equal (a lambda in a compact method is a new object in
    each call); Keras objects are equal if their configs are; modules, if their fields are, and if
    `exact` the names of unbound ones.

    Args:
      value: a field's value.
      exact: whether tensors and arrays differ by value and other objects by identity; otherwise the
        former differ by dtype and shape, the latter by type.

    Returns:
      Something hashable.
    """
    if isinstance(value, (float, complex)):
        # By text, because 0.0 equals -0.0 and NaN does not equal itself.
        return (type(value), str(value))
    if isinstance(value, (str, bytes, int, bool, type(None), type)):
        return (type(value), value)
    if id(value) in _inside:  # the closure of a recursive function contains it
        return (type(value),)
    inside = _inside | {id(value)}

    def again(part: Any) -> Hashable:
        return configuration(part, exact, inside)

    if isinstance(value, Mapping):
        return ("map", tuple((again(k), again(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return ("list", tuple(again(v) for v in value))
    if isinstance(value, (set, frozenset)):
        return ("set", frozenset(again(v) for v in value))
    if isinstance(value, types.FunctionType):
        # A variable that the function assigns is not part of its configuration.
        written = assigned(value.__code__)
        cells = again({n: content for n, content in closure(value).items() if n not in written})
        return (value.__code__, again(value.__defaults__), again(value.__kwdefaults__), cells)
    if isinstance(value, functools.partial):
        return (again(value.func), again(value.args), again(value.keywords))
    if hasattr(type(value), "__field_names__"):
        # The name of a bound module depends on its place.
        name = value.__dict__["name"] if exact and value._internal.scope is None else None
        return (type(value), name, again(list(field_values(value).values())))
    if tf.is_tensor(value) or hasattr(value, "__array__"):
        alike = (type(value), str(value.dtype), str(value.shape))
        if not exact:
            return alike
        concrete = not (tf.is_symbolic_tensor(value) or isinstance(value, tf.Variable))
        return (*alike, np.asarray(value).tobytes() if concrete else serial(value))
    config = getattr(value, "get_config", None)
    # A config describes no weights, so layers and models are compared by identity.
    if callable(config) and not hasattr(value, "weights"):
        return (type(value), again(config()))
    if getattr(type(value), "__eq__", None) is object.__eq__:
        return (type(value), serial(value)) if exact else (type(value),)
    try:
        hash(value)
    except TypeError:
        return (type(value), serial(value))
    return (type(value), value)
