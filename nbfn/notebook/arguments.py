"""The lists and dicts that a traced cell was given, as they were when its trace began."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.notebook.kinds import is_named_tuple, is_tensor, is_variable


def as_given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the function that is being traced, as TensorFlow gave them to it.

    A list or dict that is an argument is a copy, which holds the graph's inputs in place of the
    tensors.

    Args:
        arguments: The values that the function was called with, in the order of its parameters.
    """
    inputs = iter(getattr(tf.compat.v1.get_default_graph(), "inputs", ()))
    try:
        return {name: _filled(value, inputs) for name, value in arguments.items()}
    except StopIteration:
        return {}


def _filled(value: Any, inputs: Iterator[Any]) -> Any:
    if isinstance(value, dict):
        filled = {key: _filled(value[key], inputs) for key in _sorted(value)}
        return {key: filled[key] for key in value}
    if is_named_tuple(value):
        return type(value)(*(_filled(item, inputs) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)([_filled(item, inputs) for item in value])
    if is_variable(value):
        next(inputs)
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return next(inputs)
    if is_tensor(value):
        parts = [next(inputs) for _ in tf.nest.flatten(value, expand_composites=True)]
        spec = tf.type_spec_from_value(value)
        return tf.nest.pack_sequence_as(spec, parts, expand_composites=True)
    return value


def _sorted(value: dict[Any, Any]) -> list[Any]:
    """The keys in the order in which TensorFlow takes the items."""
    try:
        return sorted(value)
    except TypeError:
        return list(value)


def differ(now: Any, given: Any) -> bool:
    """Whether a list or dict holds other objects than it did."""
    if isinstance(given, dict):
        return (
            not isinstance(now, dict)
            or list(now) != list(given)
            or any(differ(now[key], given[key]) for key in given)
        )
    if isinstance(given, (list, tuple)):
        return (
            not isinstance(now, (list, tuple))
            or len(now) != len(given)
            or any(differ(a, b) for a, b in zip(now, given, strict=True))
        )
    if now is given:
        return False
    if is_tensor(given):
        own, old = (tf.nest.flatten(each, expand_composites=True) for each in (now, given))
        return len(own) != len(old) or any(a is not b for a, b in zip(own, old, strict=True))
    return not (isinstance(given, (bool, int, float, complex, str, bytes)) and _equal(now, given))


def _equal(now: Any, given: Any) -> bool:
    return type(now) is type(given) and bool(now == given)
