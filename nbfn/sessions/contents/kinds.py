"""Distinguishes and finds kinds of values, without importing Keras."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions import TracedFunction
from nbfn.functions.traces.variable_names import walk


def is_tf_function(value: Any) -> bool:
    """Returns whether a value is a ``tf.function`` that nbfn did not make."""
    return isinstance(value, _tensorflow.Function) and not isinstance(value, TracedFunction)


def is_layer(value: Any) -> bool:
    """Returns whether a value is a Keras model or layer."""
    return _is_keras(value, "Layer")


def is_module_or_layer(value: Any) -> bool:
    """Returns whether a value is a module, Keras model or layer: what has a tree of parts."""
    return isinstance(value, tf.Module) or is_layer(value)


def is_model(value: Any) -> bool:
    """Returns whether a value is a Keras model."""
    return _is_keras(value, "Model")


def is_optimizer(value: Any) -> bool:
    """Returns whether a value is a Keras optimizer."""
    return _is_keras(value, "Optimizer")


def is_metric(value: Any) -> bool:
    """Returns whether a value is a Keras metric."""
    return _is_keras(value, "Metric")


def is_table(value: Any) -> bool:
    """Returns whether a value is a lookup table."""
    # The tables' base class, `LookupInterface`, is not public (TensorFlow 2.21).
    return all(hasattr(type(value), each) for each in ("lookup", "key_dtype", "value_dtype"))


def is_mutable_table(value: Any) -> bool:
    """Returns whether a value is a lookup table whose entries can change."""
    return is_table(value) and all(hasattr(value, each) for each in ("export", "insert", "remove"))


def is_dataset(value: Any) -> bool:
    """Returns whether a value is a dataset."""
    return isinstance(value, tf.data.Dataset)


def is_iterator(value: Any) -> bool:
    """Returns whether a value is an iterator over a dataset."""
    return isinstance(value, tf.data.Iterator)


def is_object(value: Any) -> bool:
    """Returns whether a value is a lookup table, dataset, iterator or optimizer."""
    return any(is_one(value) for is_one in (is_table, is_dataset, is_iterator, is_optimizer))


def values_below(named: Iterable[tuple[str, Any]], is_one: Callable[[Any], bool]) -> dict[str, Any]:
    """Returns the values of a kind that some names lead to, each under its first name."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for name, _, value in walk(named, whole=True):
        if is_one(value) and id(value) not in seen:
            seen.add(id(value))
            found.setdefault(name, value)
    return found


def _is_keras(value: Any, name: str) -> bool:
    base = getattr(sys.modules.get("keras"), name, None)
    return isinstance(base, type) and isinstance(value, base)
