"""What a module costs, against the same tf.Module by hand and against Keras; see `make bench`.

Each group holds one work in several forms; budgets are ratios within a group: a bound module to
the tf.Module by hand, 1.15 for an eager call and 1.2 for a trace, with the same operations; a
wrapped layer to Keras, 1.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

from nbfn import nn

WIDTH, DEPTH = 64, 8
X = tf.ones([16, WIDTH])


class HandLinear(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kernel = tf.Variable(tf.ones([WIDTH, WIDTH]) / WIDTH)
        self.bias = tf.Variable(tf.zeros([WIDTH]))

    @tf.Module.with_name_scope
    def __call__(self, x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, self.kernel) + self.bias)


class HandMLP(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [HandLinear() for _ in range(DEPTH)]

    @tf.Module.with_name_scope
    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class Linear(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        kernel = self.param("kernel", nn.initializers.constant(1.0 / WIDTH), [WIDTH, WIDTH])
        bias = self.param("bias", nn.initializers.zeros, [WIDTH])
        return tf.nn.relu(tf.matmul(x, kernel) + bias)


class SetupLinear(nn.Module):
    def setup(self) -> None:
        self.kernel = self.param("kernel", nn.initializers.constant(1.0 / WIDTH), [WIDTH, WIDTH])
        self.bias = self.param("bias", nn.initializers.zeros, [WIDTH])

    def __call__(self, x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, self.kernel) + self.bias)


class MLP(nn.Module):
    def setup(self) -> None:
        self.layers = [SetupLinear() for _ in range(DEPTH)]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class CompactMLP(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        for _ in range(DEPTH):
            x = Linear()(x)
        return x


def bound(module: Any) -> Any:
    return module.bind(module.init(nn.key(0), X))


MODELS: dict[str, Callable[[], Any]] = {
    "tf.Module": HandMLP,
    "setup": lambda: bound(MLP()),
    "compact": lambda: bound(CompactMLP()),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.benchmark(group="module: eager call")
def test_eager_call(benchmark: Any, kind: str) -> None:
    model = MODELS[kind]()
    model(X)
    benchmark(model, X)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.benchmark(group="module: eager call with gradients")
def test_eager_gradient(benchmark: Any, kind: str) -> None:
    model = MODELS[kind]()
    model(X)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(X))
        return tape.gradient(loss, model.trainable_variables)

    benchmark(step)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.benchmark(group="module: trace")
def test_trace(benchmark: Any, kind: str) -> None:
    model = MODELS[kind]()
    model(X)
    benchmark(lambda: tf.function(lambda x: model(x)).get_concrete_function(X))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.benchmark(group="module: traced call")
def test_traced_call(benchmark: Any, kind: str) -> None:
    model = MODELS[kind]()
    traced = tf.function(lambda x: model(x))
    traced(X)
    benchmark(traced, X)


def keras_model(wrapped: bool, batch_norm: bool) -> Any:
    def layer() -> Any:
        return keras.layers.BatchNormalization() if batch_norm else keras.layers.Dense(WIDTH)

    model = keras.Sequential([layer() for _ in range(DEPTH)])
    model(X)
    return bound(nn.Keras(model)) if wrapped else model


@pytest.mark.parametrize("kind", ["Keras", "nn.Keras", "nn.Sequential"])
@pytest.mark.parametrize("batch_norm", [False, True], ids=["dense", "batch_norm"])
def test_keras(benchmark: Any, kind: str, batch_norm: bool) -> None:
    benchmark.group = f"keras: eager training call, {'batch_norm' if batch_norm else 'dense'}"
    if kind == "nn.Sequential":
        layer = nn.BatchNorm if batch_norm else lambda: nn.Dense(WIDTH)
        model = bound(nn.Sequential([layer() for _ in range(DEPTH)]))
    else:
        model = keras_model(kind == "nn.Keras", batch_norm)
    model(X, training=True)
    benchmark(lambda: model(X, training=True))


@pytest.mark.parametrize("kind", ["Keras", "nn.Keras"])
@pytest.mark.benchmark(group="keras: trace")
def test_keras_trace(benchmark: Any, kind: str) -> None:
    model = keras_model(kind == "nn.Keras", batch_norm=True)
    model(X)
    benchmark(lambda: tf.function(lambda x: model(x, training=True)).get_concrete_function(X))


@pytest.mark.parametrize("kind", ["tf.vectorized_map", "nn.vmap"])
@pytest.mark.benchmark(group="module: ensemble of 4, eager call")
def test_ensemble(benchmark: Any, kind: str) -> None:
    each = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
    members = bound(nn.vmap(Linear, in_axes=None, axis_size=4, **each)())
    kernels, biases = members["kernel"], members["bias"]

    @tf.function
    def by_hand(x: Any) -> Any:
        return tf.vectorized_map(
            lambda v: tf.nn.relu(tf.matmul(x, v[0]) + v[1]), (kernels.value(), biases.value())
        )

    model = members if kind == "nn.vmap" else by_hand
    tf.debugging.assert_near(members(X), by_hand(X))
    benchmark(model, X)
