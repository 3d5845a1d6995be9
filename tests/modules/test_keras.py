"""Keras layers in the pure lifecycle."""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn

L = keras.layers
X = tf.reshape(tf.range(12.0), [3, 4]) / 10.0


def shapes(tree: Any) -> Any:
    return tf.nest.map_structure(lambda leaf: tuple(leaf.shape), tree)


def put(layer: Any, variables: Any, names: dict[str, str] | None = None) -> None:
    """Gives a Keras layer the values of a module's variables, by leaf name."""
    leaves = {k: v for tree in variables.values() for k, v in tree.items()}
    for weight in layer.weights:
        if weight.name in leaves:
            weight.assign(leaves[weight.name])


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
    with pytest.raises(nn.RngError, match=r"Call init outside tf.function"):
        tf.function(lambda k: nn.Dense(3).init(k, X))(key)


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
    with pytest.raises(nn.ImmutableCollectionError, match=r"^/ writes the variable 'moving_mean'"):
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
    with pytest.raises(nn.RngError, match=r"^/ needs the random stream 'dropout'"):
        drop.apply({}, x, training=True)


@pytest.mark.parametrize("traced", [False, True])
def test_bound_dropout_draws_anew_in_each_call(traced: bool) -> None:
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
    message = r"/Dense_1 has a stored value of shape \(4, 3\) for 'kernel'.* gives \(7, 3\)"
    with pytest.raises(nn.ParamShapeError, match=message):
        Net().apply(variables, tf.ones((1, 7)))
    with pytest.raises(nn.ParamShapeError, match=message):
        Net().bind(variables)(tf.ones((1, 7)))
    assert Net().apply(variables, X).shape == (3, 2)


def test_missing_weights_are_named() -> None:
    with pytest.raises(nn.CollectionNotFoundError, match="'kernel'"):
        nn.Dense(3).apply({}, X)
    with pytest.raises(nn.ParamNotFoundError, match=r"parameter 'bias'.*has 'kernel'"):
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


# -- any layer -------------------------------------------------------------------------------------


class Doubler(keras.layers.Layer):
    """Has a loss, a metric-like weight, a mask and no ``training`` argument."""

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1],), initializer="ones", name="w")

    def call(self, x):
        self.add_loss(keras.ops.sum(self.w))
        return x * self.w * 2.0


def test_a_layer_of_ones_own() -> None:
    module = nn.Keras(Doubler)
    variables = module.init(nn.key(0), X)
    assert shapes(variables) == {"params": {"w": (4,)}}
    y, updated = module.apply(variables, X, mutable=["losses"], training=True)
    tf.debugging.assert_near(y, 2.0 * X)
    assert float(updated["losses"]["loss"][0]) == 4.0
    bound = module.bind(variables)
    with bound.capture() as sown:
        bound(X)
    assert float(sown["losses"]["loss"][0]) == 4.0


def test_regularizers_of_the_layer_and_of_its_activity_are_losses() -> None:
    dense = nn.Dense(3, kernel_regularizer="l2", activity_regularizer="l1")
    variables = dense.init(nn.key(0), X)
    assert variables.keys() == {"params"}
    _, updated = dense.apply(variables, X, mutable=["losses"])
    layer = L.Dense(3, kernel_regularizer="l2", activity_regularizer="l1")
    layer.build(X.shape)
    put(layer, variables)
    layer(X)
    tf.debugging.assert_near(tf.add_n(updated["losses"]["loss"]), tf.add_n(layer.losses))


def test_mixed_precision_is_the_layers_own() -> None:
    dense = nn.Dense(3, dtype="mixed_float16")
    variables = dense.init(nn.key(0), X)
    assert variables["params"]["kernel"].dtype == tf.float32
    assert dense.apply(variables, X).dtype == tf.float16
    assert dense.bind(variables)(X).dtype == tf.float16


