"""Columns: checks of one kind, of many functions, classes or objects, in one pass in C.

The state of code that uses a package of the user's has hundreds of functions and classes. To check
each by itself takes up to a microsecond. A column takes about a tenth of that: it fetches what it
compares by `map`, and compares the addresses of all at once. An address is only used again once its
object is dead, so plain values are kept alive, and a column fails when another value has died.
"""

from __future__ import annotations

import functools
import itertools
import operator
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from nbfn.state.values.fingerprints import ABSENT, is_a
from nbfn.state.values.introspection import (
    Fetch,
    attribute_names,
    closed_over,
    dictionary,
    member,
    slots_of,
)

Check = Callable[[], bool]
# Measured: below it, the iterators of a column cost more than they save.
_FEW = 4


class IdentityCheck(NamedTuple):
    """A check that what is fetched is the same object as before.

    Attributes:
        fetch: Fetches it.
        value: The object.
        is_weak: Whether the object must not be kept alive.
    """

    fetch: Any
    value: Any
    is_weak: bool = False

    def holds(self) -> bool:
        """Returns whether it is the same object."""
        return self.fetch() is self.value


# A bound method of a class with slots is called as fast as a partial (CPython 3.11).
@dataclass(slots=True)
class CodeCheck:
    """A check that a function has the same code and defaults, and no further attributes.

    Attributes:
        function: Fetches the function.
        code: Its code.
        defaults: Its defaults; `ABSENT` if they may be others.
        absent: The attributes that it does not have.
    """

    function: Fetch
    code: Any
    defaults: Any
    absent: frozenset[str]

    def holds(self) -> bool:
        """Returns whether the function is alive and has not changed."""
        value = self.function()
        return (
            value is not None
            and value.__code__ is self.code
            and (self.defaults is ABSENT or value.__defaults__ is self.defaults)
            and value.__dict__.keys().isdisjoint(self.absent)
        )


@dataclass(slots=True)
class NamesCheck:
    """A check that an object has none of some attributes, or no others if `is_all`.

    Attributes:
        holder: Fetches the object.
        names: The names of attributes.
        cls: Fetches its class, which it must still have; None for a class.
        is_all: Whether these are the attributes that it must have.
    """

    holder: Fetch
    names: frozenset[str]
    cls: Fetch | None = None
    is_all: bool = False

    def holds(self) -> bool:
        """Returns whether the object is alive and has no other attributes."""
        value = self.holder()
        if value is None or (self.cls is not None and type(value) is not self.cls()):
            return False
        found = attribute_names(value)
        return found == self.names if self.is_all else found.isdisjoint(self.names)


@dataclass(slots=True)
class BuiltinsCheck:
    """A check that a module defines none of these builtins' names."""

    namespace: dict[str, Any]
    names: frozenset[str]

    def holds(self) -> bool:
        """Returns whether it defines none of them."""
        return self.namespace.keys().isdisjoint(self.names)


AnyCheck = IdentityCheck | CodeCheck | NamesCheck | BuiltinsCheck


def in_columns(checks: Iterable[AnyCheck]) -> list[Check]:
    """Returns the columns of some checks."""
    columns: dict[Any, list[Any]] = defaultdict(list)
    for check in checks:
        columns[_column_of(check)].append(check)
    for column, other in _OF_FEW.items():
        if 0 < len(columns.get(column, ())) < _FEW:
            columns[other] += columns.pop(column)
    return [check for column, inside in columns.items() for check in column(inside)]


def _column_of(check: AnyCheck) -> Callable[[list[Any]], Iterator[Check]]:
    """Returns what makes the column for a check."""
    match check:
        case CodeCheck():
            return _of_functions
        case NamesCheck():
            return _of_names if _Holder.of(check.holder) else _by_themselves
        case BuiltinsCheck():
            return _of_builtins
    if getattr(check.fetch, "func", None) is closed_over and check.value is not ABSENT:
        return _of_closures
    place = _place(check.fetch)
    # Not so for a slot, a descriptor such as a property, or what a wrapper of TensorFlow wraps.
    is_there = place is not None and place[0].dictionary.get(place[1], place) is check.value
    return _of_values if is_there else _of_fetched


