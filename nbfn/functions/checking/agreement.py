"""Compares two results within the precision of their dtypes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.functions.traces.key import leaves_in
from nbfn.text import shorten

# Wide, because XLA and TensorFlow's optimiser fuse and reorder operations: a sum of many elements
# then differs by far more than one rounding.
_TOLERANCE = {
    tf.float64: (1e-9, 1e-10),
    tf.complex128: (1e-9, 1e-10),
    tf.float32: (1e-4, 1e-5),
    tf.complex64: (1e-4, 1e-5),
    tf.float16: (1e-2, 1e-3),
    tf.bfloat16: (4e-2, 1e-2),
}
"""The relative and the absolute tolerance by dtype; other dtypes must be equal."""


def disagreements(
    eager: Any, traced: Any, *, values: bool = True, path: str = "the result"
) -> Iterator[tuple[str, str]]:
    """Yields the differences between an eager and a traced result.

    Without `values`, only structures, dtypes and shapes are compared.
    """
    try:
        tf.nest.assert_same_structure(eager, traced, expand_composites=True)
    except (TypeError, ValueError):
        yield path, f"has the structure {_shape_of(eager)} eagerly, and {_shape_of(traced)} traced"
        return
    for name, before, after in _leaves(path, eager, traced):
        found = disagreement(before, after, values=values)
        if found is not None:
            yield name, found


def _leaves(path: str, eager: Any, traced: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yields the leaves of two results of the same structure, with their paths."""
    leaves = dict(leaves_in(traced, path))
    for name, leaf in leaves_in(eager, path):
        parts = (tf.nest.flatten(each, expand_composites=True) for each in (leaf, leaves[name]))
        for i, (before, after) in enumerate(zip(*parts, strict=True)):
            yield (f"component {i} of {name}" if i else name), before, after


def disagreement(before: Any, after: Any, *, values: bool = True) -> str | None:
    """Describes the difference of two leaves; None if they agree."""
    if before is None or after is None:
        return None if before is after else f"is {_text(before)} eagerly, and {_text(after)} traced"
    if not tf.is_tensor(before) and not hasattr(before, "__array__"):
        return _of_python(before, after) if values else None
    left, right = tf.convert_to_tensor(before), tf.convert_to_tensor(after)
    if left.dtype != right.dtype:
        return f"is {left.dtype.name} eagerly, and {right.dtype.name} traced"
    if left.shape != right.shape:
        return f"has the shape {left.shape} eagerly, and {right.shape} traced"
    if not values or left.dtype in (tf.resource, tf.variant):
        return None
    return _of_arrays(left, right)


def _of_python(before: Any, after: Any) -> str | None:
    """Compares a Python value with the result of a trace, which may be a tensor."""
    if tf.is_tensor(after):
        after = after.numpy()
        after = after.decode() if isinstance(after, bytes) and isinstance(before, str) else after
    try:
        same = before is after or bool(np.all(before == after))
        if not same and isinstance(before, float):
            same = bool(np.isclose(before, after, rtol=1e-6, equal_nan=True))
    except (TypeError, ValueError):
        same = False
    return None if same else f"is {_text(before)} eagerly, and {_text(after)} traced"


def _of_arrays(left: tf.Tensor, right: tf.Tensor) -> str | None:
    a, b = left.numpy(), right.numpy()
    if left.dtype in _TOLERANCE:
        relative, absolute = _TOLERANCE[left.dtype]
        wide = np.complex128 if left.dtype.is_complex else np.float64
        a, b = np.asarray(a).astype(wide), np.asarray(b).astype(wide)
        near = np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
        if near.all():
            return None
        if a.ndim:
            both = np.isfinite(a) & np.isfinite(b)
            distance = np.max(np.abs(a - b)[both], initial=0.0)
            found = f"differs in {int((~near).sum())} of {near.size} elements"
            return f"{found}, by up to {distance:.3g}" if both.any() else found
        return f"is {a:.6g} eagerly, and {b:.6g} traced"
    if np.array_equal(a, b):
        return None
    if np.ndim(a):
        wrong = int(np.sum(np.asarray(a != b)))
        return f"differs in {wrong} of {np.size(a)} elements"
    return f"is {_text(a)} eagerly, and {_text(b)} traced"


def _text(value: Any) -> str:
    return shorten(repr(value.item() if isinstance(value, np.generic) else value))


def _shape_of(value: Any) -> str:
    def leaf(each: Any) -> str:
        if isinstance(each, tf.TypeSpec):
            return str(each)
        return "Tensor" if tf.is_tensor(each) else type(each).__name__

    return shorten(str(tf.nest.map_structure(leaf, value)))
