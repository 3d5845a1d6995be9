"""Python control flow on tensors inside transformed functions, as AutoGraph converts it."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn

X = tf.constant([[1.0, -2.0, 3.0]])


class Halving(nn.Module):
    """Data-dependent `if`, `while` and `for`, in the method and in what it calls."""

    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones, [])
        turns = 0.0
        while tf.reduce_sum(tf.abs(x)) > 2.0:
            x = x / 2.0
            turns += 1.0
        for i in tf.range(3):
            if i == 1:
                continue
            x = x + tf.cast(i, x.dtype)
        return scale * self.signed(x) + turns

    def signed(self, x):
        if tf.reduce_sum(x) > 0.0:
            return x
        else:
            return -x


class Step(nn.Module):
    @nn.compact
    def __call__(self, carry, x):
        y = Halving()(x)
        if tf.reduce_sum(y) > 1.0:
            carry = carry + 1.0
        return carry, y


def sum_of(m, x):
    return tf.reduce_sum(m(x))


def forward(m, x):
    y, residual = nn.vjp(sum_of, m, x)
    if y > 0.0:
        y = y + 0.0
    return y, residual


def backward(residual, g):
    of_variables, of_x = residual(g)
    if tf.reduce_sum(of_x) > 100.0:
        of_x = tf.zeros_like(of_x)
    return of_variables, of_x


# Functions with names: AutoGraph cannot tell several lambdas on one line apart.
def call(m, x):
    return m(x)


def same(m, x):
    return x


def step(m, carry):
    return carry[0] + 1, m(carry[1])


def once(m, carry):
    return carry[0] < 1


FORMS: dict[str, Any] = {
    "jit": nn.jit(call),
    "remat": nn.remat(call),
    "vmap": nn.vmap(call, {"params": None}, in_axes=None, out_axes=None, axis_size=2),
    "map_variables": nn.map_variables(call),
    "cond": lambda m, x: nn.cond(x[0, 0] > 0.0, call, same, m, x),
    "switch": lambda m, x: nn.switch(tf.cast(x[0, 0], tf.int32), [same, call], m, x),
    "while_loop": lambda m, x: nn.while_loop(once, step, m, (0, x))[1],
    "vjp": lambda m, x: nn.vjp(call, m, x)[0],
    "jvp": lambda m, x: nn.jvp(call, m, (x,), (tf.ones_like(x),))[0],
    "nested": nn.remat(nn.jit(nn.remat(call))),
}


class Outer(nn.Module):
    form: str

    @nn.compact
    def __call__(self, x):
        inner = Halving(name="inner")
        if self.is_initializing():
            return inner(x)
        return FORMS[self.form](inner, x)


@pytest.mark.parametrize("how", ["apply", "bound"])
@pytest.mark.parametrize("form", FORMS)
def test_control_flow_on_tensors(form: str, how: str) -> None:
    variables = Outer(form).init(nn.key(0), X)
    bound = Outer(form).bind(variables)
    traced = tf.function(bound if how == "bound" else lambda x: Outer(form).apply(variables, x))
    plain = Halving().bind({"params": variables["params"]["inner"]})
    tf.debugging.assert_near(traced(X), plain(X))
    tf.debugging.assert_near(traced(X * 3.0), plain(X * 3.0))


@pytest.mark.parametrize("cls", [nn.jit, nn.remat], ids=["jit", "remat"])
def test_transformed_classes(cls: Any) -> None:
    variables = cls(Halving)().init(nn.key(0), X)
    bound = cls(Halving)().bind(variables)
    tf.debugging.assert_near(tf.function(lambda x: bound(x))(X), Halving().bind(variables)(X))


@pytest.mark.parametrize("traced", [False, True])
def test_scan(traced: bool) -> None:
    xs = tf.stack([X * i for i in (1.0, -1.0, 4.0)])
    loop = nn.scan(Step, variable_broadcast="params", split_rngs={"params": False})()
    variables = loop.init(nn.key(0), tf.zeros([]), xs)
    bound = loop.bind(variables)
    count, ys = (tf.function(bound) if traced else bound)(tf.zeros([]), xs)
    single, expected = Step().bind(variables), tf.zeros([])
    for x, y in zip(xs, ys, strict=True):
        expected, out = single(expected, x)
        tf.debugging.assert_near(y, out)
    assert float(count) == float(expected)


def test_an_eager_jit_or_vmap_converts_as_a_traced_function_does() -> None:
    variables = Halving().init(nn.key(0), X)
    plain = Halving().bind(variables)
    tf.debugging.assert_near(nn.jit(Halving)().apply(variables, X), plain(X))
    tf.debugging.assert_near(nn.jit(nn.remat(Halving))().apply(variables, X), plain(X))
    ys = nn.vmap(Halving, {"params": None})().apply(variables, tf.stack([X, 4.0 * X]))
    tf.debugging.assert_near(ys, tf.stack([plain(X), plain(4.0 * X)]))


@pytest.mark.parametrize("form", ["remat", "custom_vjp", "grad"])
def test_gradients_of_control_flow(form: str) -> None:
    make = {
        "remat": lambda m, x: nn.remat(sum_of)(m, x),
        "custom_vjp": lambda m, x: nn.custom_vjp(sum_of, forward, backward)(m, x),
        "grad": sum_of,
    }[form]
    variables = Halving().init(nn.key(0), X)
    bound = Halving().bind(variables)

    @tf.function
    def traced(x):
        if form == "grad":
            return nn.grad(make, bound, x)[0]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = make(bound, x)
        return tape.gradient(y, x)

    with tf.GradientTape() as tape:
        tape.watch(X)
        y = tf.reduce_sum(bound(X))
    tf.debugging.assert_near(traced(X), tape.gradient(y, X))


def test_code_that_autograph_may_not_convert_is_left_alone() -> None:
    bound = Halving().bind(Halving().init(nn.key(0), X))

    @tf.function(autograph=False)
    def traced(x):
        return nn.remat(call)(bound, x)

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        traced(X)
    jitted = nn.jit(Halving, autograph=False)().bind(bound.state)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        jitted(X)


def test_a_lambda_is_converted_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), tf.ones([1, 2])))
    x = tf.ones([1, 2])
    choose = nn.jit(lambda m, x: m(x) if tf.reduce_sum(x) > 0.0 else x)
    tf.debugging.assert_near(choose(dense, x), dense(x))
    tf.debugging.assert_near(choose(dense, -x), -x)
    assert "AutoGraph could not" not in caplog.text
