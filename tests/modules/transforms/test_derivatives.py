"""nn.vjp, nn.jvp, nn.grad, nn.value_and_grad and nn.custom_vjp, against GradientTape."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import WAYS, called

X = tf.constant([[1.0, 2.0], [3.0, -1.0]])


class Poly(nn.Module):
    """A scalar function of an input, with a parameter and state."""

    @nn.compact
    def __call__(self, x):
        w = self.param("w", nn.initializers.constant(3.0), [2])
        count = self.variable("counts", "calls", lambda: tf.zeros([]))
        if not self.is_initializing():
            count.value += 1.0
        return tf.reduce_sum(w * x**2)


class Outer(nn.Module):
    how: Any

    @nn.compact
    def __call__(self, x):
        poly = Poly(name="poly")
        if self.is_initializing():
            return poly(x)
        return self.how(poly, x)


@pytest.fixture
def variables() -> Any:
    return Outer(None).init(nn.key(0), X)


def run(how: Any, variables: Any, mode: str) -> Any:
    """The result of `how(poly, X)`, and how often poly was called."""
    result, state = called(mode, Outer(how), variables, X, mutable=["counts"])
    return result, float(state["counts"]["poly"]["calls"])


MODES = pytest.mark.parametrize("mode", WAYS)


@MODES
def test_vjp(variables: Any, mode: str) -> None:
    def how(poly, x):
        value, backward = nn.vjp(lambda m, x: m(x), poly, x)
        return value, *backward(2.0), *backward(1.0)

    (value, by_w, by_x, by_w_again, by_x_again), calls = run(how, variables, mode)
    assert float(value) == 45.0
    tf.debugging.assert_near(by_w["params"]["w"], 2.0 * tf.reduce_sum(X**2, 0))
    tf.debugging.assert_near(by_x, 2.0 * 2.0 * 3.0 * X)
    tf.debugging.assert_near(by_w_again["params"]["w"] * 2.0, by_w["params"]["w"])
    tf.debugging.assert_near(by_x_again * 2.0, by_x)
    assert calls == 1.0


@MODES
def test_grad_and_value_and_grad(variables: Any, mode: str) -> None:
    def how(poly, x):
        (alone,) = nn.grad(lambda m, x: m(x), poly, x)
        value, (first, second) = nn.value_and_grad(lambda m, x, y: m(x) * y, poly, x, 2.0)
        (both, aux), (third,) = nn.value_and_grad(lambda m, x: (m(x), x), poly, x, has_aux=True)
        return alone, value, first, second, both, aux, third

    (alone, value, first, second, both, aux, third), calls = run(how, variables, mode)
    tf.debugging.assert_near(alone, 6.0 * X)
    tf.debugging.assert_near(first, 12.0 * X)
    tf.debugging.assert_near(third, 6.0 * X)
    tf.debugging.assert_near(aux, X)
    assert (float(value), float(second), float(both), calls) == (90.0, 45.0, 45.0, 3.0)


@MODES
def test_jvp(variables: Any, mode: str) -> None:
    direction = tf.constant([[1.0, 0.0], [0.0, 0.0]])

    def how(poly, x):
        y, change = nn.jvp(lambda m, x: m(x), poly, (x,), (direction,))
        w = {"params": {"w": tf.constant([0.0, 1.0])}}
        _, both = nn.jvp(lambda m, x: m(x), poly, (x,), (direction,), variable_tangents=w)
        return y, change, both

    (y, change, both), _ = run(how, variables, mode)
    assert (float(y), float(change), float(both)) == (45.0, 6.0, 6.0 + 5.0)


def test_an_outer_tape_sees_through(variables: Any) -> None:
    """Gradients of a gradient, with respect to the parameter of a bound module."""
    bound = Outer(lambda poly, x: nn.grad(lambda m, x: m(x), poly, x)[0]).bind(variables)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(bound(X))
    (by_w,) = tape.gradient(loss, bound.trainable_variables)
    tf.debugging.assert_near(by_w, 2.0 * tf.reduce_sum(X, 0))


def doubled(m, x):
    return m(x)


def forward(m, x):
    return nn.vjp(doubled, m, x)


def backward(vjp_fn, cotangent):
    variables, *inputs = vjp_fn(cotangent)
    return (tf.nest.map_structure(tf.sign, variables), *(i * 10.0 for i in inputs))


@MODES
def test_custom_vjp(variables: Any, mode: str) -> None:
    custom = nn.custom_vjp(doubled, forward, backward)
    if mode.startswith("bound"):
        bound = Outer(custom).bind(variables)
        parameters = bound.trainable_variables

        def compute(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = bound(x)
            return y, *tape.gradient(y, [parameters[0], x])

    else:

        def compute(x):
            params = variables["params"]
            with tf.GradientTape() as tape:
                tape.watch([x, params])
                y, _ = Outer(custom).apply({**variables, "params": params}, x, mutable=["counts"])
            return y, *tape.gradient(y, [params["poly"]["w"], x])

    y, by_w, by_x = (tf.function(compute) if "traced" in mode else compute)(X)
    assert float(y) == 45.0
    tf.debugging.assert_near(by_w, tf.ones([2]))
    tf.debugging.assert_near(by_x, 60.0 * X)


def test_custom_vjp_makes_variables_as_the_function_does(variables: Any) -> None:
    class Made(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.custom_vjp(doubled, forward, backward)(Poly(name="poly"), x)

    tf.nest.map_structure(tf.debugging.assert_equal, Made().init(nn.key(0), X), variables)


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(lambda m, x: nn.grad(lambda m: m(x), m), id="no input"),
        pytest.param(lambda m, x: nn.grad(lambda m, x: x, m, x), id="no scalar"),
        pytest.param(lambda m, x: nn.vjp(lambda m, x: x, m, x, has_aux=True), id="no aux"),
        pytest.param(lambda m, x: nn.grad(lambda _, x: m(x), m, x), id="outside"),
        pytest.param(
            lambda m, x: nn.jvp(
                lambda m, x: m(x), m, (x,), (x,), variable_tangents={"params": {"v": x}}
            ),
            id="no variable",
        ),
        pytest.param(lambda m, x: nn.vjp(lambda m, x: m(x), tf.identity, x), id="no module"),
        pytest.param(
            lambda m, x: nn.custom_vjp(doubled, lambda m, x: x, backward)(m, x), id="forward_fn"
        ),
    ],
)
def test_misuse(variables: Any, how: Any) -> None:
    with raises(nn.TransformError):
        Outer(how).apply(variables, X, mutable=["counts"])


@pytest.mark.parametrize(
    "back",
    [
        pytest.param(lambda vjp_fn, ct: ({}, X), id="variable"),
        pytest.param(lambda vjp_fn, ct: ({"params": {"w": tf.ones([2])}},), id="input"),
    ],
)
def test_wrong_gradients_are_refused(variables: Any, back: Any) -> None:
    bound = Outer(nn.custom_vjp(doubled, forward, back)).bind(variables)
    with tf.GradientTape() as tape:
        y = bound(X)
    with raises(nn.TransformError):
        tape.gradient(y, bound.trainable_variables)
