"""Keras layers with state that is no ordinary weight: recurrent states, vocabularies, own names."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn import nn
from tests.harness.messages import raises

S = tf.random.stateless_normal([4, 6, 5], [1, 2])
TEXTS = ["the cat sat", "the dog"]


def stateful_pair(make: Any) -> tuple[Any, Any, Any]:
    """A Keras layer, a module of the same weights, and its variables."""
    layer = make()
    layer(S)
    layer.reset_state()
    module = nn.Keras(layer)
    return layer, module, module.init(nn.key(0), S)


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.layers.LSTM(3, stateful=True),
        lambda: keras.layers.Bidirectional(keras.layers.GRU(3, stateful=True)),
    ],
)
def test_a_stateful_layer_goes_on_where_it_was(make: Any) -> None:
    layer, module, variables = stateful_pair(make)
    first, second = layer(S), layer(S)
    got, updated = module.apply(variables, S, mutable=["state"])
    tf.debugging.assert_near(got, first)
    tf.debugging.assert_near(module.apply({**variables, **updated}, S, mutable="state")[0], second)
    bound = module.bind(variables)
    tf.debugging.assert_near(bound(S), first)
    tf.debugging.assert_near(tf.function(bound)(S), second)
    assert np.abs(first - second).max() > 1e-3


def test_a_generated_stateful_layer_has_state() -> None:
    module = nn.LSTM(3, stateful=True)
    variables = module.init(nn.key(0), S)
    assert {k: v.shape for k, v in variables["state"].items()} == {
        "rnn_state": [4, 3],
        "rnn_state_1": [4, 3],
    }
    one, updated = module.apply(variables, S, mutable=["state"])
    two = module.apply({**variables, **updated}, S, mutable=["state"])[0]
    assert np.abs(one - two).max() > 1e-3
    with raises(nn.ImmutableCollectionError):
        module.apply(variables, S)


def text_layer() -> Any:
    layer = keras.layers.TextVectorization()
    layer.adapt(TEXTS)
    return layer


@pytest.mark.parametrize("traced", [False, True])
def test_an_adapted_vocabulary_is_kept(traced: bool) -> None:
    layer = text_layer()
    module = nn.Keras(layer)
    bound = module.bind(module.init(nn.key(0), tf.constant(TEXTS)))
    call = tf.function(bound) if traced else bound
    tf.debugging.assert_equal(call(tf.constant(TEXTS)), layer(tf.constant(TEXTS)))


def test_two_vocabularies_do_not_mix() -> None:
    made = []
    for words in (["a", "b"], ["b", "a"]):
        layer = keras.layers.StringLookup()
        layer.adapt(words + words[:1])
        module = nn.Keras(layer)
        made.append(module.bind(module.init(nn.key(0), tf.constant(words))))
    letters = tf.constant(["a", "b"])
    assert made[0](letters).numpy().tolist() == made[1](letters).numpy().tolist()[::-1]


def test_a_vocabulary_inside_a_model_that_is_not_built_is_kept() -> None:
    model = keras.Sequential([text_layer(), keras.layers.Embedding(9, 3)])
    module = nn.Keras(model)
    variables = module.init(nn.key(0), tf.constant(TEXTS))
    ids = model.layers[0](tf.constant(TEXTS))
    expected = tf.gather(variables["params"]["embedding"]["embeddings"], ids)
    tf.debugging.assert_near(module.apply(variables, tf.constant(TEXTS)), expected)
    assert not model.built


class Words(nn.Module):
    """Tables of its own, of a Keras layer, and of one that is made inline."""

    layer: Any

    def setup(self) -> None:
        pairs = tf.lookup.KeyValueTensorInitializer(["the", "cat"], [7, 8])
        self.table = tf.lookup.StaticHashTable(pairs, -1)
        self.given = nn.Keras(self.layer)

    @nn.compact
    def __call__(self, texts: Any) -> Any:
        make = lambda: keras.layers.StringLookup(vocabulary=["sat", "dog"])  # noqa: E731
        words = tf.strings.split(texts).to_tensor("")
        return self.given(texts), self.table.lookup(words), nn.Keras(make)(words)


def test_tables_of_modules_and_of_plain_keras_layers_are_exported(tmp_path: Any) -> None:
    bound, layer = Words(text_layer()).bind({}), text_layer()
    texts, spec = tf.constant(TEXTS), [tf.TensorSpec([None], tf.string)]
    functions = {
        "words": nbfn.function(bound, input_signature=spec),
        "plain": nbfn.function(lambda texts: layer(texts), input_signature=spec),
    }
    expected = {"words": functions["words"](texts), "plain": [functions["plain"](texts)]}
    nbfn.export(tmp_path / "model", list(functions.values()), signatures=functions)
    signatures = tf.saved_model.load(str(tmp_path / "model")).signatures
    for name, outputs in expected.items():
        got = signatures[name](texts)
        for one, other in zip((got[k] for k in sorted(got)), outputs, strict=True):
            tf.debugging.assert_equal(one, other)


def test_tables_of_modules_are_saved_by_tensorflow(tmp_path: Any) -> None:
    texts = tf.constant(TEXTS)
    bound = Words(text_layer()).bind({})
    expected = bound(texts)
    serve = tf.function(lambda t: bound(t), input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(bound, str(tmp_path / "model"), signatures=serve.get_concrete_function())
    got = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"](texts)
    for one, other in zip((got[k] for k in sorted(got)), expected, strict=True):
        tf.debugging.assert_equal(one, other)


def test_a_built_layer_in_a_model_that_is_not_built_keeps_its_weights() -> None:
    trained = keras.layers.Dense(3)
    trained.build((None, 5))
    model = keras.Sequential([trained, keras.layers.Dense(2)])
    variables = nn.Keras(model).init(nn.key(0), S)
    tf.debugging.assert_equal(variables["params"]["dense"]["kernel"], trained.kernel.value)
    assert not model.built
    assert not model.layers[1].built
    assert model(S).shape == [4, 6, 2]  # the user's model can still be built


def test_a_layer_that_is_partly_built_is_refused() -> None:
    class Partly(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = keras.layers.Dense(3)
            self.inner.build((None, 5))
            self.outer = keras.layers.Dense(2)

        def call(self, x: Any) -> Any:
            return self.outer(self.inner(x))

    with raises(nn.PartError):
        nn.Keras(Partly()).init(nn.key(0), S)


class Cell(keras.layers.Layer):
    """A recurrent cell whose weights have no names."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.units = self.state_size = units

    def build(self, shape: Any) -> None:
        self.kernel = self.add_weight(shape=(shape[-1], self.units))
        self.recurrent = self.add_weight(shape=(self.units, self.units))

    def call(self, x: Any, states: Any) -> Any:
        output = tf.matmul(x, self.kernel) + tf.matmul(states[0], self.recurrent)
        return output, [output]


