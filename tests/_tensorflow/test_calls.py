"""Under tapes and forward accumulators, a hit records what a call of a bare function records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn

W = tf.Variable([2.0, 3.0])
V = tf.Variable([1.0, 5.0], trainable=False)


def product(x: Any) -> Any:
    return tf.reduce_sum(x * x * x * W)


def several(x: Any) -> Any:
    return {"y": x * W, "n": tf.size(x), "z": [tf.sin(x), x]}


def loop(x: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * W), (0, x))[1]


def assigns(x: Any) -> Any:
    V.assign(x)
    return tf.reduce_sum(V * W)


def first_order(f: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, [x, W])


def of_variables_alone(f: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        y = f(x)
    return y, tape.gradient(y, W), [v.name for v in tape.watched_variables()]


def unwatched(f: Any, x: Any) -> Any:
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = f(x)
    return y, tape.gradient(y, [x, W])


def persistent(f: Any, x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        total = tf.add_n([tf.reduce_sum(tf.cast(each, tf.float32)) for each in tf.nest.flatten(y)])
    return tape.gradient(y, x), tape.gradient(total, [x, W])


def second_order(f: Any, x: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


def stopped(f: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = f(x)
        z = f(x * 2.0)
    return y, tape.gradient(z, x)


def forward(f: Any, x: Any) -> Any:
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = f(x)
    return y, accumulator.jvp(y)


def forward_over_reverse(f: Any, x: Any) -> Any:
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        gradient = tape.gradient(y, x)
    return gradient, accumulator.jvp(gradient)


def _outcome(way: Callable[..., Any], f: Any, x: Any) -> Any:
    try:
        return way(f, x)
    except (TypeError, AttributeError) as error:  # TensorFlow has no such gradient of a loop
        return type(error)


FIRST = [first_order, of_variables_alone, unwatched, persistent, stopped, forward]


@pytest.mark.parametrize("way", [*FIRST, second_order, forward_over_reverse])
@pytest.mark.parametrize("function", [product, several, loop, assigns])
def test_a_hit_records_as_a_bare_call(
    way: Callable[..., Any], function: Callable[..., Any]
) -> None:
    traced, bare, x = nbfn.function(function), tf.function(function), tf.constant([1.0, 2.0])
    traced(x)
    for _ in range(3):
        hits = traced.hits
        found, right = (_outcome(way, each, x) for each in (traced, bare))
        assert traced.hits > hits
        tf.nest.assert_same_structure(found, right)
        for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(right), strict=True):
            if isinstance(other, str | type) or other is None:
                assert one == other
            else:
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_an_error_under_a_tape_names_the_line() -> None:
    @nbfn.function
    def f(x: Any) -> Any:
        return tf.gather(x * W, 9)

    x = tf.constant([1.0, 2.0])
    for _ in range(2):
        with tf.GradientTape(), pytest.raises(tf.errors.InvalidArgumentError, match="9"):
            f(x)
