"""What someone from Flax looks for: DenseGeneral, attend, names of initializers, keywords."""

from __future__ import annotations

import functools
import re
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbfn import NbfnError, nn
from nbfn.modules.layers import flax_names
from tests.harness.messages import raises

X = tf.random.stateless_normal([2, 3, 4, 5], nn.key(1))


@pytest.mark.parametrize(
    ("options", "equation", "kernel", "bias"),
    [
        ({"features": 7}, "abcd,de->abce", [5, 7], [7]),
        ({"features": (6, 7), "axis": (-2, -1)}, "abcd,cdef->abef", [4, 5, 6, 7], [6, 7]),
        ({"features": 7, "axis": (1, -1)}, "abcd,bde->ace", [3, 5, 7], [7]),
        ({"features": 7, "axis": 0}, "abcd,ae->bcde", [2, 7], [7]),
        ({"features": 7, "batch_dims": (0,)}, "abcd,ade->abce", [2, 5, 7], [2, 1, 1, 7]),
    ],
)
def test_dense_general_maps_axes(options: Any, equation: str, kernel: Any, bias: Any) -> None:
    layer = nn.DenseGeneral(bias_initializer="ones", **options)
    y, variables = layer.init_with_output(nn.key(0), X)
    params = variables["params"]
    assert sorted(params) == ["bias", "kernel"]
    assert params["kernel"].shape == kernel
    assert tf.size(params["bias"]) == np.prod(bias)
    want = tf.einsum(equation, X, params["kernel"]) + tf.reshape(params["bias"], bias)
    np.testing.assert_allclose(y, want, atol=1e-5)
    model = layer.bind(variables)
    np.testing.assert_allclose(tf.function(model)(X), want, atol=1e-5)
    assert len(model.trainable_variables) == 2


def test_dense_general_of_one_example_and_without_bias() -> None:
    layer = nn.DenseGeneral(7, use_bias=False, activation="relu")
    y, variables = layer.init_with_output(nn.key(0), X[0, 0, 0])
    assert list(variables["params"]) == ["kernel"]
    np.testing.assert_allclose(y, nn.relu(X @ variables["params"]["kernel"])[0, 0, 0], atol=1e-5)


@pytest.mark.parametrize("options", [{"axis": 4}, {"axis": (-1, -5)}, {"batch_dims": (1,)}])
def test_dense_general_refuses_axes_that_there_are_not(options: Any) -> None:
    with raises(nn.PartError):
        nn.DenseGeneral(7, **options).init(nn.key(0), X)


def test_dense_general_refuses_an_unknown_rank() -> None:
    layer = nn.DenseGeneral(7)
    bound = layer.bind(layer.init(nn.key(0), X))
    with raises(nn.PartError):
        tf.function(bound).get_concrete_function(tf.TensorSpec(None))


class Tied(nn.Module):
    def setup(self):
        self.embed = nn.Embed(10, 4)

    def __call__(self, tokens):
        return self.embed.attend(self.embed(tokens))


def test_an_embedding_attends() -> None:
    tokens = tf.constant([[1, 2, 3]])
    logits, variables = Tied().init_with_output(nn.key(0), tokens)
    table = variables["params"]["embed"]["embeddings"]
    np.testing.assert_allclose(logits, tf.gather(table, tokens) @ tf.transpose(table), atol=1e-6)
    model = Tied().bind(variables)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model.embed.attend(tf.ones([4])))
    np.testing.assert_allclose(tape.gradient(loss, model.trainable_variables)[0], np.ones([10, 4]))


def test_attend_alone_makes_the_embeddings() -> None:
    query = tf.ones([2, 4])
    made = nn.Embed(10, 4).init(nn.key(0), query, method="attend")
    tf.debugging.assert_equal(
        made["params"]["embeddings"],
        nn.Embed(10, 4).init(nn.key(0), tf.constant([1]))["params"]["embeddings"],
    )
    with raises(nn.CollectionNotFoundError):
        nn.Embed(10, 4).apply({}, query, method="attend")


def test_names_of_flax_for_the_same_things() -> None:
    assert nn.checkpoint is nn.remat
    assert nn.zeros_init()(nn.key(0), [2]).numpy().tolist() == [0.0, 0.0]
    assert nn.ones_init()(nn.key(0), [2]).numpy().tolist() == [1.0, 1.0]
    for flax, own in (("xavier", "glorot"), ("kaiming", "he")):
        for kind in ("normal", "uniform"):
            made = getattr(nn.initializers, f"{flax}_{kind}")()
            assert made == getattr(nn.initializers, f"{own}_{kind}")()


@pytest.mark.parametrize(
    ("make", "reported"),
    [
        (lambda: nn.Dense(3, kernel_init=nn.zeros_init()), "kernel_initializer="),
        (lambda: nn.Dense(3, bias_init=nn.zeros_init()), "bias_initializer="),
        (lambda: nn.Dense(3, param_dtype=tf.float32), "dtype="),
        (lambda: nn.Embed(3, 4, embedding_init=None), "embeddings_initializer="),
        (lambda: nn.BatchNorm(scale_init=None), "gamma_initializer="),
        (lambda: nn.BatchNorm(use_running_average=True), "training="),
        (lambda: nn.Dropout(0.5, deterministic=True), "training="),
        (lambda: nn.Conv2D(features=3, kernel_size=3), "filters="),
        (lambda: nn.Conv2D(3, 3, feature_group_count=3), "groups="),
    ],
)
def test_a_keyword_of_flax_names_that_of_keras(make: Any, reported: str) -> None:
    with pytest.raises(nn.ArgumentError, match=rf" {re.escape(reported)}"):
        make()


def test_a_keyword_of_flax_in_a_call_names_that_of_keras() -> None:
    x = tf.ones([2, 3])
    for module, name in (
        (nn.Dropout(0.5), "deterministic"),
        (nn.BatchNorm(), "use_running_average"),
    ):
        variables = module.init(nn.key(0), x)  # so that the layer is built
        for call in (module.apply, module.bind(variables), tf.function(module.bind(variables))):
            args = (variables, x) if call == module.apply else (x,)
            with raises(TypeError):
                call(*args, **{name: True})


class Net(nn.Module):
    width: int
    depth: int = 2


def test_an_unknown_argument_of_any_module_suggests_a_near_one() -> None:
    with raises(nn.ArgumentError):
        Net(widht=3)
    with pytest.raises(nn.ArgumentError, match=r"'kernel_initializer'\?"):
        nn.Dense(3, kernel_initialiser="zeros")
    assert issubclass(nn.ArgumentError, TypeError)
    assert issubclass(nn.ArgumentError, NbfnError)
    with pytest.raises(TypeError, match="'width'"):
        Net()


def test_a_default_that_is_a_function_is_the_default_of_clones() -> None:
    class Applies(nn.Module):
        act: Any = lambda x: x + 1.0

        def __post_init__(self):
            super().__post_init__()

        def __call__(self, x):
            return self.act(x)

    assert float(Applies().clone().apply({}, tf.constant(1.0))) == 2.0


@pytest.mark.parametrize("name", ["Conv", "PReLU", "Densee", "zzz"])
def test_a_name_that_is_not_there(name: str) -> None:
    with raises(AttributeError):
        getattr(nn, name)


def test_what_flax_calls_otherwise_is_there() -> None:
    for there in flax_names._LAYERS.values():
        for path in re.findall(r"(?:nn|tf|keras)[.\w]+", there):
            module, *parts = path.split(".")
            functools.reduce(getattr, parts, {"nn": nn, "tf": tf, "keras": keras}[module])
