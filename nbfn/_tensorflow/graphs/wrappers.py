"""TensorFlow's own classes: of tensors, and those that stand for the user's lists and dicts."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

try:
    from tensorflow.python.types.core import Tensor as _Tensor
    from tensorflow.python.types.internal import NativeObject as _NativeObject

    _CLASSES: tuple[type, ...] = (_Tensor, _NativeObject)
except ImportError:
    _CLASSES = (tf.Tensor, tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices, tf.Variable)

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


def is_tensor_by_class(value: Any) -> bool:
    """As ``tf.is_tensor``, but by the value's class alone.

    ``tf.is_tensor`` asks any object for an attribute, which runs the ``__getattr__`` of a user's
    class. Without the internals only the tensors of the public API are known.
    """
    return issubclass(type(value), _CLASSES)
