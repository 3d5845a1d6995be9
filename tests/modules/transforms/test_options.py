"""Options of transformations: for each method, static arguments, and those that do not exist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises

X = tf.random.stateless_normal([3, 2], nn.key(5))


class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(2)

    def __call__(self, carry, x):
        carry = nn.tanh(self.dense(carry) + x)
        return carry, carry

    def twice(self, x):
        return self.dense(self.dense(x))


SHARED: dict[str, Any] = {"variable_broadcast": "params", "split_rngs": {"params": False}}


def test_each_scanned_method_has_its_own_options() -> None:
    """As Flax Linen's ``methods={"name": dict(...)}``."""
    plain = nn.scan(Net, **SHARED)()
    back = nn.scan(Net, methods={"__call__": {**SHARED, "reverse": True}})()
    mixed = nn.scan(Net, methods={"__call__": {"reverse": True}}, **SHARED)()
    c = tf.zeros([2])
    variables = plain.init(nn.key(0), c, X)
    carry, y = plain.apply(variables, c, tf.reverse(X, [0]))
    for scan in (back, mixed):
        got, ys = scan.apply(variables, c, X)
        np.testing.assert_allclose(got, carry, atol=1e-6)
        np.testing.assert_allclose(ys, tf.reverse(y, [0]), atol=1e-6)


def test_each_mapped_method_has_its_own_variable_axes() -> None:
    own = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
    members = nn.vmap(Net, methods={"twice": {**own, "in_axes": None, "axis_size": 4}})()
    variables = members.init(nn.key(0), X, method="twice")
    assert variables["params"]["dense"]["kernel"].shape == (4, 2, 2)
    y = members.apply(variables, X, method="twice")
    for i in range(4):
        one = {"params": {"dense": {n: v[i] for n, v in variables["params"]["dense"].items()}}}
        np.testing.assert_allclose(y[i], Net().apply(one, X, method="twice"), atol=1e-6)


def test_other_transformations_take_options_for_each_method() -> None:
    variables = Net().init(nn.key(0), X, method="twice")
    want = Net().apply(variables, X, method="twice")
    for transformed in (
        nn.jit(Net, methods={"twice": {"jit_compile": False}}),
        nn.remat(Net, methods={"twice": {"policy": lambda module, method: True}}),
        nn.map_variables(Net, methods={"twice": {"trans_in_fn": lambda tree: tree}}),
    ):
        got = transformed().apply(variables, X, method="twice")
        np.testing.assert_allclose(got, want, atol=1e-6)
    doubled = nn.map_variables(
        Net,
        methods={"twice": {"trans_in_fn": lambda t: tf.nest.map_structure(lambda v: 0.0 * v, t)}},
    )
    assert not np.any(doubled().apply(variables, X, method="twice"))


@pytest.mark.parametrize("transform", [nn.vmap, nn.scan, nn.jit, nn.remat, nn.map_variables])
def test_an_option_that_there_is_not_is_named(transform: Any) -> None:
    with pytest.raises(nn.TransformError, match="'axis_nam'"):
        transform(Net, methods={"twice": {"axis_nam": 3}})
    with pytest.raises(nn.TransformError, match="'3'"):
        transform(Net, methods={"twice": 3})


class Powers(nn.Module):
    traced: list[Any]

    def power(self, x, n, *, negative=False):
        self.traced.append((n, negative))
        return -(x**n) if negative else x**n


def test_static_arguments_of_jit() -> None:
    traced: list[Any] = []
    cls = nn.jit(Powers, methods=["power"], static_argnums=2, static_argnames="negative")
    module = cls(traced)
    x = tf.constant(3.0)
    for n, negative in ((2, False), (2, False), (3, False), (2, True)):
        want = (-1.0 if negative else 1.0) * 3.0**n
        assert float(module.apply({}, x, n, negative=negative, method="power")) == want
    assert sorted(set(traced)) == [(2, False), (2, True), (3, False)]
    with raises(nn.TransformError):
        module.apply({}, x, tf.constant(2.0), method="power")
    with raises(nn.TransformError):
        module.apply({}, x, 2, negative=np.ones(2), method="power")


def test_an_option_that_jit_has_not_is_named() -> None:
    with pytest.raises(nn.TransformError, match="'donate_argnums'"):
        nn.jit(Net, donate_argnums=(0,))


def test_fold_rngs_changes_no_draw() -> None:
    class Draws(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(2)(x) + tf.random.stateless_normal([2], self.make_rng("noise"))

    rngs = {"params": nn.key(0), "noise": nn.key(1)}
    want = Draws().init_with_output(rngs, X)
    for cls in (nn.fold_rngs(Draws), nn.jit(nn.fold_rngs(Draws)), nn.fold_rngs(nn.jit(Draws))):
        tf.nest.map_structure(tf.debugging.assert_equal, cls().init_with_output(rngs, X), want)
        got = cls().apply(want[1], X, rngs={"noise": nn.key(1)})
        np.testing.assert_allclose(got, want[0], atol=1e-6)
    with pytest.raises(nn.FilterError):
        nn.fold_rngs(Draws, rngs=3)
