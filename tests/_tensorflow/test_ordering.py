"""What a failed graph may have written: nothing, if its first writes are below what failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from nbfn import _tensorflow

V = tf.Variable(0.0)


@tf.function
def checked(x: Any) -> Any:
    return tf.debugging.check_numerics(x, "bad")


def above(x: Any) -> Any:
    y = tf.debugging.check_numerics(tf.math.log(x), "bad")
    V.assign_add(1.0)
    return y


def below(x: Any) -> Any:
    V.assign_add(1.0)
    return tf.debugging.check_numerics(tf.math.log(x), "bad")


def between(x: Any) -> Any:
    tf.debugging.check_numerics(x, "bad")
    V.assign_add(1.0)
    return tf.debugging.check_numerics(tf.math.log(x), "bad")


def called(x: Any) -> Any:
    tf.debugging.check_numerics(x, "bad")
    V.assign_add(1.0)
    return checked(tf.math.log(x))


def random(x: Any) -> Any:
    y = tf.debugging.check_numerics(tf.math.log(x + tf.random.uniform([]) * 0.0), "bad")
    V.assign_add(1.0)
    return y


def pure(x: Any) -> Any:
    return tf.debugging.check_numerics(tf.math.log(x), "bad")


@pytest.mark.parametrize(
    ("step", "expected"),
    [(above, False), (below, True), (between, True), (called, True), (random, True), (pure, False)],
)
def test_what_a_failed_graph_may_have_written(step: Callable[[Any], Any], expected: bool) -> None:
    @tf.function
    def traced(x: Any) -> Any:
        y = step(x)
        _tensorflow.keep_order(tf.compat.v1.get_default_graph())
        return y

    x = tf.constant(-1.0)
    V.assign(0.0)
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        traced(x)
    graph = traced.get_concrete_function(x).graph
    assert _tensorflow.may_have_written(graph, raised.value) == expected
    assert float(V) == float(step in (below, between, called))
