"""Signatures that cover several traces: what `suggest` proposes and `relax` puts to use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from nbfn.errors import NbfnError


class RelaxError(NbfnError, ValueError):
    """No signature can cover the traces."""


@dataclass(frozen=True)
class Cover:
    """The least general signature that covers some traces.

    Attributes:
        args: Specifications and Python values for the positional parameters.
        kwargs: The same for the keyword parameters.
        numbers: Numbers of the traces that it covers, in their order.
        converted: Positions, in the flat signature, of tensors that take the place of Python
            numbers.
        code: Python that puts it to use, where there is such code.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    numbers: tuple[int, ...]
    converted: tuple[int, ...] = ()
    code: str | None = field(default=None, compare=False)

    def convert(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments of a call with numbers made tensors where the signature has tensors.

        Arguments of another structure are returned as they are.
        """
        try:
            tf.nest.assert_same_structure((self.args, self.kwargs), (args, kwargs))
        except (TypeError, ValueError):
            return args, kwargs
        flat = tf.nest.flatten((args, kwargs))
        specs = tf.nest.flatten((self.args, self.kwargs))
        for i in self.converted:
            if _fits(flat[i], specs[i].dtype):
                flat[i] = tf.constant(flat[i], specs[i].dtype)
        packed: tuple[Any, Any] = tf.nest.pack_sequence_as((args, kwargs), flat)
        return packed

    def others(self) -> Iterator[Cover]:
        """The same with its numbers in other dtypes, as Python's go with tensors of any."""
        flat = tf.nest.flatten((self.args, self.kwargs))
        for dtypes in (
            {tf.int32: tf.float32, tf.float32: tf.float32},
            {tf.int32: tf.int64, tf.float32: tf.float64},
            {tf.int32: tf.float64, tf.float32: tf.float64},
        ):
            changed = list(flat)
            for i in self.converted:
                changed[i] = tf.TensorSpec((), dtypes[flat[i].dtype])
            args, kwargs = tf.nest.pack_sequence_as((self.args, self.kwargs), changed)
            yield Cover(args, kwargs, self.numbers, self.converted)

    def __repr__(self) -> str:
        parts = [_text(item) for item in self.args]
        parts += [f"{name}={_text(item)}" for name, item in self.kwargs.items()]
        return f"({', '.join(parts)})"


class NumberSpec(tf.TensorSpec):  # type: ignore[misc]
    """The specification of a tensor that takes the place of Python numbers."""


def cover(signatures: Sequence[Any], numbers: Sequence[int]) -> Cover:
    """Finds the least general signature that covers the newest signature and its relatives.

    Two signatures are relatives if they differ in nothing but the shapes of tensors and the values
    of Python numbers.

    Args:
        signatures: A ``structured_input_signature`` for each trace, oldest first.
        numbers: The number of each trace.

    Raises:
        RelaxError: If there is no trace yet.
    """
    if not signatures:
        raise RelaxError("there is no trace to relax yet; call the function first")
    newest = signatures[-1]
    general = tf.nest.flatten(newest, expand_composites=False)
    covered = []
    for signature, number in zip(signatures, numbers, strict=True):
        merged = _merge(general, newest, signature)
        if merged is not None:
            general = merged
            covered.append(number)
    converted = tuple(i for i, item in enumerate(general) if isinstance(item, NumberSpec))
    for i in converted:
        general[i] = tf.TensorSpec((), general[i].dtype)
    args, kwargs = tf.nest.pack_sequence_as(newest, general)
    return Cover(tuple(args), dict(kwargs), tuple(covered), converted)


def _merge(general: list[Any], structure: Any, other: Any) -> list[Any] | None:
    """One signature that covers both; None if they differ in more than shapes."""
    try:
        tf.nest.assert_same_structure(structure, other, expand_composites=False)
    except (TypeError, ValueError):
        return None
    merged = []
    for left, right in zip(general, tf.nest.flatten(other), strict=True):
        if isinstance(left, tf.TypeSpec) and isinstance(right, tf.TypeSpec):
            both = _common(left, right)
            if both is None:
                return None
            merged.append(both)
        elif left is right or (type(left) is type(right) and left == right):
            merged.append(left)
        elif _is_number(right) and (_is_number(left) or isinstance(left, NumberSpec)):
            whole = isinstance(right, int) and getattr(left, "dtype", tf.int32) == tf.int32
            whole = whole and not isinstance(left, float)
            merged.append(NumberSpec((), tf.int32 if whole else tf.float32))
        else:
            return None
    return merged


def _fits(value: Any, dtype: tf.DType) -> bool:
    """Whether a value is a number that a tensor of this dtype holds as Python does."""
    if not _is_number(value):
        return False
    if dtype.is_integer:
        return isinstance(value, int) and dtype.min <= value <= dtype.max
    return not float(value).is_integer() or abs(value) <= 2 ** (24 if dtype == tf.float32 else 53)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _common(left: tf.TypeSpec, right: tf.TypeSpec) -> tf.TypeSpec | None:
    if isinstance(left, tf.TensorSpec) and isinstance(right, tf.TensorSpec):
        if left.dtype != right.dtype:
            return None
        if isinstance(left, NumberSpec):  # stays one, so that numbers are converted
            return left if right.shape.rank == 0 else None
        shape = left.shape.most_specific_compatible_shape(right.shape)
        return tf.TensorSpec(shape, left.dtype, left.name)
    return left.most_specific_common_supertype([right])  # type: ignore[no-any-return]


def _text(item: Any) -> str:
    if isinstance(item, tf.TensorSpec):
        shape = None if item.shape.rank is None else item.shape
        return f"tf.TensorSpec({shape}, tf.{item.dtype.name})"
    if isinstance(item, tuple):
        return f"({', '.join(map(_text, item))}{',' if len(item) == 1 else ''})"
    if isinstance(item, list):
        return f"[{', '.join(map(_text, item))}]"
    if isinstance(item, dict):
        return "{" + ", ".join(f"{key!r}: {_text(value)}" for key, value in item.items()) + "}"
    return repr(item)


def buckets(traces: Sequence[Any]) -> str:
    """Advice to pad what differs in size to a few sizes, each of which has its own trace."""
    advice = []
    shapes: dict[str, list[tuple[int | None, ...]]] = {}
    for trace in traces:
        for path, leaf in trace.key.leaves.items():
            shape = getattr(leaf, "shape", None)
            if shape is not None:
                shapes.setdefault(path, []).append(shape)
    for path, seen in shapes.items():
        if len({len(shape) for shape in seen}) != 1:
            continue
        for axis, sizes in enumerate(zip(*seen, strict=True)):
            known = sorted({size for size in sizes if size})
            if len(known) > 1:
                powers = sorted({1 << (size - 1).bit_length() for size in known})
                listed = ", ".join(map(str, powers))
                advice.append(
                    f"Keep axis {axis} of `{path}` static, and pad it to one of {listed}: "
                    "tf.pad(...) before the call"
                )
    return ". ".join(advice)
