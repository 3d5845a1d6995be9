"""Summarizes a call's value: a tensor by its dtype, its shape and its first values."""

from __future__ import annotations

from itertools import islice
from typing import Any

import tensorflow as tf

from nbfn.text import shorten, tensor_type

MAX_VALUES = 4
"""Maximum number of values shown of a tensor."""

MAX_ITEMS = 6
"""Maximum number of items shown of a structure."""

_FLOATS = (tf.float16, tf.bfloat16, tf.float32, tf.float64)
"""Dtypes for which TensorFlow can say whether a number is finite."""


def summarize(value: Any) -> str:
    """Summarizes a value, as in ``float32[64, 10]: 0.1, 0.25, 0.3, 0.2, …``."""
    if isinstance(value, tf.Tensor | tf.Variable):
        return _tensor(value)
    if isinstance(value, dict):
        items = [f"{key!r}: {summarize(each)}" for key, each in islice(value.items(), MAX_ITEMS)]
        return f"{{{_join(items, len(value))}}}"
    if isinstance(value, tuple | list):
        text = _join([summarize(each) for each in value[:MAX_ITEMS]], len(value))
        return f"({text})" if isinstance(value, tuple) else f"[{text}]"
    if isinstance(value, tf.RaggedTensor | tf.SparseTensor):
        return f"{type(value).__name__} {tensor_type(value.dtype.name, value.shape)}"
    return shorten(repr(value))


def is_finite(value: Any) -> bool:
    """Returns whether no eager tensor of a value is known to have NaN or infinity."""
    if not tf.executing_eagerly():
        return True
    floats = (
        each
        for each in tf.nest.flatten(value)
        if isinstance(each, tf.Tensor | tf.Variable) and each.dtype in _FLOATS
        if hasattr(each, "numpy")
    )
    return all(bool(tf.reduce_all(tf.math.is_finite(each))) for each in floats)


def _join(items: list[str], number: int) -> str:
    return ", ".join([*items, "…"] if number > len(items) else items)


def _tensor(value: Any) -> str:
    text = tensor_type(value.dtype.name, value.shape)
    if value.dtype in (tf.resource, tf.variant) or not tf.executing_eagerly():
        return text
    # Copies only these from the device: a batch of images may be gigabytes.
    first = tf.reshape(value, [-1])[: MAX_VALUES + 1].numpy()
    values = [number_text(each) for each in first[:MAX_VALUES]]
    more = ["…"] if len(first) > MAX_VALUES else []
    return f"{text}: {', '.join(values + more)}" if values else text


def number_text(value: Any) -> str:
    """Formats an element of a tensor: a number with four digits, or a text."""
    if isinstance(value, bytes | str):
        return shorten(repr(value))
    kind = getattr(getattr(value, "dtype", None), "kind", "f" if isinstance(value, float) else "")
    if kind == "V":  # bfloat16
        value = float(value)
    return f"{value:.4g}" if kind in "fcV" and kind else str(value)
