"""What a value is to a traced cell: told by its class, so that no code of the user's runs."""

from __future__ import annotations

import io
import sys
from collections.abc import Generator
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow

LITERALS = (bool, int, float, complex, str, bytes, type(None), np.generic)
"""Values that are the same wherever they stand."""

_BUFFERS = (io.StringIO, io.BytesIO)
_HOLDING = {"queue", "_queue", "threading", "_thread", "weakref", "asyncio"}
"""Modules of Python whose objects hold what happens to them."""


def is_variable(value: Any) -> bool:
    """Whether a value is a variable, of TensorFlow or of Keras."""
    if isinstance(value, tf.Variable):
        return True
    kind = getattr(sys.modules.get("keras"), "Variable", None)
    return isinstance(kind, type) and issubclass(type(value), kind)


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor or a composite tensor, and no variable."""
    return _tensorflow.is_tensor_by_class(value) and not is_variable(value)


def is_of_keras(value: Any) -> bool:
    """Whether a value is a layer, a model, an optimizer or a metric of Keras."""
    keras = sys.modules.get("keras")
    if keras is None:
        return False
    kinds = (keras.Layer, keras.optimizers.Optimizer, keras.metrics.Metric)
    return issubclass(type(value), kinds)


def is_of_nn(value: Any) -> bool:
    """Whether a value is a module of `nbfn.nn`, which is frozen but for its own ``setup``."""
    kind = getattr(sys.modules.get("nbfn.modules"), "Module", None)
    return isinstance(kind, type) and issubclass(type(value), kind)


def has_state(value: Any) -> bool:
    """Whether a value is, or holds, what happens to it: a variable, a module, a buffer, a lock."""
    if is_variable(value) or hasattr(type(value), "_trackable_children"):
        return True
    return isinstance(value, (*_BUFFERS, Generator)) or type(value).__module__ in _HOLDING


def is_named_tuple(value: Any) -> bool:
    """Whether a value is a named tuple."""
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def is_nest(value: Any) -> bool:
    """Whether a value is a list, tuple or dict that TensorFlow can make again.

    An instance of a subclass may be more than its items, and its constructor may want anything.
    """
    return type(value) in (list, tuple, dict) or is_named_tuple(value)


def has_dtype(value: np.ndarray | np.generic) -> bool:
    """Whether TensorFlow has tensors of the dtype of an array."""
    if value.dtype == object:
        return False
    try:
        tf.as_dtype(value.dtype)
    except TypeError:
        return False
    return True
