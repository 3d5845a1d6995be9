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
from enum import IntEnum
from typing import Any, NamedTuple

from nbfn.state.values.fingerprints import ABSENT, is_a
from nbfn.state.values.introspection import (
    Fetch,
    closed_over,
    dictionary,
    has_no_other,
    has_same_code,
    hides_no_builtin,
    member,
    slots_of,
)

Check = Callable[[], bool]
_FEW = 4
"""Fewer checks of a kind take no longer by themselves than in a column."""


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

    @property
    def holds(self) -> bool:
        """Whether it is the same object."""
        return self.fetch() is self.value


def in_columns(checks: Iterable[IdentityCheck]) -> tuple[list[Check], list[IdentityCheck]]:
    """Returns the columns of those checks that can be in one, and the other checks."""
    columns: dict[Any, list[IdentityCheck]] = defaultdict(list)
    for check in checks:
        columns[_column_of(check)].append(check)
    left = columns.pop(None, [])
    for column in (_of_closures, _of_functions, _of_names):
        if 0 < len(columns.get(column, ())) < _FEW:
            left += columns.pop(column)
    return [check for column, inside in columns.items() for check in column(inside)], left


def _column_of(check: IdentityCheck) -> Callable[[list[IdentityCheck]], Iterator[Check]] | None:
    """Returns what makes the column for a check; None if it can be in none."""
    kind: Any = getattr(check.fetch, "func", None)
    arguments: Any = getattr(check.fetch, "args", ())
    if kind is hides_no_builtin:
        return _of_builtins
    if kind is closed_over and check.value is not ABSENT:
        return _of_closures
    if kind is has_same_code:
        return _of_functions
    if kind is has_no_other:
        return _of_names if _Holder.of(arguments[0]) else None
    place = _place(check.fetch)
    # Not so for a slot, a descriptor such as a property, or what a wrapper of TensorFlow wraps.
    is_there = place is not None and place[0].dictionary.get(place[1], place) is check.value
    return _of_values if is_there else None


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


def _of_functions(checks: list[IdentityCheck]) -> Iterator[Check]:
    """Yields the column of functions: of their code, their defaults and new attributes."""
    # Last come those whose defaults are compared by content.
    ordered = sorted((check.fetch.args for check in checks), key=lambda each: each[2] is ABSENT)
    references, codes, defaults, _ = map(list, zip(*ordered, strict=True))
    compared = [each for each in defaults if each is not ABSENT]
    count, ids = len(compared), tuple(map(id, compared))
    bare = [reference for reference in references if not vars(reference())]
    others = [(each[0], each[3]) for each in ordered if vars(each[0]())]

    def is_as_before() -> bool:
        functions = list(map(_call, references))
        return (
            list(map(_CODE, functions)) == codes
            and tuple(map(id, map(_DEFAULTS, functions[:count]))) == ids
            and not any(map(_ATTRIBUTES, map(_call, bare)))
            and all(reference().__dict__.keys().isdisjoint(names) for reference, names in others)
        )

    yield functools.partial(_or_each, is_as_before, checks)


def _of_names(checks: list[IdentityCheck]) -> Iterator[Check]:
    """Yields the columns of classes and objects that get no other attributes."""
    for is_all in (True, False):
        inside = [each for each in checks if each.fetch.keywords["is_all"] is is_all]
        found = [(holder, each) for each in inside if (holder := _Holder.of(each.fetch.args[0]))]
        found.sort(key=lambda each: each[0].kind)
        if found:
            yield functools.partial(_or_each, _names_check(*zip(*found, strict=True)), inside)


def _names_check(holders: Sequence[_Holder], checks: Sequence[IdentityCheck]) -> Check:
    dictionaries, is_all = _dictionaries_of(holders), checks[0].fetch.keywords["is_all"]
    objects = [each.fetch.args[0] for each in checks if each.fetch.args[2] is not None]
    names, absent = list(map(tuple, dictionaries())), [each.fetch.args[1] for each in checks]

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


def _of_builtins(checks: list[IdentityCheck]) -> Iterator[Check]:
    """Yields a check for each module whose code reads builtins."""
    found: dict[int, tuple[dict[str, Any], frozenset[str]]] = {}
    for check in checks:
        namespace, names = check.fetch.args
        before = found.get(id(namespace), (namespace, frozenset()))[1]
        found[id(namespace)] = (namespace, before | names)
    for each in found.values():
        yield functools.partial(hides_no_builtin, *each)


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


def _or_each(is_same: Check, checks: list[IdentityCheck]) -> bool:
    """Returns whether a column holds; if it does not, whether each check holds by itself."""
    try:
        if is_same():
            return True
    except _CHANGED:
        pass
    return all(check.holds for check in checks)


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
