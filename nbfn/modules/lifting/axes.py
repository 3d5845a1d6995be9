"""Axes of arguments, results and variables: what is mapped, and over how many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.modules.errors import TransformError
from nbfn.modules.variables.filters import NOTHING, Filter
from nbfn.modules.variables.tree import map_leaves

broadcast = None
"""The axis of what is not mapped over but the same for all, as Flax calls it."""


def axis_of(axes: Mapping[Any, Any], collection: str) -> Any:
    """The axis of a collection; the first match counts. None if it is shared, or not named."""
    return next((axis for spec, axis in axes.items() if collection in Filter.of(spec)), None)


def split_axes(axes: Mapping[Any, Any]) -> tuple[Filter, Filter]:
    """The collections that have an axis, and those that are shared; the first match counts."""
    own, shared = NOTHING, NOTHING
    for spec, axis in axes.items():
        found = Filter.of(spec) - own - shared
        own, shared = (own, shared | found) if axis is None else (own | found, shared)
    return own, shared


def spread(spec: Any, value: Any, what: str) -> list[Any]:
    """The axis of each leaf, from one for all or a fitting structure (else `TransformError`)."""
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
    """The leaves of dicts, lists and tuples, in their order; None is none."""
    found: list[Any] = []
    map_leaves(lambda leaf, _: None if leaf is None else found.append(leaf), value)
    return found


def flat_tensors(value: Any) -> list[Any]:
    """The leaves as tensors."""
    return [tf.convert_to_tensor(leaf) for leaf in flatten(value)]


def pack(value: Any, leaves: Sequence[Any]) -> Any:
    """The structure of ``value`` with other leaves."""
    rest = iter(leaves)
    return map_leaves(lambda leaf, _: None if leaf is None else next(rest), value)


def is_array(value: Any) -> bool:
    """Whether a value has axes."""
    return tf.is_tensor(value) or isinstance(value, np.ndarray)


COMPOSITE = (tf.RaggedTensor, tf.SparseTensor)
"""Tensors that consist of several."""


def as_tensor(value: Any) -> Any:
    """The value as a tensor; one that consists of several stays what it is."""
    return value if isinstance(value, COMPOSITE) else tf.convert_to_tensor(value)


def move_axis(value: Any, source: int, target: int) -> Any:
    """The tensor with the axis at one place moved to another."""
    tensor = tf.convert_to_tensor(value)
    order = list(range(tensor.shape.rank))
    order.insert(range(len(order))[target], order.pop(source))
    return tensor if order == sorted(order) else tf.transpose(tensor, order)


def stack(values: Sequence[Any], axis: Any) -> Any:
    """Structures of tensors stacked along an axis; None takes the last."""
    if axis is None:
        return values[-1]
    columns = zip(*(flatten(value) for value in values), strict=True)
    return pack(values[0], [_stack(column, axis) for column in columns])


def _stack(column: Sequence[Any], axis: int) -> Any:
    return settled(lambda: tf.stack([tf.convert_to_tensor(t) for t in column], axis), column)


def at(tensor: Any, index: Any) -> Any:
    """One slice of a tensor, along its first axis."""
    return settled(lambda: tensor[index], [tensor, index])


def settled(make: Callable[[], Any], inputs: Sequence[Any]) -> Any:
    """A value; in a graph it is computed at once if all that it is made of is known."""
    if tf.executing_eagerly() or any(tf.is_symbolic_tensor(value) for value in inputs):
        return make()
    with tf.init_scope():
        return make()