def _by_themselves(checks: list[Any]) -> Iterator[Check]:
    """Yields the checks, each by itself."""
    yield from (each.holds for each in checks)


def _of_fetched(checks: list[IdentityCheck]) -> Iterator[Check]:
    """Yields the column of what each check fetches by itself."""
    fetches = [each.fetch for each in checks]
    yield column(lambda: map(_call, fetches), checks)


def _of_values(checks: list[IdentityCheck]) -> Iterator[Check]:
    """Yields the column of what is in the dictionaries of modules, classes and objects."""
    found: dict[int, tuple[_Holder, list[str]]] = {}
    for check in checks:
        holder, name = _place(check.fetch)  # type: ignore[misc]
        found.setdefault(id(holder.owner), (holder, []))[1].append(name)
    ordered = sorted(found.values(), key=lambda each: each[0].kind)
    # For one name alone, a getter returns no tuple.
    getters = [operator.itemgetter(*names, names[0]) for _, names in ordered]
    dictionaries = _dictionaries_of([holder for holder, _ in ordered])

    def values() -> Iterable[Any]:
        return _flat(map(_call, getters, dictionaries()))

    yield column(values, checks)


def _of_closures(checks: list[IdentityCheck]) -> Iterator[Check]:
    """Yields the column of what functions close over."""
    functions, indexes = zip(*(check.fetch.args for check in checks), strict=True)

    def values() -> Iterable[Any]:
        return map(_CONTENTS, map(operator.getitem, map(_CLOSURE, map(_call, functions)), indexes))

    yield column(values, checks)


def _of_functions(checks: list[CodeCheck]) -> Iterator[Check]:
    """Yields the column of functions: of their code, their defaults and new attributes."""
    # Last come those whose defaults are compared by content.
    ordered = sorted(checks, key=lambda each: each.defaults is ABSENT)
    references, codes = [each.function for each in ordered], [each.code for each in ordered]
    compared = [each.defaults for each in ordered if each.defaults is not ABSENT]
    count, ids = len(compared), tuple(map(id, compared))
    bare = [reference for reference in references if not vars(reference())]
    others = [(each.function, each.absent) for each in ordered if vars(each.function())]

    def is_as_before() -> bool:
        functions = list(map(_call, references))
        return (
            # Lists compare by identity first; only replaced code is compared by value.
            list(map(_CODE, functions)) == codes
            and tuple(map(id, map(_DEFAULTS, functions[:count]))) == ids
            and not any(map(_ATTRIBUTES, map(_call, bare)))
            and all(reference().__dict__.keys().isdisjoint(names) for reference, names in others)
        )

    yield functools.partial(_or_each, is_as_before, checks)


def _of_names(checks: list[NamesCheck]) -> Iterator[Check]:
    """Yields the columns of classes and objects that get no other attributes."""
    for is_all in (True, False):
        inside = [each for each in checks if each.is_all is is_all]
        found = [(holder, each) for each in inside if (holder := _Holder.of(each.holder))]
        # `_dictionaries_of` chains modules, classes and objects, so the checks must be in this
        # order.
        found.sort(key=lambda each: each[0].kind)
        if found:
            yield functools.partial(_or_each, _names_check(*zip(*found, strict=True)), inside)


def _names_check(holders: Sequence[_Holder], checks: Sequence[NamesCheck]) -> Check:
    dictionaries, is_all = _dictionaries_of(holders), checks[0].is_all
    objects = [each.holder for each in checks if each.cls is not None]
    names, absent = list(map(tuple, dictionaries())), [each.names for each in checks]

    def classes() -> Iterable[Any]:
        return map(type, map(_call, objects))

    is_same_class = column(classes, [IdentityCheck(None, each, is_weak=True) for each in classes()])

    def is_as_before() -> bool:
        if not is_same_class():
            return False
        if not is_all:
            return all(map(frozenset.isdisjoint, absent, dictionaries()))
        return list(map(tuple, dictionaries())) == names  # in this order; `_or_each` ignores it

    return is_as_before


def _of_builtins(checks: list[BuiltinsCheck]) -> Iterator[Check]:
    """Yields a check for each module whose code reads builtins."""
    by_module: dict[int, list[BuiltinsCheck]] = defaultdict(list)
    for check in checks:
        by_module[id(check.namespace)].append(check)
    for inside in by_module.values():
        names = frozenset[str]().union(*(each.names for each in inside))
        yield BuiltinsCheck(inside[0].namespace, names).holds


