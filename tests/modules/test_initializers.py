"""Initializers and activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises

I = nn.initializers  # noqa: E741
SHAPE = (3, 3, 50, 100)  # 450 inputs, 900 outputs


@pytest.mark.parametrize(
    ("init", "stddev"),
    [
        (I.normal(0.5), 0.5),
        (I.truncated_normal(0.5), 0.5 * 0.8796),
        (I.uniform(0.6), 0.6 / math.sqrt(12)),
        (I.lecun_normal(), math.sqrt(1 / 450)),
        (I.lecun_uniform(), math.sqrt(1 / 450)),
        (I.glorot_normal(), math.sqrt(2 / 1350)),
        (I.glorot_uniform(), math.sqrt(2 / 1350)),
        (I.he_normal(), math.sqrt(2 / 450)),
        (I.he_uniform(), math.sqrt(2 / 450)),
        (I.variance_scaling(3.0, "fan_out", "normal"), math.sqrt(3 / 900)),
    ],
    ids=repr,
)
def test_spread(init: Any, stddev: float) -> None:
    value = init(nn.key(0), SHAPE)
    assert value.shape == SHAPE
    assert value.dtype == tf.float32
    assert np.std(value) == pytest.approx(stddev, rel=0.02)
    tf.debugging.assert_equal(value, init(nn.key(0), SHAPE))
    assert not np.allclose(value, init(nn.key(1), SHAPE))
    assert init(nn.key(0), [2, 2], tf.float64).dtype == tf.float64


def test_constants() -> None:
    assert I.zeros_init()(nn.key(0), (2,)).numpy().tolist() == [0.0, 0.0]
    assert I.ones(nn.key(0), (2,), tf.int32).numpy().tolist() == [1, 1]
    assert I.constant(2.5)(nn.key(0), ()).numpy() == 2.5


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (2, 4, 3)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    value = tf.reshape(I.orthogonal(2.0)(nn.key(0), shape), [-1, shape[-1]]).numpy()
    gram = value @ value.T if value.shape[0] <= value.shape[1] else value.T @ value
    np.testing.assert_allclose(gram, 4.0 * np.eye(len(gram)), atol=1e-5)
    with raises(ValueError):
        I.orthogonal()(nn.key(0), (3,))


def test_bad_settings_are_refused_at_once() -> None:
    with raises(ValueError):
        I.variance_scaling(1.0, "fan", "normal")
    with raises(ValueError):
        I.variance_scaling(1.0, "fan_in", "cauchy")


def test_equal_settings_are_equal() -> None:
    assert I.normal(0.1) == I.normal(0.1) != I.normal(0.2)
    assert nn.Dense(2, kernel_initializer=I.normal(0.1)) == nn.Dense(
        2, kernel_initializer=I.normal(0.1)
    )
    assert repr(I.normal(0.1)) == "normal(stddev=0.1)"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("relu", 1.0), ("relu6", 1.0), ("leaky_relu", 1.0), ("elu", 1.0), ("celu", 1.0),
        ("selu", 1.0507), ("gelu", 0.8412), ("silu", 0.7311), ("swish", 0.7311),
        ("tanh", 0.7616), ("sigmoid", 0.7311), ("log_sigmoid", -0.3133), ("softplus", 1.3133),
        ("soft_sign", 0.5), ("hard_sigmoid", 0.6667), ("hard_swish", 0.6667), ("hard_tanh", 1.0),
        ("softmax", 0.8808), ("log_softmax", -0.1269),
    ],
)  # fmt: skip
def test_activations(name: str, value: float) -> None:
    y = getattr(nn, name)(tf.constant([1.0, -1.0]))
    assert float(y[0]) == pytest.approx(value, abs=2e-4)


def test_defaults_and_names_of_arguments_are_those_of_flax() -> None:
    x = tf.constant([-1.0])
    assert float(nn.leaky_relu(x)[0]) == pytest.approx(-0.01)
    assert float(nn.leaky_relu(x, negative_slope=0.3)[0]) == pytest.approx(-0.3)
    assert float(nn.elu(x, 0.5)[0]) == pytest.approx(-0.3161, abs=1e-4)
    assert float(nn.elu(x, alpha=0.5)[0]) == pytest.approx(-0.3161, abs=1e-4)


def test_glu() -> None:
    assert float(nn.glu(tf.constant([1.0, -1.0]))[0]) == pytest.approx(0.2689, abs=1e-4)
