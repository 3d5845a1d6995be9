"""Any Keras layer or model as a module, and the ready ones against Keras."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import keras
import pytest
import tensorflow as tf

from nbfn import nn
from nbfn.modules.layers import keras_template
from tests.modules.nets import put, shapes

L = keras.layers
X = tf.reshape(tf.range(12.0), [3, 4]) / 10.0


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


def test_names_that_the_user_has_chosen_stay() -> None:
    def factory() -> Any:
        return keras.Sequential(
            [L.Dense(2, name="block_2"), L.Dense(2, name="block_1"), L.Dense(2)]
        )

    variables = nn.Keras(factory).init(nn.key(0), X)
    assert variables["params"].keys() == {"block_2", "block_1", "dense"}


def test_duplicate_names_inside_a_layer_are_distinguished() -> None:
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
        (nn.RMSNorm(), X, (3, 4)),
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
    put(layer, variables)
    tf.debugging.assert_near(y, layer(x), atol=1e-5)
    bound = module.bind(variables)
    tf.debugging.assert_near(tf.function(bound)(x), y, atol=1e-5)


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


def test_operations_are_named_alike_whenever_the_module_is_made() -> None:
    def operations() -> list[str]:
        x = tf.ones([1, 2])
        keras.layers.Dense(1)  # Keras counts on
        module = nn.Sequential([nn.Dense(3, use_bias=False), nn.Conv1D(2, 1)])
        bound = module.bind(module.init(nn.key(0), x[None]))
        traced = tf.function(bound).get_concrete_function(x[None])
        return [operation.name for operation in traced.graph.get_operations()]

    first = operations()
    keras_template._cache.clear()
    assert operations() == first
    assert any(name.startswith("Sequential/dense/dense") for name in first)
