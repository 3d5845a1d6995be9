"""Inputs to verify a trace with: those of a real call, and random ones for its signature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.functions.traces.sample import Sample
from nbfn.text import join

SIZES = (2, 1, 3)
"""Sizes drawn for open dimensions; they include 1 and an odd number."""

REAL = "the inputs of a real call"
"""Label of the inputs of a real call."""

_OF_SIZE = "drawn inputs of size "
_SEED = 7


def fitting(signature: Any, samples: Iterable[Sample | None]) -> Sample | None:
    """Returns the first sample that a trace of this signature accepts."""
    specs = _parts(leaf for leaf in tf.nest.flatten(signature) if isinstance(leaf, tf.TypeSpec))
    for sample in samples:
        if sample is not None and len(sample) == len(specs):
            pairs = zip(sample, specs, strict=True)
            if all(_fits(value, spec) for value, spec in pairs):
                return sample
    return None


def _fits(value: np.ndarray, spec: tf.TensorSpec) -> bool:
    return bool(spec.dtype == value.dtype and spec.shape.is_compatible_with(value.shape))


def _parts(leaves: Iterable[Any]) -> list[tf.TensorSpec]:
    """Returns the specs of the tensors in values, such as values and row splits if ragged."""
    return list(tf.nest.flatten(list(leaves), expand_composites=True))


def inputs_of(signature: Any, sample: Sample | None) -> dict[str, Sample]:
    """Returns sets of inputs by label, the real one first.

    Args:
        signature: The structured inputs of a trace.
        sample: The inputs of a real call, in the order of the trace's inputs.

    Returns:
        The tensors of each set, in the order of the trace's inputs. Floats are drawn from [0, 1),
        integers from the range of the sample or else from {0, 1}; strings are taken from the
        sample.
    """
    found = {} if sample is None else {REAL: sample}
    specs = tf.nest.flatten(signature)
    leaves = [spec for spec in specs if isinstance(spec, tf.TypeSpec)]
    is_open = any(map(_is_open, _parts(leaves)))
    for size in SIZES if is_open else SIZES[:1]:
        random = np.random.default_rng(_SEED)
        seen = iter(sample or ())
        drawn: list[np.ndarray] = []
        for leaf in leaves:
            real = [next(seen, None) for _ in _parts([leaf])]
            drawn += _draw(leaf, size, real, random)
        label = f"{_OF_SIZE}{size}" if is_open else "drawn inputs"
        found[label] = tuple(drawn)
    return found


def listed(labels: Sequence[str]) -> str:
    """Joins the labels of sets of inputs."""
    sizes = [label.removeprefix(_OF_SIZE) for label in labels if label.startswith(_OF_SIZE)]
    others = [label for label in labels if not label.startswith(_OF_SIZE)]
    if len(sizes) > 1:
        return join([*others, f"drawn inputs of sizes {', '.join(sizes)}"])
    return join(list(labels))


def _is_open(spec: tf.TensorSpec) -> bool:
    return spec.shape.rank is None or not spec.shape.is_fully_defined()


def _draw(
    spec: Any, size: int, real: Sequence[np.ndarray | None], random: np.random.Generator
) -> list[np.ndarray]:
    """Draws the tensors of one value."""
    if isinstance(spec, tf.RaggedTensorSpec):
        return _draw_ragged(spec, size, real[0], random)
    if isinstance(spec, tf.SparseTensorSpec):
        shape = _sizes(spec.shape, size)
        # The first and last entry, which are the same one if all sizes are 1: an index must not
        # occur twice.
        indices = np.array([[0] * len(shape), [n - 1 for n in shape]][: min(2, max(shape))])
        values = _draw_dense(spec.dtype, (len(indices),), real[1], random)
        return [indices.astype(np.int64), values, np.array(shape, np.int64)]
    return [
        _draw_dense(part.dtype, _sizes(part.shape, size), of_call, random)
        for part, of_call in zip(_parts([spec]), real, strict=True)
    ]


def _sizes(shape: tf.TensorShape, size: int) -> tuple[int, ...]:
    lengths = [None] if shape.rank is None else shape.as_list()
    return tuple(size if length is None else length for length in lengths)


def _draw_ragged(
    spec: tf.RaggedTensorSpec, size: int, real: Any, random: np.random.Generator
) -> list[np.ndarray]:
    """Draws a ragged tensor whose rows have one and two entries in turn, on each level."""
    shape = tf.TensorShape([]) if spec.shape.rank is None else spec.shape
    lengths = [None] * (spec.ragged_rank + 1) if shape.rank is None else shape.as_list()
    rows = size if not lengths or lengths[0] is None else lengths[0]
    splits: list[np.ndarray] = []
    for level in range(spec.ragged_rank):
        fixed = lengths[level + 1] if level + 1 < len(lengths) else None
        each = [1 + i % 2 if fixed is None else fixed for i in range(rows)]
        splits.append(np.concatenate([[0], np.cumsum(each)]).astype(spec.row_splits_dtype.name))
        rows = int(sum(each))
    inner = tuple(size if n is None else n for n in lengths[spec.ragged_rank + 1 :])
    return [_draw_dense(spec.dtype, (rows, *inner), real, random), *splits]


def _draw_dense(
    dtype: tf.DType, shape: tuple[int, ...], real: Any, random: np.random.Generator
) -> np.ndarray:
    if dtype == tf.string:
        # From those of the call, which may be file names, or words of a vocabulary.
        texts = [b"text"] if real is None or not real.size else list(dict.fromkeys(real.ravel()))
        drawn = np.empty(shape, object)
        # A new array is contiguous, so `ravel` returns a view of it.
        drawn.ravel()[:] = [texts[i % len(texts)] for i in range(drawn.size)]
        return drawn
    if dtype == tf.bool:
        return random.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        # From the range of the call's: an integer may be an index, for which few values are valid.
        low, high = (0, 1) if real is None or not real.size else (real.min(), real.max())
        wide = np.uint64 if dtype == tf.uint64 else np.int64
        drawn = random.integers(int(low), int(high), shape, wide, endpoint=True)
        return drawn.astype(dtype.as_numpy_dtype)
    return random.random(shape).astype(dtype.as_numpy_dtype)
