"""`check`: values within tolerance, random numbers, and Keras's state."""

from __future__ import annotations

import random

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.checking.check import check

generator = np.random.default_rng(3)


def run(function, *args, **kwargs):
    return check(function, args, kwargs)


def line_of(text: str) -> int:
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip().endswith(f"# {text}"))


def only(report):
    (difference,) = report.differences
    return difference


@pytest.mark.parametrize(
    ("dtype", "small", "large"),
    [
        (tf.float64, 1e-11, 1e-6),
        (tf.float32, 1e-7, 1e-2),
        (tf.float16, 1e-3, 1e-1),
        (tf.bfloat16, 1e-2, 5e-1),
    ],
)
def test_the_tolerance_is_that_of_the_dtype(dtype, small, large) -> None:
    def off_by(amount):
        @nbfn.function
        def body(x):
            return x if tf.executing_eagerly() else x + tf.cast(amount, dtype)

        return run(body, tf.ones([3], dtype))

    assert off_by(small).ok
    assert not off_by(large).ok


def test_structures_dtypes_shapes_and_composite_tensors() -> None:
    @nbfn.function
    def body(x, kind):
        eager = tf.executing_eagerly()
        if kind == "structure":
            return (x, x) if eager else [x]
        if kind == "dtype":
            return {"y": x if eager else tf.cast(x, tf.int32)}
        if kind == "shape":
            return {"y": x if eager else x[tf.newaxis]}
        return tf.RaggedTensor.from_row_lengths(x, [1, 1] if eager else [2, 0])

    x = tf.constant([1.0, 2.0])
    assert "has the structure" in only(run(body, x, "structure")).sentence
    dtype = only(run(body, x, "dtype"))
    assert dtype.name == "the result['y']"
    assert "is float32 eagerly, and int32 traced" in dtype.sentence
    assert "has the shape (2,) eagerly, and (1, 2) traced" in only(run(body, x, "shape")).sentence
    assert "component 1" in only(run(body, x, "ragged")).name


def test_random_numbers_of_python_and_numpy() -> None:
    @nbfn.function
    def draws(x):
        return x * random.random()  # python draw

    @nbfn.function
    def draws_numpy(x):
        return x * np.random.rand()  # numpy draw

    @nbfn.function
    def draws_generator(x):
        return x * generator.random()  # generator draw

    for function, name, text in (
        (draws, "random", "python draw"),
        (draws_numpy, "np.random", "numpy draw"),
        (draws_generator, "generator", "generator draw"),
    ):
        states = random.getstate(), np.random.get_state()[2], generator.bit_generator.state
        difference = only(run(function, tf.ones([])))
        assert difference.name == name
        if text != "generator draw":
            assert difference.site.line == line_of(text)
        after = random.getstate(), np.random.get_state()[2], generator.bit_generator.state
        assert states == after


def test_random_numbers_of_tensorflow_are_no_difference() -> None:
    @nbfn.function
    def hidden(x):
        return x + tf.random.uniform([3])

    report = run(hidden, tf.ones([3]))
    assert report.ok
    assert "draws from the hidden state of tf.random (RandomUniform)" in report.notes[0]

    shared = tf.random.Generator.from_seed(1)

    @nbfn.function
    def explicit(x):
        return x + shared.normal([3]) + tf.random.stateless_uniform([3], [1, 2])

    before = shared.state.numpy().tolist()
    report = run(explicit, tf.ones([3]))
    assert report.ok
    assert report.notes == ()
    assert shared.state.numpy().tolist() == before


def test_keras_optimizers_seed_generators_and_moving_statistics_are_put_back() -> None:
    model = keras.Sequential(
        [
            keras.layers.Dense(3, use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5, seed=7),
        ]
    )
    optimizer = keras.optimizers.Adam(0.1)
    x = tf.random.stateless_normal([8, 2], [1, 2])

    @nbfn.function
    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    train(x)
    values = [v.numpy() for v in [*model.variables, *optimizer.variables]]
    report = run(train, x)
    assert report.ok, str(report)
    assert report.variables >= len(values)
    after = [v.numpy() for v in [*model.variables, *optimizer.variables]]
    assert all(np.array_equal(a, b) for a, b in zip(values, after, strict=True))
