"""Finds lookup tables, datasets, iterators and optimizers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from nbfn.functions.traces.variable_names import walk
from nbfn.sessions.contents import kinds


def is_dataset(value: Any) -> bool:
    """Returns whether a value is a dataset."""
    return isinstance(value, tf.data.Dataset)


def is_iterator(value: Any) -> bool:
    """Returns whether a value is an iterator over a dataset."""
    return isinstance(value, tf.data.Iterator)


def is_object(value: Any) -> bool:
    """Returns whether a value is of any of these kinds."""
    tests = (kinds.is_table, is_dataset, is_iterator, kinds.is_optimizer)
    return any(is_one(value) for is_one in tests)


def objects_below(
    named: Iterable[tuple[str, Any]], is_one: Callable[[Any], bool]
) -> dict[str, Any]:
    """Returns the values of a kind that some names lead to, each under its first name."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for name, _, value in walk(named, whole=True):
        if is_one(value) and id(value) not in seen:
            seen.add(id(value))
            found.setdefault(name, value)
    return found