def test_weights_without_names_are_numbered_by_the_module_and_not_by_keras() -> None:
    def names() -> Any:
        variables = nn.Keras(lambda: keras.layers.RNN(Cell(4))).init(nn.key(0), S)
        return {k: v.shape.as_list() for k, v in variables["params"]["cell"].items()}

    assert names() == names() == {"variable": [5, 4], "variable_1": [4, 4]}


@pytest.mark.parametrize("called_first", [True, False])
def test_constraints_of_weights_are_applied_by_optimizers(called_first: bool) -> None:
    x = tf.ones([2, 3])
    module = nn.Sequential([nn.Dense(4, kernel_constraint="non_neg"), nn.Dense(1)])
    bound = module.bind(module.init(nn.key(0), x))
    optimizer = keras.optimizers.SGD(10.0)
    if called_first:
        bound(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(bound(x))
    optimizer.apply(tape.gradient(loss, bound.trainable_variables), bound.trainable_variables)
    assert float(tf.reduce_min(bound["dense/kernel"])) == 0.0
    assert float(tf.reduce_min(bound["dense_1/kernel"])) < 0.0


@pytest.mark.parametrize("order", ["nchv", "hwc", 3])
def test_an_unknown_data_format_is_refused(order: Any) -> None:
    with raises(nn.DataFormatError):
        nn.Conv2D(4, 3, data_format=order).init(nn.key(0), tf.ones([1, 8, 8, 3]))
