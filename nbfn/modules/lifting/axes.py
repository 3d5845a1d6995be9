"""Axes of arguments, results and variables that are mapped over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.modules.errors import TransformError
from nbfn.modules.variables.filters import NOTHING, Filter
from nbfn.modules.variables.tree import map_leaves

broadcast = None
"""Flax's name for None: shared by all runs."""


def axis_of(axes: Mapping[Any, Any], collection: str) -> Any:
    """Returns the axis of a collection, by the first match; None if shared or not named."""
    return next((axis for spec, axis in axes.items() if collection in Filter.of(spec)), None)


def split_axes(axes: Mapping[Any, Any]) -> tuple[Filter, Filter]:
    """Returns the collections that have an axis, and those that are shared, by first match."""
    own, shared = NOTHING, NOTHING
    for spec, axis in axes.items():
        found = Filter.of(spec) - own - shared
        own, shared = (own, shared | found) if axis is None else (own | found, shared)
    return own, shared


def spread(spec: Any, value: Any, what: str) -> list[Any]:
    """Returns the axis of each leaf, given one for all or a matching structure."""
    if spec is None or isinstance(spec, int):
        return [spec] * len(flatten(value))
    if isinstance(value, Mapping) and isinstance(spec, Mapping) and spec.keys() == value.keys():
        return [axis for key in value for axis in spread(spec[key], value[key], what)]
    if isinstance(value, (list, tuple)) and isinstance(spec, (list, tuple)):
        if len(spec) == len(value):
            return [a for s, v in zip(spec, value, strict=True) for a in spread(s, v, what)]
        raise TransformError(
            f"{what} has {len(spec)} entries, but there are {len(value)} values. Give one axis "
            "for all, or one for each; the module itself does not count."
        )
    raise TransformError(
        f"{what}={spec!r} does not fit {value!r}: expected an int, None, or a "
        "structure of these like the value's."
    )


def flatten(value: Any) -> list[Any]:
    """Returns the leaves of dicts, lists and tuples in order, without None."""
    found: list[Any] = []
    map_leaves(lambda leaf, _: None if leaf is None else found.append(leaf), value)
    return found


def flat_tensors(value: Any) -> list[Any]:
    """Returns the leaves as tensors."""
    return [tf.convert_to_tensor(leaf) for leaf in flatten(value)]


def pack(value: Any, leaves: Sequence[Any]) -> Any:
    """Returns the structure of ``value`` with other leaves."""
    rest = iter(leaves)
    return map_leaves(lambda leaf, _: None if leaf is None else next(rest), value)


def is_array(value: Any) -> bool:
    """Returns whether a value has axes."""
    return tf.is_tensor(value) or isinstance(value, np.ndarray)


COMPOSITE = (tf.RaggedTensor, tf.SparseTensor)
"""Composite tensor types."""


def move_axis(value: Any, source: int, target: int) -> Any:
    """Returns a tensor with an axis moved to another position."""
    tensor = tf.convert_to_tensor(value)
    order = list(range(tensor.shape.rank))
    order.insert(range(len(order))[target], order.pop(source))
    return tensor if order == sorted(order) else tf.transpose(tensor, order)


def stack(values: Sequence[Any], axis: int) -> Any:
    """Stacks structures of tensors along an axis."""
    columns = zip(*(flatten(value) for value in values), strict=True)
    return pack(values[0], [_stack(column, axis) for column in columns])


def _stack(column: Sequence[Any], axis: int) -> Any:
    return settled(lambda: tf.stack([tf.convert_to_tensor(t) for t in column], axis), column)


def at(tensor: Any, index: Any) -> Any:
    """Returns one slice of a tensor along its first axis."""
    return settled(lambda: tensor[index], [tensor, index])


def settled(make: Callable[[], Any], inputs: Sequence[Any]) -> Any:
    """Computes a value; in a graph eagerly, if all inputs are known."""
    if tf.executing_eagerly() or any(tf.is_symbolic_tensor(value) for value in inputs):
        return make()
    with tf.init_scope():
        return make()
