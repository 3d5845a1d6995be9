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


def truncate(items: list[Any], size: int) -> None:
    """Takes away the last items of a list, which can be saved after that if it could before.

    A list of a module's says for ever that items were taken away, and refuses to be saved.
    """
    could_be_saved = getattr(items, "_non_append_mutation", None) is False
    if len(items) > size:  # to TensorFlow, taking nothing away is a deletion too
        del items[size:]
        if could_be_saved and hasattr(items, "_update_snapshot"):
            items._non_append_mutation = False  # type: ignore[attr-defined]
            items._update_snapshot()
