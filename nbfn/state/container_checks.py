"""Cheap checks that containers hold the same objects as before.

A check compares all parts in one column. An equal part that is another object fails it, too: then
the container is compared by content.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from nbfn import _tensorflow
from nbfn.state.bytecode.read_parts import Part
from nbfn.state.columns import Check, IdentityCheck, column
from nbfn.state.values.fingerprints import content_of, is_a, is_content, is_immutable
from nbfn.state.values.introspection import Fetch, part_fetched, reference_to

_CONTAINERS = (dict, defaultdict, list, tuple)
_MAX_PARTS = 2000
"""Larger containers are compared by content."""
_PARTS_OF_CONTAINER = 10
"""The number of parts that a container in another one counts as."""


def container_check(value: Any, fetch: Fetch, content: Any) -> Check | None:
    """Returns the check of a container and those in it; None if it must be compared as a whole.

    Args:
        value: The container.
        fetch: Fetches it.
        content: Its content.
    """
    found: list[Check] = []
    plain = _tensorflow.unwrap(value)
    if type(plain) not in _CONTAINERS or not _add_checks(plain, fetch, found, [_MAX_PARTS]):
        return None
    return functools.partial(_holds, tuple(found), fetch, content)


def _holds(checks: tuple[Check, ...], fetch: Fetch, content: Any) -> bool:
    for check in checks:
        if not check():
            return has_content(fetch, content)
    return True


def _add_checks(value: Any, fetch: Fetch, found: list[Check], left: list[int]) -> bool:
    """Adds the checks of a container and those in it; returns whether they are enough."""
    is_dict = is_a(value, dict)
    left[0] -= _PARTS_OF_CONTAINER + len(value)
    keys = _flat(value) if is_dict else []
    # Keys that are user objects would be kept alive, or compared by their own `__eq__`.
    if left[0] < 0 or not all(is_immutable(key) or is_a(key, type) for key in keys):
        return False
    items = value.items() if is_dict else enumerate(value)
    # A class as key, as in a table of dispatched types, is the user's to free.
    checks = [IdentityCheck(None, key, is_weak=is_a(key, type)) for key in keys]
    for key, item in items:
        if is_immutable(item):
            checks.append(IdentityCheck(None, item))
            continue
        inner = functools.partial(part_fetched, fetch, Part("item", key))
        plain = _tensorflow.unwrap(item)
        if type(plain) in _CONTAINERS:
            if not _add_checks(plain, inner, found, left):
                return False
            continue
        if is_content(item) or reference_to(item) is None:
            found.append(functools.partial(has_content, inner, content_of(item)))
        else:
            checks.append(IdentityCheck(None, item, is_weak=True))
    parts: Callable[[Any], tuple[Any, ...]] = tuple
    if is_dict:
        has_tuples = any(type(key) is tuple for key in value)
        parts = _flat_parts if has_tuples else _keys_and_values
    found.append(column(functools.partial(_parts_fetched, fetch, parts), checks))
    return True


def _parts_fetched(fetch: Fetch, parts: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    return parts(_tensorflow.unwrap(fetch()))


def has_content(fetch: Fetch, content: Any) -> bool:
    """Returns whether what is fetched has the same content as before."""
    return bool(content_of(fetch()) == content)


def _keys_and_values(value: dict[Any, Any]) -> tuple[Any, ...]:
    return (*value, *value.values())


def _flat(keys: Iterable[Any]) -> list[Any]:
    """Returns keys, with the sizes and items of tuples, as in a table of dispatched types."""
    return [part for key in keys for part in ((len(key), *key) if type(key) is tuple else (key,))]


def _flat_parts(value: dict[Any, Any]) -> tuple[Any, ...]:
    return (*_flat(value), *value.values())
