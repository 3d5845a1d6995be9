"""Keras layers in the pure lifecycle."""

from __future__ import annotations

import random
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import shapes

L = keras.layers
X = tf.reshape(tf.range(12.0), [3, 4]) / 10.0


def test_dense_is_a_dense_layer() -> None:
    dense = nn.Dense(3, activation=nn.relu)
    variables = dense.init(nn.key(0), X)
    assert shapes(variables) == {"params": {"kernel": (4, 3), "bias": (3,)}}
    params = variables["params"]
    tf.debugging.assert_near(
        dense.apply(variables, X), tf.nn.relu(X @ params["kernel"] + params["bias"])
    )
    assert shapes(nn.Dense(3, use_bias=False).init(nn.key(0), X)) == {"params": {"kernel": (4, 3)}}


def test_initial_values_obey_the_key_and_nothing_else() -> None:
    def kernel(key: Any) -> Any:
        return nn.Dense(3).init(key, X)["params"]["kernel"]

    first = kernel(nn.key(0))
    random.seed(123)
    expected = random.random()
    random.seed(123)
    tf.debugging.assert_equal(kernel(nn.key(0)), first)
    assert random.random() == expected, "Python's generator was disturbed"
    assert not np.allclose(kernel(nn.key(1)), first)


def test_two_layers_get_different_initial_values() -> None:
    class Two(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(3)(x) + nn.Dense(3)(x)

    params = Two().init(nn.key(0), X)["params"]
    assert not np.allclose(params["Dense_0"]["kernel"], params["Dense_1"]["kernel"])


def test_initializers_of_nbfn_serve_keras_layers() -> None:
    dense = nn.Dense(
        3, kernel_initializer=nn.initializers.normal(5.0), bias_initializer=nn.initializers.ones
    )
    params = dense.init(nn.key(0), X)["params"]
    assert float(tf.math.reduce_std(params["kernel"])) > 1.0
    assert params["bias"].numpy().tolist() == [1.0, 1.0, 1.0]
    again = dense.init(nn.key(0), X)["params"]
    tf.debugging.assert_equal(again["kernel"], params["kernel"])


def test_initial_values_are_made_in_a_trace_if_the_key_is_known() -> None:
    key = nn.key(0)
    made = tf.function(lambda x: nn.Dense(3).init(key, x))(X)
    tf.debugging.assert_near(made["params"]["kernel"], nn.Dense(3).init(key, X)["params"]["kernel"])


class Normed(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm()(nn.Dropout(0.5)(nn.Dense(3, kernel_initializer="he_normal")(x)))


def test_initial_values_of_a_key_that_is_an_argument_are_those_of_init() -> None:
    for module in (nn.Dense(3), Normed()):
        traced = tf.function(module.init)
        for seed in (3, 4):
            want = module.init(nn.key(seed), X)
            tf.nest.map_structure(tf.debugging.assert_equal, traced(nn.key(seed), X), want)
        assert traced.experimental_get_tracing_count() == 1
    shapes = traced.get_concrete_function(nn.key(0), X).structured_outputs
    assert shapes["params"]["Dense_0"]["kernel"].shape == (X.shape[-1], 3)


def test_a_vectorized_map_over_init_makes_an_ensemble() -> None:
    keys = tf.random.split(nn.key(0), 3)
    made = tf.vectorized_map(lambda key: Normed().init(key, X), keys)
    for i, key in enumerate(keys):
        want = Normed().init(key, X)
        tf.nest.map_structure(lambda a, b, i=i: tf.debugging.assert_equal(a[i], b), made, want)


def test_numpy_integers_are_sizes() -> None:
    x = tf.ones([2, 4, 4, 1])
    dense = nn.Dense(np.int64(3))
    assert dense.init(nn.key(0), x)["params"]["kernel"].shape == (1, 3)
    embed = nn.Embed(np.int32(5), np.int64(2))
    assert embed.init(nn.key(0), tf.constant([1]))["params"]["embeddings"].shape == (5, 2)
    conv = nn.Conv2D(np.int64(3), (np.int64(2), np.int32(2)))
    assert conv.init(nn.key(0), x)["params"]["kernel"].shape == (2, 2, 1, 3)


def test_no_tf_variable_is_made_before_bind() -> None:
    made = []

    def watch(create: Any, **kwargs: Any) -> Any:
        variable = create(**kwargs)
        made.append(variable)
        return variable

    # A configuration that no other test uses, so that the layer is really built.
    dense = nn.Dense(3, activation="softplus", bias_initializer="ones")
    with tf.variable_creator_scope(watch):
        variables = dense.init(nn.key(0), X)
        dense.apply(variables, X)
    assert made == []


def test_batch_norm_keeps_its_statistics_in_batch_stats() -> None:
    norm = nn.BatchNorm(momentum=0.5)
    variables = norm.init(nn.key(0), X, training=True)
    assert shapes(variables) == {
        "params": {"gamma": (4,), "beta": (4,)},
        "batch_stats": {"moving_mean": (4,), "moving_variance": (4,)},
    }
    assert variables["batch_stats"]["moving_mean"].numpy().tolist() == [0.0] * 4
    layer = L.BatchNormalization(momentum=0.5)
    y, updated = norm.apply(variables, X, training=True, mutable=["batch_stats"])
    tf.debugging.assert_near(y, layer(X, training=True))
    tf.debugging.assert_near(updated["batch_stats"]["moving_mean"], layer.moving_mean.value)
    _, twice = norm.apply({**variables, **updated}, X, training=True, mutable=["batch_stats"])
    layer(X, training=True)
    tf.debugging.assert_near(twice["batch_stats"]["moving_variance"], layer.moving_variance.value)
    tf.debugging.assert_near(norm.apply({**variables, **twice}, X), layer(X))


def test_batch_norm_needs_mutable_statistics_to_train() -> None:
    norm = nn.BatchNorm()
    variables = norm.init(nn.key(0), X)
    with raises(nn.ImmutableCollectionError):
        norm.apply(variables, X, training=True)


def test_bound_batch_norm_updates_its_variables_in_a_trace() -> None:
    norm = nn.BatchNorm(momentum=0.5)
    variables = norm.init(nn.key(0), X)
    bound, mean = norm.bind(variables), None
    train = tf.function(lambda x: bound(x, training=True))
    for _ in range(2):
        train(X)
        _, updated = norm.apply(variables, X, training=True, mutable=["batch_stats"])
        variables = {**variables, **updated}
        mean = variables["batch_stats"]["moving_mean"]
    tf.debugging.assert_near(bound["moving_mean"], mean)
    assert [v.name for v in bound.trainable_variables] == ["beta:0", "gamma:0"]


def test_dropout_draws_from_its_stream() -> None:
    drop, x = nn.Dropout(0.5), tf.ones([100])
    assert drop.init(nn.key(0), x) == {}
    tf.debugging.assert_equal(drop.apply({}, x), x)

    def run(key: Any) -> list[float]:
        return drop.apply({}, x, training=True, rngs={"dropout": key}).numpy().tolist()

    assert run(nn.key(0)) == run(nn.key(0)) != run(nn.key(1))
    assert 20 < sum(v == 0.0 for v in run(nn.key(0))) < 80
    with raises(nn.RngError):
        drop.apply({}, x, training=True)


@pytest.mark.parametrize("traced", [False, True])
def test_bound_dropout_draws_again_in_each_call(traced: bool) -> None:
    bound = nn.Dropout(0.5).bind({}, rngs={"dropout": nn.key(0)})
    x = tf.ones([100])

    def call() -> Any:
        return bound(x, training=True)

    f = tf.function(call) if traced else call
    assert len({tuple(f().numpy().tolist()) for _ in range(3)}) == 3


def test_weights_for_another_input_are_named() -> None:
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(2)(nn.Dense(3)(x))

    variables = Net().init(nn.key(0), X)
    with raises(nn.ParamShapeError):
        Net().apply(variables, tf.ones((1, 7)))
    with raises(nn.ParamShapeError):
        Net().bind(variables)(tf.ones((1, 7)))
    assert Net().apply(variables, X).shape == (3, 2)


def test_missing_weights_are_named() -> None:
    with raises(nn.CollectionNotFoundError):
        nn.Dense(3).apply({}, X)
    with raises(nn.ParamNotFoundError):
        nn.Dense(3).apply({"params": {"kernel": tf.zeros([4, 3])}}, X)


def test_numpy_values_of_another_precision_are_cast() -> None:
    variables = nn.Dense(3).init(nn.key(0), X)
    double = tf.nest.map_structure(lambda v: v.numpy().astype("float64"), variables)
    tf.debugging.assert_near(nn.Dense(3).apply(double, X), nn.Dense(3).apply(variables, X))


def test_a_layer_may_be_met_first_inside_a_trace() -> None:
    # A configuration that no other test uses, so that the trace builds it.
    class Fresh(nn.Module):
        @nn.compact
        def __call__(self, x, training=True):
            x = nn.Dense(3, kernel_regularizer="l2", activation="mish")(x)
            return nn.Dropout(0.123)(x, training=training)

    kernel = tf.ones([4, 3])
    bound = Fresh().bind(
        {"params": {"Dense_0": {"kernel": kernel, "bias": tf.zeros([3])}}}, {"dropout": nn.key(0)}
    )
    traced = tf.function(bound)
    traced(X)
    assert traced(X[:2]).shape == (2, 3)
    with bound.capture() as sown:
        y = bound(X, training=False)
    tf.debugging.assert_near(y, keras.activations.mish(X @ kernel))
    tf.debugging.assert_near(sown["losses"]["Dense_0"]["loss"][0], 0.12)
