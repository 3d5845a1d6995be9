"""Copies the inputs of one real call of a trace, to verify an export with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow

# For each trace: a sample lives as long as its trace.
MAX_NBYTES = 1_000_000

Sample = tuple[np.ndarray, ...]
"""The tensors in the order of the trace's inputs."""


def sample_of(function: Any, concrete: Any, args: Any, kwargs: Any) -> Sample | None:
    """Copies the tensors of a call; None in a graph, or for more than a megabyte."""
    if not tf.executing_eagerly():
        return None
    try:
        leaves = tf.nest.flatten((args, kwargs))
        if sum(getattr(each, "nbytes", 0) for each in leaves if isinstance(each, np.ndarray)) > (
            MAX_NBYTES
        ):
            return None
        tensors = _tensorflow.flat_inputs(function, concrete, args, kwargs)
        return None if tensors is None else _copies(tensors)
    except Exception:  # user classes may raise anything, and the call must not fail
        return None


def _copies(tensors: Sequence[Any]) -> Sample | None:
    room, copies = MAX_NBYTES, []
    for tensor in tensors:
        if not hasattr(tensor, "numpy") or tensor.dtype in (tf.resource, tf.variant):
            return None
        # Before `numpy`, which would copy a large tensor from its device.
        room -= tensor.dtype.size * (tensor.shape.num_elements() or 0)
        if room < 0:
            return None
        copy = np.asarray(tensor.numpy())
        if tensor.dtype == tf.string:
            room -= sum(map(len, copy.ravel()))
        copies.append(copy)
    return tuple(copies) if room >= 0 else None
