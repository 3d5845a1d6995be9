"""The containers that TensorFlow's modules keep in place of the user's lists and dictionaries."""

from __future__ import annotations

from typing import Any

try:
    from tensorflow.python.trackable.data_structures import (
        ListWrapper,
        _DictWrapper,
        _TupleWrapper,
    )

    WRAPPERS: frozenset[type] = frozenset({ListWrapper, _DictWrapper, _TupleWrapper})
    """Their classes; empty where they cannot be told."""
except ImportError:
    WRAPPERS = frozenset()


def unwrapped(value: Any) -> Any:
    """The container of the user's that one of TensorFlow's stands for; any other value itself."""
    while type(value) in WRAPPERS:
        name = "_storage" if issubclass(type(value), list) else "__wrapped__"
        inner = getattr(value, name, None)
        if inner is None:
            break
        value = inner
    return value
