"""Random draws inside transformations: each call of a traced function draws other numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.modules.nets import put_back, values_of

X = tf.zeros([2])
ONE_STREAM: dict[str, Any] = {"variable_axes": {}, "split_rngs": {"noise": False}}


class Noise(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x + tf.random.stateless_uniform([], self.make_rng("noise"))


def call(module: Any, x: Any) -> Any:
    return module(x)


def over_a_loop(module: Any, x: Any, inside: Any = call) -> Any:
    def body(module, c):
        return c[0] + 1, inside(module, c[1])

    def is_left(_, c):
        return c[0] < 2

    return nn.while_loop(is_left, body, module, (0, x), split_rngs={"noise": False})[1]


HOW: dict[str, Callable[[Any, Any], Any]] = {
    "plain": call,
    "remat": nn.remat(call),
    "jit": nn.jit(call),
    "vmap": nn.vmap(call, **ONE_STREAM),
    "vmap, split": nn.vmap(call, variable_axes={}, split_rngs={"noise": True}),
    "scan": lambda m, x: nn.scan(lambda m, c, x: (c, m(x)), **ONE_STREAM)(m, 0.0, x)[1],
    "cond": lambda m, x: nn.cond(x[0] > -1.0, call, call, m, x),
    "switch": lambda m, x: nn.switch(tf.cast(x[0], tf.int32), [call, call], m, x),
    "vjp": lambda m, x: nn.vjp(call, m, x)[0],
    "map_variables": nn.map_variables(call, "params", mutable=True),
    "fold_rngs": nn.fold_rngs(call),
    "while_loop": over_a_loop,
    "loop in loop": lambda m, x: over_a_loop(m, x, over_a_loop),
    "loop in remat": nn.remat(lambda m, x: over_a_loop(m, x)),
    "remat in remat": nn.remat(lambda m, x: nn.remat(call)(m, x)),
    "remat in jit": nn.jit(lambda m, x: nn.remat(call)(m, x)),
    "jit in cond": lambda m, x: nn.cond(x[0] > -1.0, nn.jit(call), call, m, x),
    "twice in remat": nn.remat(lambda m, x: m(x) + m(x)),
}


@pytest.mark.parametrize("how", HOW)
def test_a_traced_function_draws_as_eager_calls_do(how: str) -> None:
    class Top(nn.Module):
        @nn.compact
        def __call__(self, x):
            return HOW[how](Noise(), x)

    def drawn(wrap: Callable[[Any], Any]) -> list[float]:
        step = wrap(Top().bind({}, rngs={"noise": nn.key(0)}))
        return [float(tf.reduce_sum(step(X))) for _ in range(3)]

    eager = drawn(lambda module: module)
    assert len(set(eager)) == 3
    assert drawn(lambda module: tf.function(module.__call__)) == pytest.approx(eager)
    assert len(set(drawn(lambda module: tf.function(module.__call__, jit_compile=True)))) == 3


def test_a_jitted_part_without_draws_in_a_traced_module_with_them() -> None:
    class Part(nn.Module):
        @nn.compact
        def __call__(self, x):
            return x * self.param("scale", nn.initializers.ones, [])

    class Whole(nn.Module):
        @nn.compact
        def __call__(self, x):
            return Noise()(nn.jit(Part)(name="part")(x))

    def drawn(wrap: Callable[[Any], Any]) -> list[float]:
        params = {"params": {"part": {"scale": tf.constant(2.0)}}}
        step = wrap(Whole().bind(params, rngs={"noise": nn.key(0)}))
        return [float(tf.reduce_sum(step(X))) for _ in range(3)]

    traced = drawn(lambda module: tf.function(module.__call__))
    assert drawn(lambda module: module) == pytest.approx(traced)
    assert drawn(lambda module: tf.function(module.__call__)) == pytest.approx(traced)


def test_recomputing_draws_what_was_drawn() -> None:
    @nn.remat
    def scaled(module, x):
        return x * module(tf.zeros([]))

    model = Noise().bind({}, rngs={"noise": nn.key(0)})

    @tf.function
    def value_and_slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(model, x)
        return y, tape.gradient(y, x)

    for _ in range(3):
        value, slope = value_and_slope(tf.constant(1.0))
        assert float(value) == float(slope)


def test_a_traced_step_goes_on_from_a_state_before_its_first_draw(tmp_path: Path) -> None:
    model = Noise().bind({}, rngs={"noise": nn.key(0)})
    checkpoint = tf.train.Checkpoint(model=model)
    path, start = checkpoint.save(str(tmp_path / "start")), values_of(model)
    step = tf.function(model.__call__)
    first = [float(step(X)[0]) for _ in range(3)]
    checkpoint.restore(path)
    assert [float(step(X)[0]) for _ in range(3)] == first
    put_back(model, start)
    assert [float(step(X)[0]) for _ in range(3)] == first


def test_more_paths_than_counts_at_the_start() -> None:
    class Many(nn.Module):
        @nn.compact
        def __call__(self, x):
            # There is room for 64, so the last paths get their counts while a trace is made.
            each = [call] * 60 + [nn.remat(call)] * 10
            return tf.stack([draw(Noise(name=f"n{i}"), x[0]) for i, draw in enumerate(each)])

    eager = Many().bind({}, rngs={"noise": nn.key(0)})
    traced = Many().bind({}, rngs={"noise": nn.key(0)})
    step = tf.function(traced.__call__, autograph=False)
    for _ in range(2):
        tf.debugging.assert_near(step(X), eager(X))


def test_a_state_with_fewer_counts_than_a_trace_draws_from(tmp_path: Path) -> None:
    class Many(nn.Module):
        @nn.compact
        def __call__(self, x):
            each = [call] * 60 + [nn.remat(call)] * 5 + [call] * 5
            return tf.stack([draw(Noise(name=f"n{i}"), x[0]) for i, draw in enumerate(each)])

    model = Many().bind({}, rngs={"noise": nn.key(0)})
    checkpoint = tf.train.Checkpoint(model=model)
    path, start = checkpoint.save(str(tmp_path / "start")), values_of(model)
    step = tf.function(model.__call__, autograph=False)
    first = [step(X), step(X)]
    for restore in (lambda: put_back(model, start), lambda: checkpoint.restore(path)):
        restore()
        tf.debugging.assert_equal([step(X), step(X)], first)
