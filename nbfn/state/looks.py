"""Looks: cheap checks that dictionaries and containers hold the same objects as before.

A look compares the addresses of all parts at once, in C: 0.1 µs for each part, where a fetch and a
comparison of its own take 0.4 µs. An address is only used again once its object is dead. So plain
values are kept alive, and a look fails if another part is dead. An equal value that is another
object fails it, too: then a container is compared by content, and a walk finds the same state.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbfn import _tensorflow
from nbfn.state.bytecode.parts import Part
from nbfn.state.values.fingerprints import content_of, is_a, is_content, is_immutable
from nbfn.state.values.introspection import Fetch, dictionary, member, part_fetched, reference_to

Look = Callable[[], bool]

_CONTAINERS = (dict, defaultdict, list, tuple)
_MAX_PARTS = 200
"""Larger containers are compared by content, of which plain items cost little."""


def look_into(value: Any, fetch: Fetch, content: Any) -> Look | None:
    """Returns the look at a container and those in it; None if it must be compared as a whole.

    Args:
        value: The container.
        fetch: Fetches it.
        content: Its content.
    """
    found: list[Look] = []
    plain = _tensorflow.unwrapped(value)
    if type(plain) not in _CONTAINERS or not _look_into(plain, fetch, found, [_MAX_PARTS]):
        return None
    return functools.partial(_holds, tuple(found), fetch, content)


def _holds(looks: tuple[Look, ...], fetch: Fetch, content: Any) -> bool:
    for look in looks:
        if not look():
            return _has_content(fetch, content)
    return True


def _look_into(value: Any, fetch: Fetch, found: list[Look], left: list[int]) -> bool:
    """Adds the looks at a container and those in it; returns whether they are enough."""
    is_dict = is_a(value, dict)
    left[0] -= len(value)
    keys = _flat(value) if is_dict else []
    if left[0] < 0 or not all(is_immutable(key) or is_a(key, type) for key in keys):
        return False
    items = value.items() if is_dict else enumerate(value)
    references: list[Fetch] = [weakref.ref(key) for key in keys if is_a(key, type)]
    for key, item in items:
        if is_immutable(item):
            continue
        inner = functools.partial(part_fetched, fetch, Part("item", key))
        plain = _tensorflow.unwrapped(item)
        if type(plain) in _CONTAINERS:
            if not _look_into(plain, inner, found, left):
                return False
            continue
        reference = None if is_content(item) else reference_to(item)
        if reference is None:
            found.append(functools.partial(_has_content, inner, content_of(item)))
        else:
            references.append(reference)
    parts: Callable[[Any], tuple[Any, ...]] = tuple
    if is_dict:
        has_tuples = any(type(key) is tuple for key in value)
        parts = _flat_parts if has_tuples else _keys_and_values
    found.append(_look(fetch, parts, parts(value), references))
    return True


@dataclass
class _Group:
    """Values that are in one dictionary, by name, and weak references to some."""

    dictionary: Fetch
    values: dict[str, Any] = field(default_factory=dict)
    references: list[Fetch] = field(default_factory=list)

    def look(self) -> Look:
        names = (*self.values, next(iter(self.values)))  # for one name there would be no tuple
        values = (*self.values.values(), self.values[names[-1]])
        return _look(self.dictionary, operator.itemgetter(*names), values, self.references)


def grouped(
    same: Iterable[tuple[Fetch, Any]], weak: Iterable[tuple[Fetch, Fetch]]
) -> tuple[list[Look], list[tuple[Fetch, Any]], list[tuple[Fetch, Fetch]]]:
    """Returns one look for all values that are in the same dictionary, and the other checks.

    Args:
        same: Fetches what must be the same immutable object, with that object.
        weak: The same for objects that are held weakly.
    """
    groups: dict[int, _Group] = {}
    left_same, left_weak = [], []
    for fetch, value in same:
        if (group := _group_of(fetch, value, groups)) is None:
            left_same.append((fetch, value))
    for fetch, reference in weak:
        if (group := _group_of(fetch, reference(), groups)) is None:
            left_weak.append((fetch, reference))
        else:
            group.references.append(reference)
    return [group.look() for group in groups.values()], left_same, left_weak


def _group_of(fetch: Fetch, value: Any, groups: dict[int, _Group]) -> _Group | None:
    """Adds a value to the group of the module, object or class from which it is fetched."""
    if not isinstance(fetch, functools.partial):
        return None
    module = getattr(fetch.func, "__self__", None)
    if fetch.func is member:
        owner, name = fetch.args[0](), fetch.args[1]
        place = functools.partial(_dictionary_of, fetch.args[0])
    elif type(module) is dict and fetch.func == module.get:
        owner, name = module, fetch.args[0]
        place = functools.partial(_itself, module)
    else:
        return None
    # Not so for a slot, a descriptor such as a property, or what a wrapper of TensorFlow wraps.
    if place().get(name, groups) is not value:
        return None
    group = groups.setdefault(id(owner), _Group(place))
    group.values[name] = value
    return group


def _look(
    fetch: Fetch,
    parts: Callable[[Any], tuple[Any, ...]],
    values: tuple[Any, ...],
    references: Sequence[Fetch],
) -> Look:
    kept = tuple(filter(is_immutable, values))
    alive = tuple(id(each()) for each in references)
    ids = tuple(map(id, values))
    return functools.partial(_has_parts, fetch, parts, ids, tuple(references), alive, kept)


def _has_parts(
    fetch: Fetch,
    parts: Callable[[Any], tuple[Any, ...]],
    ids: tuple[int, ...],
    references: tuple[Fetch, ...],
    alive: tuple[int, ...],
    _kept: tuple[Any, ...],
) -> bool:
    try:
        now = tuple(map(id, parts(_tensorflow.unwrapped(fetch()))))
    except (KeyError, TypeError, AttributeError):  # it is dead, or of another class
        return False
    return now == ids and tuple(map(id, map(operator.call, references))) == alive


def _has_content(fetch: Fetch, content: Any) -> bool:
    return bool(content_of(fetch()) == content)


def _keys_and_values(value: dict[Any, Any]) -> tuple[Any, ...]:
    return (*value, *value.values())


def _flat(keys: Iterable[Any]) -> list[Any]:
    """Returns keys, with the sizes and items of tuples, as in a table of dispatched types."""
    return [part for key in keys for part in ((len(key), *key) if type(key) is tuple else (key,))]


def _flat_parts(value: dict[Any, Any]) -> tuple[Any, ...]:
    return (*_flat(value), *value.values())


def _dictionary_of(holder: Fetch) -> Mapping[str, Any]:
    owner = holder()
    return vars(owner) if is_a(owner, type) else dictionary(owner)


def _itself(value: Any) -> Any:
    return value
