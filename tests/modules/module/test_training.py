"""Three networks, each trained three ways from the same weights, with the same losses.

Pure: ``apply`` with explicit state in a traced function. Bound: ``GradientTape`` and a Keras
optimizer. Keras: the same network in plain Keras. Dropout draws from streams of its own in each
world, so for the comparison with Keras its masks are all ones (rate 0), and a second comparison,
with dropout, is between pure and bound, where the draws are the same.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn

STEPS = 4
RATE = 0.03


class ResidualBlock(nn.Module):
    filters: int
    strides: int = 1

    @nn.compact
    def __call__(self, x, training):
        y = nn.Conv2D(self.filters, 3, self.strides, "same", use_bias=False)(x)
        y = nn.relu(nn.BatchNorm()(y, training=training))
        y = nn.Conv2D(self.filters, 3, 1, "same", use_bias=False)(y)
        y = nn.BatchNorm()(y, training=training)
        if x.shape[-1] != self.filters:
            x = nn.Conv2D(self.filters, 1, self.strides, use_bias=False, name="shortcut")(x)
        return nn.relu(x + y)


class ResNet(nn.Module):
    rate: float = 0.0

    @nn.compact
    def __call__(self, x, training=True):
        x = nn.Conv2D(4, 3, padding="same")(x)
        x = ResidualBlock(4)(x, training)
        x = ResidualBlock(8, 2)(x, training)
        x = nn.Dropout(self.rate)(nn.GlobalAveragePooling2D()(x), training=training)
        return nn.Dense(3)(x)


def keras_resnet() -> keras.Model:
    def block(x, filters, strides):
        layers = keras.layers
        y = layers.Conv2D(filters, 3, strides, "same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(filters, 3, 1, "same", use_bias=False)(y))
        if x.shape[-1] != filters:
            x = layers.Conv2D(filters, 1, strides, use_bias=False)(x)
        return layers.ReLU()(x + y)

    inputs = keras.Input([8, 8, 2])
    x = keras.layers.Conv2D(4, 3, padding="same")(inputs)
    x = block(block(x, 4, 1), 8, 2)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, keras.layers.Dense(3)(x))


class TransformerBlock(nn.Module):
    rate: float

    @nn.compact
    def __call__(self, x, training):
        h = nn.MultiHeadAttention(2, 4, name="attention")(x, x, training=training)
        x = nn.LayerNorm(name="first")(x + nn.Dropout(self.rate)(h, training=training))
        h = nn.Dense(8, name="out")(nn.gelu(nn.Dense(16, name="in")(x)))
        return nn.LayerNorm(name="second")(x + nn.Dropout(self.rate)(h, training=training))


class Transformer(nn.Module):
    rate: float = 0.0

    def setup(self):
        self.tokens = nn.Embed(11, 8)
        self.positions = self.param("positions", nn.initializers.normal(0.02), [6, 8])
        self.blocks = [TransformerBlock(self.rate) for _ in range(2)]
        self.head = nn.Dense(3)

    def __call__(self, x, training=True):
        x = self.tokens(x) + self.positions
        for block in self.blocks:
            x = block(x, training)
        return self.head(tf.reduce_mean(x, 1))


class Positions(keras.layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=shape[1:], initializer="zeros", name="positions")

    def call(self, x):
        return x + self.table


def keras_transformer() -> keras.Model:
    layers = keras.layers
    inputs = keras.Input([6], dtype="int32")
    x = Positions()(layers.Embedding(11, 8)(inputs))
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
        h = layers.Dense(16, activation=lambda t: tf.nn.gelu(t, approximate=APPROXIMATE))(x)
        x = layers.LayerNormalization()(x + layers.Dense(8)(h))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(3)(x))


class Recurrent(nn.Module):
    rate: float = 0.0

    @nn.compact
    def __call__(self, x, training=True):
        x = nn.Embed(11, 5, mask_zero=True)(x)
        x = nn.LSTM(6, return_sequences=True)(x)
        return nn.Dense(3)(nn.LSTM(4, dropout=self.rate)(x, training=training))


def keras_recurrent() -> keras.Model:
    inputs = keras.Input([6], dtype="int32")
    x = keras.layers.Embedding(11, 5, mask_zero=True)(inputs)
    x = keras.layers.LSTM(4)(keras.layers.LSTM(6, return_sequences=True)(x))
    return keras.Model(inputs, keras.layers.Dense(3)(x))


APPROXIMATE = bool(abs(float(nn.gelu(tf.constant(1.0))) - 0.8413447) > 1e-5)
IMAGES = tf.random.stateless_normal([6, 8, 8, 2], nn.key(100))
TOKENS = tf.constant(np.random.RandomState(0).randint(1, 11, [6, 6]), tf.int32) * tf.constant(
    [[1, 1, 1, 1, 0, 0]] * 2 + [[1] * 6] * 4
)
LABELS = tf.constant([0, 1, 2, 0, 1, 2])

NETWORKS = {
    "resnet": (ResNet, keras_resnet, IMAGES),
    "transformer": (Transformer, keras_transformer, TOKENS),
    "lstm": (Recurrent, keras_recurrent, TOKENS),
}


def loss_of(logits: Any) -> Any:
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=logits)
    )


def train_pure(module: Any, variables: Any, x: Any) -> list[float]:
    @tf.function
    def step(params, state):
        with tf.GradientTape() as tape:
            tape.watch(params)
            given = {"params": params, **state}
            logits, new = module.apply(given, x, mutable=nn.DenyList("params"))
            loss = loss_of(logits)
        grads = tape.gradient(loss, params)
        # The gradient of an embedding is a set of slices.
        grads = tf.nest.map_structure(tf.convert_to_tensor, grads)
        params = tf.nest.map_structure(lambda p, g: p - RATE * g, params, grads)
        return loss, params, new

    params = variables["params"]
    state = {name: tree for name, tree in variables.items() if name != "params"}
    losses = []
    for _ in range(STEPS):
        loss, params, state = step(params, state)
        losses.append(float(loss))
    assert step.experimental_get_tracing_count() == 1
    return losses


def train_with_optimizer(model: Any, x: Any, traced: bool = True) -> list[float]:
    """The same for a bound module and for a Keras model."""
    optimizer = keras.optimizers.SGD(RATE)
    optimizer.build(model.trainable_variables)

    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(model(x, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
        return loss

    run = tf.function(step) if traced else step
    return [float(run()) for _ in range(STEPS)]


def give_weights(model: keras.Model, variables: Any, places: list[tuple[str, ...]]) -> None:
    """Sets the weights of each Keras layer, in order, from the module at its place."""
    layers = [layer for layer in model.layers if layer.weights]
    for layer, place in zip(layers, places, strict=True):
        for weight in layer.weights:
            if "seed_generator" not in weight.path:
                inside = weight.path.split("/")[1:] or [weight.name]
                weight.assign(find(variables, (*place, *inside)))


def find(variables: Any, path: tuple[str, ...]) -> Any:
    for node in variables.values():
        for part in path:
            node = node.get(part, {})
        if tf.is_tensor(node):
            return node
    raise KeyError(path)


BLOCKS = ("blocks_0", "blocks_1")
PLACES: dict[str, list[tuple[str, ...]]] = {
    "resnet": [
        *(("Conv2D_0",), ("ResidualBlock_0", "Conv2D_0"), ("ResidualBlock_0", "BatchNorm_0")),
        *(("ResidualBlock_0", "Conv2D_1"), ("ResidualBlock_0", "BatchNorm_1")),
        *(("ResidualBlock_1", "Conv2D_0"), ("ResidualBlock_1", "BatchNorm_0")),
        *(("ResidualBlock_1", "Conv2D_1"), ("ResidualBlock_1", "shortcut")),
        *(("ResidualBlock_1", "BatchNorm_1"), ("Dense_0",)),
    ],
    "transformer": [
        *(("tokens",), ()),
        *((b, part) for b in BLOCKS for part in ("attention", "first", "in", "out", "second")),
        ("head",),
    ],
    "lstm": [("Embed_0",), ("LSTM_0",), ("LSTM_1",), ("Dense_0",)],
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_losses_pure_bound_and_in_keras(name: str) -> None:
    make, make_keras, x = NETWORKS[name]
    module = make()
    variables = module.init(nn.key(0), x)
    model = make_keras()
    give_weights(model, variables, PLACES[name])

    pure = train_pure(module, variables, x)
    bound = train_with_optimizer(module.bind(variables), x)
    plain = train_with_optimizer(model, x)
    np.testing.assert_allclose(bound, pure, rtol=1e-4)
    np.testing.assert_allclose(plain, pure, rtol=1e-4)
    assert pure[-1] < pure[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_losses_with_dropout(name: str) -> None:
    make, _, x = NETWORKS[name]
    module, rngs = make(rate=0.3), {"dropout": nn.key(7)}
    variables = module.init(nn.key(0), x)
    traced, eager = (
        train_with_optimizer(module.bind(variables, rngs=rngs), x, how) for how in (True, False)
    )
    np.testing.assert_allclose(traced, eager, rtol=1e-4)

    def first_loss(module: Any) -> float:
        logits, _ = module.apply(variables, x, rngs=rngs, mutable=nn.DenyList("params"))
        return float(loss_of(logits))

    # The first bound call draws what apply draws with the same key.
    np.testing.assert_allclose(eager[0], first_loss(module), rtol=1e-5)
    assert abs(eager[0] - first_loss(make())) > 1e-4


def test_equal_modules_keep_their_weights_in_one_traced_function() -> None:
    module = ResNet()
    first, second = (module.bind(module.init(nn.key(i), IMAGES)) for i in range(2))

    class Holder:
        def __init__(self, model):
            self.model = model

        @tf.function
        def run(self, x):
            return self.model(x, training=False)

    @tf.function
    def both(x):
        return first(x, training=False), second(x, training=False)

    @tf.function
    def given(model, x):
        return model(x, training=False)

    holders = [Holder(model) for model in (first, second)]
    expected = [m(IMAGES, training=False) for m in (first, second)]
    assert bool(tf.reduce_any(expected[0] != expected[1]))
    for found in (
        both(IMAGES),
        [given(m, IMAGES) for m in (first, second)],
        [holder.run(IMAGES) for holder in holders],
    ):
        for a, b in zip(found, expected, strict=True):
            tf.debugging.assert_near(a, b, atol=1e-5)
