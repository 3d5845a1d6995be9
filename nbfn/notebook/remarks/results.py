"""What functions of Python, NumPy and TensorFlow give, without calling them."""

from __future__ import annotations

import functools
import inspect
import io
import itertools
import logging
import types
from typing import Any

import numpy as np
import tensorflow as tf

_WRAPPERS = ("tqdm.", "rich.progress", "fastprogress.", "alive_progress.")
_OPERATIONS = {
    *("add_n", "argmax", "argmin", "cast", "clip_by_value", "concat", "constant", "cumsum", "eye"),
    *("convert_to_tensor", "einsum", "expand_dims", "fill", "gather", "identity", "linspace"),
    *("matmul", "norm", "one_hot", "ones", "ones_like", "pad", "range", "rank", "repeat"),
    *("reshape", "shape", "size", "sort", "squeeze", "stack", "stop_gradient", "tensordot"),
    *("tile", "transpose", "where", "zeros", "zeros_like"),
}
_SPACES = ("math", "linalg", "random")


def wraps(function: Any) -> bool:
    """Whether a function gives something that goes through its arguments in Python."""
    is_plain = isinstance(function, (type, types.FunctionType))
    module = getattr(function, "__module__", None) if is_plain else None
    if module == "itertools":
        return function in (itertools.chain, itertools.cycle, itertools.starmap)
    return isinstance(module, str) and module.startswith(_WRAPPERS)


@functools.cache
def _operations() -> frozenset[int]:
    """The ``id`` of TensorFlow's public functions that give tensors."""
    found = [getattr(tf, name, None) for name in _OPERATIONS]
    for space in _SPACES:
        found += vars(getattr(tf, space)).values()
    found += [value for name, value in vars(tf).items() if name.startswith("reduce_")]
    return frozenset(map(id, found))


def is_operation(function: Any) -> bool:
    """Whether it is one of TensorFlow's public functions that give a tensor."""
    return inspect.isfunction(function) and id(function) in _operations()


def class_made_by(function: Any) -> type | None:
    """The class of what a function of Python gives; None if it is not known."""
    return _makers().get(id(function))


@functools.cache
def _makers() -> dict[int, type]:
    """The class of what some functions of Python give, by the function's ``id``."""
    return {
        id(open): io.TextIOWrapper,
        id(logging.getLogger): logging.Logger,
        id(tf.get_logger): logging.Logger,
        id(np.random.default_rng): np.random.Generator,
        id(format): str,
        id(repr): str,
    }
