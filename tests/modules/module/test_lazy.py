"""Runs that compute nothing: lazy_init, module_paths, tabulate with a depth."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises


class Net(nn.Module):
    width: int = 4

    @nn.compact
    def __call__(self, x, training=False):
        scale = self.param("scale", nn.initializers.ones, x.shape[-1:])
        x = nn.Dense(self.width)(x * scale)
        x = nn.BatchNorm()(x, training=training)
        if tf.reduce_sum(x) > 0.0:
            x = -x
        return nn.Dense(2, name="out")(nn.Dropout(0.5)(x))


def same(a: Any, b: Any) -> None:
    tf.nest.assert_same_structure(a, b)
    for x, y in zip(tf.nest.flatten(a), tf.nest.flatten(b), strict=True):
        tf.debugging.assert_equal(x, y)


def test_lazy_init_gives_what_init_gives() -> None:
    spec = tf.TensorSpec([None, 3])
    lazy = Net().lazy_init(nn.key(0), spec, training=True)
    same(lazy, Net().init(nn.key(0), tf.ones([2, 3])))
    same(lazy, Net().lazy_init(nn.key(0), tf.ones([2, 3])))
    assert all(hasattr(leaf, "numpy") for leaf in tf.nest.flatten(lazy))


def test_lazy_init_takes_inputs_of_any_size() -> None:
    variables = Net().lazy_init(nn.key(0), tf.TensorSpec([2**30, 128]))
    assert variables["params"]["Dense_0"]["kernel"].shape == (128, 4)


def test_lazy_init_finds_structures_and_keywords() -> None:
    class Both(nn.Module):
        @nn.compact
        def __call__(self, batch, *, mask):
            return nn.Dense(1)(batch["a"][0] * mask)

    spec = tf.TensorSpec([5, 3])
    variables = Both().lazy_init(nn.key(0), {"a": [spec]}, mask=spec)
    assert variables["params"]["Dense_0"]["kernel"].shape == (3, 1)


class FromInput(nn.Module):
    how: str

    @nn.compact
    def __call__(self, x):
        if self.how == "param":
            return self.param("w", lambda key: x + 1.0)
        seen = self.variable("stats", "seen", lambda: tf.zeros([]))
        seen.value = tf.reduce_sum(x) if self.how == "write" else seen.value + 1.0
        return x


@pytest.mark.parametrize("how", ["param", "write"])
def test_a_value_that_depends_on_an_input_is_named(how: str) -> None:
    with raises(nn.LazyInitError):
        FromInput(how).lazy_init(nn.key(0), tf.TensorSpec([3]))


def test_a_known_value_that_is_written_is_kept() -> None:
    class Written(nn.Module):
        @nn.compact
        def __call__(self, x):
            seen = self.variable("stats", "seen", lambda: tf.zeros([]))
            seen.value = tf.fill([2], 3.0)
            return x

    made = Written().lazy_init(nn.key(0), tf.TensorSpec([3]))
    tf.debugging.assert_equal(made["stats"]["seen"], tf.constant([3.0, 3.0]))


def test_other_errors_keep_their_class() -> None:
    class Wrong(nn.Module):
        @nn.compact
        def __call__(self, x):
            return self.param("w", lambda key: {}["missing"])

    with pytest.raises(KeyError):
        Wrong().lazy_init(nn.key(0), tf.TensorSpec([3]))


def test_module_paths() -> None:
    found = Net().module_paths(nn.key(0), tf.TensorSpec([None, 3]))
    assert list(found) == ["", "Dense_0", "BatchNorm_0", "out", "Dropout_0"]
    assert found[""] == Net()
    assert found["Dense_0"] == nn.Dense(4)
    assert found["Dense_0"].init(nn.key(0), tf.ones([1, 2]))["params"]["kernel"].shape == (2, 4)


def test_module_paths_of_a_bound_module() -> None:
    bound = Net().bind(Net().init(nn.key(0), tf.ones([1, 3])))
    bound(tf.ones([1, 3]))
    assert set(bound.module_paths()) == {"", "Dense_0", "BatchNorm_0", "Dropout_0", "out"}


def test_tabulate_computes_nothing_and_stops_at_a_depth() -> None:
    class Deep(nn.Module):
        @nn.compact
        def __call__(self, x):
            return Net(name="net")(nn.Dense(3)(x))

    whole = Deep().tabulate(nn.key(0), tf.TensorSpec([2**30, 3]))
    assert "net/Dense_0" in whole
    short = Deep().tabulate(nn.key(0), tf.TensorSpec([2**30, 3]), depth=1)
    assert "net/Dense_0" not in short
    assert "Dense_0/kernel: float32[3, 4]" in short
    assert whole.splitlines()[-1] == short.splitlines()[-1]


def test_lazy_init_of_transformed_modules() -> None:
    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(3)(x * self.param("w", nn.initializers.normal(), [])), None

    each = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
    layers = nn.scan(nn.remat(Layer), length=2, **each)
    members = nn.vmap(layers, in_axes=None, axis_size=4, **each)()
    lazy = members.lazy_init(nn.key(0), tf.TensorSpec([None, 3]))
    assert lazy["params"]["Dense_0"]["kernel"].shape == (4, 2, 3, 3)
    same(lazy, members.init(nn.key(0), tf.ones([2, 3])))


def test_an_error_of_a_lazy_init_is_reported_without_the_stack_of_autograph() -> None:
    class FromData(nn.Module):
        @nn.compact
        def __call__(self, x):
            return x - self.variable("state", "mean", lambda: tf.reduce_mean(x)).value

    with raises(nn.LazyInitError):
        FromData().lazy_init({}, tf.TensorSpec([2]))
