"""Axes of arguments, results and variables: what is mapped, and over how many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.modules.errors import TransformError
from nbfn.modules.variables.filters import Filter
from nbfn.modules.variables.tree import map_leaves

broadcast = None
"""The axis of what is not mapped over but the same for all, as Flax calls it."""


def axis_of(axes: Mapping[Any, Any], collection: str) -> tuple[bool, Any]:
    """Whether a collection is named, and its axis (None: shared); the first match counts."""
    for spec, axis in axes.items():
        if collection in Filter.of(spec):
            return True, axis
    return False, None


def spread(spec: Any, value: Any, what: str) -> list[Any]:
    """The axis of each leaf, from an axis for all or from a structure of axes.

    Raises:
      TransformError: the structure is another one.
    """
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


def to_front(value: Any, axis: int) -> Any:
    """The tensor with this axis first."""
    tensor = tf.convert_to_tensor(value)
    rank = tensor.shape.rank
    at = axis if axis >= 0 else rank + axis
    return tensor if at == 0 else tf.transpose(tensor, [at, *(i for i in range(rank) if i != at)])


class Slices:
    """Arguments of a function that is called for one slice after the other.

    Attributes:
      inputs: the mapped tensors, each with its axis first.

    Raises:
      TransformError: the structure of the axes does not fit.
    """

    def __init__(self, value: Any, in_axes: Any) -> None:
        self._value = value
        leaves = flatten(value)
        self._at = [
            axis if is_array(leaf) else None
            for leaf, axis in zip(leaves, spread(in_axes, value, "in_axes"), strict=True)
        ]
        self.inputs = [
            to_front(leaf, axis)
            for leaf, axis in zip(leaves, self._at, strict=True)
            if axis is not None and _has_axis(leaf, axis)
        ]

    def whole(self, slices: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with a slice of each mapped tensor in its place."""
        rest = iter(slices)
        leaves = [
            next(rest) if axis is not None else leaf
            for leaf, axis in zip(flatten(self._value), self._at, strict=True)
        ]
        return pack(self._value, leaves) if self._value else ()


def _has_axis(leaf: Any, axis: int) -> bool:
    """Always true.

    Raises:
      TransformError: the tensor has no such axis.
    """
    rank = len(leaf.shape)
    if -rank <= axis < rank:
        return True
    raise TransformError(
        f"in_axes maps over the axis {axis} of an argument of shape {tuple(leaf.shape)}, which has "
        f"{f'only {rank} axes' if rank else 'none'}. Give it None in in_axes, or an axis."
    )


def from_front(tensor: Any, axis: int) -> Any:
    """The tensor with its first axis moved to this place."""
    rank = tensor.shape.rank
    at = axis if axis >= 0 else rank + axis
    if at == 0:
        return tensor
    order = list(range(1, rank))
    order.insert(at, 0)
    return tf.transpose(tensor, order)


def common_size(tensors: Iterable[Any], given: Any, label: str, name: str) -> Any:
    """The size of the first axis that all tensors have; an int, or an int32 scalar.

    Raises:
      TransformError: they differ, or there is none.
    """
    tensors = list(tensors)
    known = {int(t.shape[0]) for t in tensors if t.shape[0] is not None}
    if given is not None:
        known.add(int(given))
    if len(known) > 1:
        raise TransformError(
            f"{label} maps over axes of different sizes: {sorted(known)}. Check in_axes, "
            f"variable_axes and {name}."
        )
    if known:
        return known.pop()
    if tensors:
        return tf.shape(tensors[0])[0]
    raise TransformError(
        f"{label} has nothing to map over: no argument and no variable has an axis. Give {name}."
    )


def stack(values: Sequence[Any], axis: Any) -> Any:
    """Structures of tensors stacked along an axis; None takes the last."""
    if axis is None:
        return values[-1]
    columns = zip(*(flatten(value) for value in values), strict=True)
    return pack(values[0], [_stack(column, axis) for column in columns])


def _stack(column: Sequence[Any], axis: int) -> Any:
    return _settled(lambda: tf.stack([tf.convert_to_tensor(t) for t in column], axis), column)


def at(tensor: Any, index: Any) -> Any:
    """One slice of a tensor, along its first axis."""
    return _settled(lambda: tensor[index], [tensor, index])


def _settled(make: Callable[[], Any], inputs: Sequence[Any]) -> Any:
    """A value; in a graph it is computed at once if all that it is made of is known."""
    if tf.executing_eagerly() or any(tf.is_symbolic_tensor(value) for value in inputs):
        return make()
    with tf.init_scope():
        return make()


def each(fn: Callable[..., Any], value: Any, axes: Sequence[Any]) -> Any:
    """``fn(leaf, axis)`` for each leaf."""
    return pack(value, [fn(leaf, a) for leaf, a in zip(flatten(value), axes, strict=True)])
