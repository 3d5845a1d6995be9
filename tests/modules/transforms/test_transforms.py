"""nn.remat, nn.jit, nn.cond, nn.switch and nn.while_loop."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import WAYS, called, near

X = tf.random.stateless_normal([4, 3], nn.key(9))
RNGS = {"dropout": nn.key(1)}


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, training=False):
        x = tf.tanh(nn.Dense(3)(x))
        x = nn.BatchNorm()(x, training=training)
        return nn.Dropout(0.5)(x, training=training)


class Two(nn.Module):
    """Net twice, plain or transformed."""

    block: Any

    @nn.compact
    def __call__(self, x, training=False):
        return self.block(name="b")(self.block(name="a")(x, training=training), training=training)


@pytest.mark.parametrize("transform", [nn.remat, nn.jit])
def test_initial_variables_and_names_are_the_same(transform: Any) -> None:
    near(Two(transform(Net)).init(nn.key(0), X), Two(Net).init(nn.key(0), X))
    made = {nn.remat: "CheckpointNet_0", nn.jit: "JitNet_0"}[transform]

    class Parent(nn.Module):
        @nn.compact
        def __call__(self, x):
            return transform(Net)()(x)

    assert set(Parent().init(nn.key(0), X)["params"]) == {made}


VARIABLES = Two(Net).init(nn.key(0), X)


@functools.cache
def trained(block: Any, how: str) -> Any:
    """Output, gradients and updated statistics of one training call."""
    module, variables = Two(block), VARIABLES
    if how.startswith("bound"):
        bound = module.bind(variables, rngs=RNGS)

        def run():
            with tf.GradientTape() as tape:
                y = bound(X, training=True)
                loss = tf.reduce_sum(y**2)
            return y, tape.gradient(loss, bound.trainable_variables)

        y, grads = (tf.function(run) if "traced" in how else run)()
        return y, grads, tf.nest.map_structure(tf.identity, bound.state["batch_stats"])

    def run(variables):
        with tf.GradientTape() as tape:
            tape.watch(variables["params"])
            y, updated = module.apply(
                variables, X, training=True, rngs=RNGS, mutable=["batch_stats"]
            )
            loss = tf.reduce_sum(y**2)
        return y, tape.gradient(loss, variables["params"]), updated["batch_stats"]

    y, grads, stats = (tf.function(run) if "traced" in how else run)(variables)
    return y, tf.nest.flatten(grads), stats


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("transform", [nn.remat, nn.jit])
def test_outputs_gradients_state_and_draws_are_the_same(transform: Any, how: str) -> None:
    plain, changed = trained(Net, how), trained(transform(Net), how)
    near(plain, changed)
    assert all(g is not None for g in changed[1])


class Branches(nn.Module):
    which: Any = None

    @nn.compact
    def __call__(self, index):
        def add(m, x):
            count = m.variable("counts", "added", lambda: tf.zeros([]))
            count.value += 1.0
            return m.dense(x)

        def draw(m, x):
            return x + tf.random.stateless_normal([], m.make_rng("noise"))

        def scale(m, x):
            return x * 10.0

        if index.dtype == tf.bool:
            return nn.cond(index, add, scale, self, X)
        return nn.switch(index, [add, draw, scale], self, X)

    def setup(self):
        self.dense = nn.Dense(3)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("chosen", [0, 1, 2, 7])
def test_switch(how: str, chosen: int) -> None:
    rngs = {"noise": nn.key(3)}
    variables = Branches().init({"params": nn.key(0), **rngs}, tf.constant(2))
    assert set(variables["params"]) == {"dense"}
    start = {"params": variables["params"], "counts": {"added": tf.zeros([])}}
    index = tf.constant(chosen)
    y, after = called(how, Branches(), start, index, rngs=rngs, mutable=["counts"])
    if chosen == 0:
        near(y, nn.Dense(3).apply({"params": start["params"]["dense"]}, X))
    elif chosen == 1:
        assert bool(tf.reduce_any(y != X))
    else:
        near(y, X * 10.0)
    assert float(after["counts"]["added"]) == (1.0 if chosen == 0 else 0.0)


def test_gradients_pass_through_the_chosen_branch() -> None:
    variables = Branches().init(nn.key(0), tf.constant(True))
    bound = Branches().bind(variables)

    @tf.function
    def gradient(pred):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(bound(pred))
        return tape.gradient(loss, bound["dense/kernel"], unconnected_gradients="zero")

    assert float(tf.norm(gradient(tf.constant(True)))) > 0.0
    assert float(tf.norm(gradient(tf.constant(False)))) == 0.0


def test_branches_must_agree() -> None:
    class Disagree(nn.Module):
        @nn.compact
        def __call__(self, pred, kind):
            def one(m, x):
                if kind == "makes":
                    m.put_variable("counts", "new", tf.ones([]))
                return x

            return nn.cond(pred, one, lambda m, x: (x, x) if kind == "shape" else x, self, X)

    for kind in ("shape", "makes"):
        run = tf.function(lambda p, kind=kind: Disagree().apply({}, p, kind, mutable=["counts"]))
        with raises(nn.TransformError):
            run(tf.constant(True))
    with raises(nn.TransformError):
        nn.switch(0, [], Disagree())


class Loop(nn.Module):
    closure: bool = False

    @nn.compact
    def __call__(self, x, n):
        dense = nn.Dense(3, name="dense")
        if self.is_initializing():
            self.variable("counts", "turns", lambda: tf.zeros([]))
            return dense(x)

        def body(m, carry):
            turn, x = carry
            top = m["self"]
            top.put_variable("counts", "turns", top.get_variable("counts", "turns", 0.0) + 1.0)
            noise = tf.random.stateless_normal([], top.make_rng("noise"))
            return turn + 1, tf.tanh((dense if self.closure else m["dense"])(x)) + 0.0 * noise

        modules = {"self": self, "dense": dense}
        return nn.while_loop(
            lambda m, carry: carry[0] < n,
            body,
            modules,
            (0, x),
            carry_variables="counts",
            split_rngs={"noise": True},
        )


@pytest.mark.parametrize("traced", [False, True])
def test_while_loop(traced: bool) -> None:
    variables = Loop().init(nn.key(0), X, 0)
    rngs = {"noise": nn.key(1)}

    def run(n):
        return Loop().apply(variables, X, n, rngs=rngs, mutable=["counts"])

    for n in (0, 3):
        (turns, y), state = (tf.function(run) if traced else run)(tf.constant(n))
        expected = X
        for _ in range(n):
            dense = {"params": variables["params"]["dense"]}
            expected = tf.tanh(nn.Dense(3).apply(dense, expected))
        near(y, expected)
        assert (int(turns), float(state["counts"]["turns"])) == (n, float(n))
    bound = Loop().bind(variables, rngs=rngs)
    near(tf.function(lambda n: bound(X, n))(tf.constant(3))[1], expected)
    assert float(bound["turns"]) == 3.0


def test_a_while_loop_detects_closures_and_refuses_new_variables() -> None:
    variables = Loop().init(nn.key(0), X, 0)
    with raises(nn.TransformError):
        Loop(closure=True).apply(variables, X, 1, rngs={"noise": nn.key(1)}, mutable=["counts"])
    counts = {"params": variables["params"]}
    with raises(nn.TransformError):
        Loop().apply(counts, X, 1, rngs={"noise": nn.key(1)}, mutable=["counts"])
