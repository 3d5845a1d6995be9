"""Which classes are tensors."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

try:
    from tensorflow.python.types.core import Tensor as _Tensor
    from tensorflow.python.types.internal import NativeObject as _NativeObject

    _CLASSES: tuple[type, ...] = (_Tensor, _NativeObject)
except ImportError:
    _CLASSES = (tf.Tensor, tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices, tf.Variable)


def is_tensor_by_class(value: Any) -> bool:
    """As ``tf.is_tensor``, but by the value's class alone.

    ``tf.is_tensor`` asks any object for an attribute, which runs the ``__getattr__`` of a user's
    class. Without the internals only the tensors of the public API are known.
    """
    return issubclass(type(value), _CLASSES)