def test_masks_travel_from_layer_to_layer() -> None:
    class Text(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.LSTM(3)(nn.Embed(10, 4, mask_zero=True)(x))

    x = tf.constant([[1, 2, 0, 0]])
    variables = Text().init(nn.key(0), x)
    assert variables["params"]["LSTM_0"].keys() == {"lstm_cell"}
    short = Text().apply(variables, tf.constant([[1, 2]]))
    tf.debugging.assert_near(Text().apply(variables, x), short)


def test_names_do_not_depend_on_how_often_keras_counted() -> None:
    def factory() -> Any:
        return keras.Sequential([L.Dense(3), L.Dense(2), L.BatchNormalization()])

    first = nn.Keras(factory, collection="batch_stats").init(nn.key(0), X)
    L.Dense(1), L.BatchNormalization()
    second = nn.Keras(lambda: factory(), collection="batch_stats").init(nn.key(0), X)
    assert (
        shapes(first)
        == shapes(second)
        == {
            "params": {
                "dense": {"kernel": (4, 3), "bias": (3,)},
                "dense_1": {"kernel": (3, 2), "bias": (2,)},
                "batch_normalization": {"gamma": (2,), "beta": (2,)},
            },
            "batch_stats": {"batch_normalization": {"moving_mean": (2,), "moving_variance": (2,)}},
        }
    )
    tf.nest.map_structure(tf.debugging.assert_equal, first, second)


def test_duplicate_names_inside_a_layer_are_told_apart() -> None:
    class Twins(keras.layers.Layer):
        def build(self, shape):
            self.a = self.add_weight(shape=(1,), name="same")
            self.b = self.add_weight(shape=(2,), name="same")

        def call(self, x):
            return x + keras.ops.sum(self.a) + keras.ops.sum(self.b)

    variables = nn.Keras(Twins).init(nn.key(0), X)
    assert shapes(variables) == {"params": {"same": (1,), "same_1": (2,)}}


def test_a_model_with_weights_gives_them_as_initial_values() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(3)])
    module = nn.Keras(model)
    variables = module.init(nn.key(0), X)
    tf.debugging.assert_near(module.apply(variables, X), model(X))
    bound = module.bind(variables)
    bound["dense/kernel"].assign(tf.zeros([4, 3]))
    assert float(tf.reduce_sum(tf.abs(model.layers[0].kernel.value))) > 0.0
    tf.debugging.assert_near(bound(X), tf.zeros([3, 3]))


def test_a_model_with_weights_is_not_kept_alive() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(3)])
    module = nn.Keras(model)
    module.apply(module.init(nn.key(0), X), X)
    gone = weakref.ref(model)
    del model, module
    gc.collect()
    assert gone() is None


def test_a_layer_object_without_weights_is_a_pattern() -> None:
    layer = L.Dense(3)
    variables = nn.Keras(layer).init(nn.key(0), X)
    assert not layer.built
    assert shapes(variables) == {"params": {"kernel": (4, 3), "bias": (3,)}}


def test_a_frozen_layer_has_no_params() -> None:
    variables = nn.Keras(lambda: L.Dense(3, trainable=False)).init(nn.key(0), X)
    assert shapes(variables) == {"state": {"kernel": (4, 3), "bias": (3,)}}
    assert nn.Keras(lambda: L.Dense(3, trainable=False)).bind(variables).trainable_variables == ()


def test_a_layer_that_computes_when_it_is_built() -> None:
    module = nn.Keras(lambda: L.Normalization(mean=2.0, variance=4.0))
    variables = module.init(nn.key(0), X)
    tf.debugging.assert_near(module.apply(variables, X), (X - 2.0) / 2.0)


