"""Random arguments of every kind that a traced function may be given."""

from __future__ import annotations

import copy
from collections import namedtuple
from typing import Any

import hypothesis.strategies as st
import numpy as np
import tensorflow as tf

Pair = namedtuple("Pair", "first second")


class Settings:
    """An argument that is no tensor: keyed by identity."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __repr__(self) -> str:
        return f"Settings({self.factor})"


KEYED_BY_VALUE = (int, bool, float, str, type(None))
SHARED = [Settings(2.0), Settings(-1.5)]
VARIABLES = [tf.Variable(3.0), tf.Variable([1.0, -2.0])]
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, float("inf"), float("nan"), 3e38, 1e-30])
INTEGERS = st.sampled_from([0, 1, -1, 2, 7, 1000])
SHAPES = st.sampled_from([(), (1,), (2,), (3,), (0,), (2, 1), (1, 2), (2, 2)])
DTYPES = st.sampled_from([tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.float16])


@st.composite
def arrays(draw: Any) -> np.ndarray:
    shape, dtype = draw(SHAPES), draw(DTYPES)
    items = INTEGERS if dtype.is_integer or dtype.is_bool else NUMBERS
    flat = draw(st.lists(items, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    with np.errstate(over="ignore"):
        return np.array(flat, dtype=dtype.as_numpy_dtype).reshape(shape)


def ragged(rows: list[list[float]]) -> tf.RaggedTensor:
    return tf.ragged.constant(rows, dtype=tf.float32, ragged_rank=1)


def sparse(values: list[float]) -> tf.SparseTensor:
    indices = np.array([[i, i % 2] for i in range(len(values))], np.int64).reshape(-1, 2)
    return tf.SparseTensor(indices, np.array(values, np.float32), [4, 2])


FINITE = st.sampled_from([0.0, 1.0, -2.0, 0.5])
TENSORS = st.one_of(
    arrays().map(tf.constant),
    arrays(),
    st.lists(st.lists(FINITE, max_size=3), min_size=1, max_size=3).map(ragged),
    st.lists(FINITE, max_size=3).map(sparse),
    st.sampled_from(VARIABLES),
)
PYTHON = st.one_of(
    st.sampled_from([True, False, None, 0, 1, -1, 2, 0.0, -0.0, 1.0, 2.5, "a", "", b"x", 1 + 2j]),
    st.just(float("nan")),
    st.sampled_from([np.float32(1.5), np.int64(3), np.bool_(True)]),
    st.sampled_from(SHARED),
)
LITERALS = st.sampled_from([True, False, None, 0, 1, 2, 0.0, -0.0, 1.0, "a", "b", ""])
PLAIN = st.one_of(arrays().map(tf.constant), LITERALS)
LEAVES = st.one_of(TENSORS, TENSORS, PYTHON)


def nested(leaves: Any) -> Any:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.tuples(inner, inner),
            st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
            st.builds(Pair, inner, inner),
        ),
        max_leaves=4,
    )


ARGUMENTS = st.one_of(nested(PLAIN), nested(PLAIN), nested(LEAVES))
CHANGES = st.lists(st.tuples(st.integers(0, 5), st.one_of(st.just("near"), PLAIN)), max_size=3)
"""Changes of one leaf each: its position, and what takes its place."""


def leaves_of(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves_of(tree[key])]
    if isinstance(tree, list | tuple):
        return [leaf for item in tree for leaf in leaves_of(item)]
    return [tree]


def map_leaves(change: Any, tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: map_leaves(change, value) for key, value in tree.items()}
    if isinstance(tree, Pair):
        return Pair(*(map_leaves(change, item) for item in tree))
    if isinstance(tree, list | tuple):
        return type(tree)(map_leaves(change, item) for item in tree)
    return change(tree)


def changed(tree: Any, position: int, new: Any) -> Any:
    """The tree with one other leaf."""
    count = max(len(leaves_of(tree)), 1)
    places = iter(range(count))

    def change(leaf: Any) -> Any:
        if next(places) != position % count:
            return leaf
        return near(leaf) if isinstance(new, str) and new == "near" else new

    return map_leaves(change, tree)


def near(leaf: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return leaf + 1
    if isinstance(leaf, float):
        return -leaf
    if isinstance(leaf, str):
        return leaf + "x"
    if isinstance(leaf, tf.Tensor):
        return tf.logical_not(leaf) if leaf.dtype == tf.bool else leaf + tf.ones([], leaf.dtype)
    return leaf


def twin(tree: Any) -> Any:
    """The same values again: other tensors and containers, the same objects and variables."""

    def copied(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return leaf.copy()
        if isinstance(leaf, tf.Tensor):
            return tf.identity(leaf)
        return leaf if isinstance(leaf, tf.Variable | Settings) else copy.copy(leaf)

    return map_leaves(copied, tree)