_OF_FEW = {
    _of_closures: _of_fetched,
    _of_functions: _by_themselves,
    _of_names: _by_themselves,
}
"""What takes no longer for fewer than `_FEW` checks."""

# How a column compares --------------------------------------------------------------------

_call, _flat = operator.call, itertools.chain.from_iterable
_DICT = itertools.repeat("__dict__")
_ATTRIBUTES = operator.attrgetter("__dict__")
_CLOSURE = operator.attrgetter("__closure__")
_CONTENTS = operator.attrgetter("cell_contents")
_CODE = operator.attrgetter("__code__")
_DEFAULTS = operator.attrgetter("__defaults__")
_CHANGED = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Errors of a fetch from an object that is dead, of another class, or has lost a part."""


def column(values: Callable[[], Iterable[Any]], checks: Iterable[IdentityCheck]) -> Check:
    """Returns the check that the values are the same objects as now.

    Args:
        values: Fetches the values.
        checks: The checks that have the values.
    """
    died: list[Any] = []
    kept = [
        weakref.ref(check.value, died.append) if check.is_weak else check.value for check in checks
    ]
    return functools.partial(_are_same, values, tuple(map(id, values())), died, kept)


def _are_same(
    values: Callable[[], Iterable[Any]], ids: tuple[int, ...], died: list[Any], _kept: list[Any]
) -> bool:
    try:
        return not died and tuple(map(id, values())) == ids
    except _CHANGED:
        return False


def _or_each(is_same: Check, checks: Sequence[CodeCheck | NamesCheck]) -> bool:
    """Returns whether a column holds; if it does not, whether each check holds by itself."""
    try:
        # Stricter than the checks: it also fails if a function gets an attribute that nothing
        # reads, or if names are in another order.
        if is_same():
            return True
    except _CHANGED:
        pass
    return all(check.holds() for check in checks)


class _Kind(IntEnum):
    MODULE, CLASS, OBJECT = range(3)


class _Holder(NamedTuple):
    """What has attributes in a dictionary: the namespace of a module, a class or an object."""

    kind: _Kind
    fetch: Any
    owner: Any

    @classmethod
    def of(cls, fetch: Fetch) -> _Holder | None:
        """Returns the class or the object that is fetched; None if it has slots."""
        owner = fetch()
        if is_a(owner, type):
            return cls(_Kind.CLASS, fetch, owner)
        try:
            attributes = object.__getattribute__(owner, "__dict__")
        except (AttributeError, TypeError):
            return None
        # Those of a `threading.local` are found in another way.
        is_plain = attributes is dictionary(owner) and not slots_of(type(owner))
        return cls(_Kind.OBJECT, fetch, owner) if is_plain else None

    @property
    def dictionary(self) -> Any:
        if self.kind is _Kind.MODULE:
            return self.owner
        return vars(self.owner) if self.kind is _Kind.CLASS else dictionary(self.owner)


def _place(fetch: Any) -> tuple[_Holder, str] | None:
    """Returns what has the attribute or global that is fetched, and its name."""
    kind: Any = getattr(fetch, "func", None)
    arguments: Any = getattr(fetch, "args", ())
    if kind is member:
        holder = _Holder.of(arguments[0])
        return holder and (holder, arguments[1])
    namespace = getattr(kind, "__self__", None)
    if type(namespace) is dict and kind == namespace.get:
        return _Holder(_Kind.MODULE, None, namespace), arguments[0]
    return None


def _dictionaries_of(holders: Sequence[_Holder]) -> Callable[[], Iterable[Any]]:
    """Returns what fetches the dictionaries of holders, which are ordered by kind."""
    modules = [each.owner for each in holders if each.kind is _Kind.MODULE]
    classes = [each.fetch for each in holders if each.kind is _Kind.CLASS]
    objects = [each.fetch for each in holders if each.kind is _Kind.OBJECT]

    def dictionaries() -> Iterable[Any]:
        of_objects = map(object.__getattribute__, map(_call, objects), _DICT)
        return itertools.chain(modules, map(vars, map(_call, classes)), of_objects)

    return dictionaries
