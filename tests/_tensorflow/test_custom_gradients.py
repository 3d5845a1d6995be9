"""Graphs are freed although TensorFlow's registry of gradients knows them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn


@tf.custom_gradient
def clipped(x: Any) -> Any:
    return x * 2.0, lambda upstream: tf.clip_by_value(upstream * x, -1.0, 1.0)


@tf.custom_gradient
def straight(x: Any) -> Any:
    return tf.round(x), lambda upstream: upstream


def in_branch(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: straight(x), lambda: x * 2.0)


def in_loop(x: Any) -> Any:
    for _ in tf.range(3):
        x = straight(clipped(x) * 0.7)
    return x


def in_map(x: Any) -> Any:
    return tf.map_fn(clipped, x)


def recomputed(x: Any) -> Any:
    return tf.recompute_grad(lambda y: clipped(tf.tanh(y)))(x)


def of_second_order(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(clipped(x) ** 3)
    return tape.gradient(y, x)


def of_silu(x: Any) -> Any:
    return tf.nn.silu(x)


@pytest.mark.parametrize(
    "code", [clipped, in_branch, in_loop, in_map, recomputed, of_second_order, of_silu]
)
def test_gradients_are_those_of_tensorflow(code: Any) -> None:
    x = tf.constant([0.3, -0.8, 1.7])

    def gradients(function: Any) -> list[Any]:
        @function
        def outer(x: Any) -> Any:
            return inner(x) * 3.0

        inner = function(lambda x: code(x))
        found = []
        for _ in range(2):
            gc.collect()
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                results = inner(x), outer(x), tf.function(outer.python_function)(x)
            found += [tape.gradient(each, x) for each in results]
        return found

    for bare, ours in zip(gradients(tf.function), gradients(nbfn.function), strict=True):
        assert bare.numpy() == pytest.approx(ours.numpy())


def graphs_alive() -> int:
    for _ in range(2):
        gc.collect()
    return sum(type(each).__name__ == "FuncGraph" for each in gc.get_objects())


def test_a_model_that_is_made_again_leaves_no_graph() -> None:
    @nbfn.function
    def step(model: Any, optimizer: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    alive = []
    for _ in range(4):
        model = keras.Sequential([keras.layers.Dense(2, activation="silu"), keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD(0.1)
        for _ in range(2):
            step(model, optimizer, tf.ones([4, 3]))
        alive.append(graphs_alive())
    assert alive[-1] == alive[1]


def test_a_trace_that_fails_leaves_no_graph() -> None:
    @nbfn.function
    def failing(x: Any) -> Any:
        clipped(x)
        raise ValueError("of the user")

    alive = []
    for _ in range(3):
        with pytest.raises(ValueError, match="of the user"):
            failing(tf.ones([2]))
        alive.append(graphs_alive())
    assert alive[-1] == alive[0]


def test_a_plain_function_that_was_traced_within_outlives_the_trace() -> None:
    inner = tf.function(lambda x: clipped(x))

    @nbfn.function
    def outer(x: Any) -> Any:
        return inner(x)

    x = tf.constant([0.4])
    outer(x)
    graph = weakref.ref(outer.traces[0].graph)
    outer.free()
    del outer
    gc.collect()
    assert graph() is None
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = inner(x)
    assert tape.gradient(y, x).numpy() == pytest.approx([0.4])


def test_gradients_are_exported(tmp_path: Any) -> None:
    class Model(tf.Module):
        @nbfn.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x: Any) -> Any:
            return straight(x)

    model, x = Model(), tf.constant([0.4, 1.6])
    model(x)
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    tf.saved_model.save(model, str(tmp_path), options=options)
    loaded = tf.saved_model.load(str(tmp_path))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loaded(x)
    assert tape.gradient(y, x).numpy() == pytest.approx([1.0, 1.0])