def test_metrics_are_state() -> None:
    class Metered(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.mean = keras.metrics.Mean(name="mean")

        def call(self, x):
            self.mean.update_state(x)
            return x

    variables = nn.Keras(Metered).init(nn.key(0), X)
    assert variables.keys() == {"metrics"}
    _, updated = nn.Keras(Metered).apply(variables, X, mutable=["metrics"])
    total, count = (updated["metrics"]["mean"][name] for name in ("total", "count"))
    tf.debugging.assert_near(total / count, tf.reduce_mean(X))


@pytest.mark.parametrize(
    ("module", "x", "shape"),
    [
        (nn.Conv2D(5, 3, padding="same"), tf.ones([2, 8, 8, 1]), (2, 8, 8, 5)),
        (nn.Conv1D(5, kernel_size=3), tf.ones([2, 8, 1]), (2, 6, 5)),
        (nn.Conv2DTranspose(5, 2, strides=2), tf.ones([2, 4, 4, 1]), (2, 8, 8, 5)),
        (nn.DepthwiseConv2D(3), tf.ones([2, 8, 8, 4]), (2, 6, 6, 4)),
        (nn.SeparableConv2D(5, 3), tf.ones([2, 8, 8, 4]), (2, 6, 6, 5)),
        (nn.EinsumDense("ab,bc->ac", 5), tf.ones([2, 3]), (2, 5)),
        (nn.Embed(10, 4), tf.ones([2, 3], tf.int32), (2, 3, 4)),
        (nn.LayerNorm(), X, (3, 4)),
        (nn.GroupNorm(2), X, (3, 4)),
        (nn.LSTM(3), tf.ones([2, 5, 4]), (2, 3)),
        (nn.GRU(3, return_sequences=True), tf.ones([2, 5, 4]), (2, 5, 3)),
        (nn.Flatten(), tf.ones([2, 3, 4]), (2, 12)),
        (nn.Reshape((4, 3)), tf.ones([2, 3, 4]), (2, 4, 3)),
        (nn.MaxPooling2D(), tf.ones([2, 8, 8, 1]), (2, 4, 4, 1)),
        (nn.AveragePooling2D(4), tf.ones([2, 8, 8, 1]), (2, 2, 2, 1)),
        (nn.GlobalAveragePooling2D(), tf.ones([2, 8, 8, 3]), (2, 3)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_layers_agree_with_keras(module: Any, x: Any, shape: tuple[int, ...]) -> None:
    variables = module.init(nn.key(0), x)
    y = module.apply(variables, x)
    assert y.shape == shape
    layer = module.make_layer()
    layer(x)
    for weight, value in zip(
        [w for w in layer.weights if "seed" not in w.name],
        _in_order(layer, variables),
        strict=True,
    ):
        weight.assign(value)
    tf.debugging.assert_near(y, layer(x), atol=1e-5)
    bound = module.bind(variables)
    tf.debugging.assert_near(tf.function(bound)(x), y, atol=1e-5)


def _in_order(layer: Any, variables: Any) -> list[Any]:
    found = {}

    def visit(tree: Any) -> None:
        for name, value in tree.items():
            visit(value) if isinstance(value, dict) else found.__setitem__(name, value)

    visit(variables)
    return [found[w.name] for w in layer.weights if "seed" not in w.name]


def test_attention_with_two_inputs() -> None:
    attention, x = nn.MultiHeadAttention(num_heads=2, key_dim=3), tf.ones([2, 5, 4])
    variables = attention.init(nn.key(0), x, x)
    assert variables["params"].keys() == {"query", "key", "value", "attention_output"}
    y, scores = attention.apply(variables, x, x, return_attention_scores=True)
    assert y.shape == (2, 5, 4)
    assert scores.shape == (2, 2, 5, 5)


def test_fields_are_the_layers_arguments() -> None:
    assert repr(nn.Conv2D(8, (3, 3), padding="same")) == (
        "Conv2D(filters=8, kernel_size=(3, 3), padding='same')"
    )
    with pytest.raises(TypeError, match="filter_count"):
        nn.Conv2D(8, 3, filter_count=2)
    with pytest.raises(ValueError, match="padding"):
        nn.Conv2D(8, 3, padding="sideways").init(nn.key(0), tf.ones([1, 8, 8, 1]))
