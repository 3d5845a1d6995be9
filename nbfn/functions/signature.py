"""Signatures that cover several traces: what `suggest` proposes and `relax` puts to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
        numbers: Positions, in their order, of the covered traces among those given.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        parts = [_text(item) for item in self.args]
        parts += [f"{name}={_text(item)}" for name, item in self.kwargs.items()]
        return f"({', '.join(parts)})"


def cover(signatures: Sequence[Any], numbers: Sequence[int]) -> Cover:
    """Finds the least general signature that covers the newest signature and its relatives.

    Two signatures are relatives if they differ in nothing but the shapes of tensors.

    Args:
        signatures: A ``structured_input_signature`` for each trace, oldest first.
        numbers: The number of each trace.

    Returns:
        The cover of all relatives of the newest one.

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
    args, kwargs = tf.nest.pack_sequence_as(newest, general)
    return Cover(tuple(args), dict(kwargs), tuple(covered))


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
        else:
            return None
    return merged


def _common(left: tf.TypeSpec, right: tf.TypeSpec) -> tf.TypeSpec | None:
    if isinstance(left, tf.TensorSpec) and isinstance(right, tf.TensorSpec):
        if left.dtype != right.dtype:
            return None
        if left.shape.rank is None or left.shape.rank != right.shape.rank:
            shape = tf.TensorShape(None)
        else:
            pairs = zip(left.shape.as_list(), right.shape.as_list(), strict=True)
            shape = tf.TensorShape([a if a == b else None for a, b in pairs])
        return tf.TensorSpec(shape, left.dtype, left.name)
    return left.most_specific_common_supertype([right])  # type: ignore[no-any-return]


def _text(item: Any) -> str:
    if isinstance(item, tf.TensorSpec):
        return f"tf.TensorSpec({item.shape}, tf.{item.dtype.name})"
    if isinstance(item, tuple):
        return f"({', '.join(map(_text, item))}{',' if len(item) == 1 else ''})"
    if isinstance(item, list):
        return f"[{', '.join(map(_text, item))}]"
    if isinstance(item, dict):
        return "{" + ", ".join(f"{key!r}: {_text(value)}" for key, value in item.items()) + "}"
    return repr(item)
