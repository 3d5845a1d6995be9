"""TensorFlow's own classes that stand for the user's lists, dicts and tuples."""

from __future__ import annotations

from typing import Any

from nbfn._tensorflow.base import internal

_structures = internal("trackable.data_structures")

WRAPPERS: frozenset[type] = frozenset(
    getattr(_structures, name)
    for name in ("ListWrapper", "_DictWrapper", "_TupleWrapper")
    if hasattr(_structures, name)
)
"""Their classes, as far as they can be told."""


def unwrapped(value: Any) -> Any:
    """The container of the user's that one of TensorFlow's stands for; any other value itself."""
    while type(value) in WRAPPERS:
        name = "_storage" if issubclass(type(value), list) else "__wrapped__"
        inner = getattr(value, name, None)
        if inner is None:
            break
        value = inner
    return value
