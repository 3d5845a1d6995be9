"""Distinguishes kinds of values, without importing Keras."""

from __future__ import annotations

import sys
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions import TracedFunction


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


def _is_keras(value: Any, name: str) -> bool:
    base = getattr(sys.modules.get("keras"), name, None)
    return isinstance(base, type) and isinstance(value, base)
