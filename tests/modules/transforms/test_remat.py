"""nn.remat: that it really computes again, what a policy keeps, and its options."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import near

X = tf.random.stateless_normal([4, 3], nn.key(9))


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, training=False):
        for _ in range(2):
            x = tf.tanh(nn.Dense(3)(x))
        x = nn.BatchNorm()(x, training=training)
        return nn.Dropout(0.5)(x, training=training)


class Net(nn.Module):
    block: Any

    @nn.compact
    def __call__(self, x, training=False):
        for i in range(2):
            x = self.block(name=f"block_{i}")(x, training=training)
        return x


def dense_only(module: Any, method: str) -> bool:
    return isinstance(module, nn.Dense)


def everything(module: Any, method: str) -> bool:
    return True


POLICIES = {"none": None, "dense": dense_only, "all": everything}


def step(module: Any, variables: Any, x: Any = X) -> Any:
    rngs = {"dropout": nn.key(1)}
    with tf.GradientTape() as tape:
        tape.watch([x, variables["params"]])
        y, updated = module.apply(variables, x, training=True, rngs=rngs, mutable=["batch_stats"])
        loss = tf.reduce_sum(y**2)
    return y, updated, tape.gradient(loss, [variables["params"], x])


VARIABLES = Net(Block).init(nn.key(0), X)


@functools.cache
def plain_step() -> Any:
    return step(Net(Block), VARIABLES)


@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_state_and_draws_are_the_same(policy: str) -> None:
    module = Net(nn.remat(Block, POLICIES[policy]))
    near(module.init(nn.key(0), X), VARIABLES)
    near(step(module, VARIABLES), plain_step())
    near(tf.function(lambda v: step(module, v))(VARIABLES), plain_step())


def before(ops: Any) -> set[Any]:
    """These operations and all that they depend on."""
    found, waiting = set(), list(ops)
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting.extend([*(t.op for t in op.inputs), *op.control_inputs])
    return found


@functools.cache
def graph_of(kind: str) -> Any:
    """The graph of a training step, without remat or with a policy."""
    block = Block if kind == "plain" else nn.remat(Block, POLICIES[kind])
    return tf.function(lambda v: step(Net(block), v)).get_concrete_function(VARIABLES).graph


def executed(kind: str) -> Counter[str]:
    """The operations of a training step that anything depends on, by type."""
    graph = graph_of(kind)
    return Counter(op.type for op in before([t.op for t in graph.outputs] + graph.control_outputs))


def test_a_traced_step_computes_again_what_is_not_kept() -> None:
    plain, again, kept = executed("plain"), executed("none"), executed("dense")
    assert plain["Tanh"] == 4
    assert again["Tanh"] == kept["Tanh"] == 8
    assert again["MatMul"] == plain["MatMul"] + 4
    assert kept["MatMul"] == plain["MatMul"]


def test_a_traced_step_computes_again_when_the_gradient_needs_it() -> None:
    """Otherwise TensorFlow would find the same operations twice and keep their values."""
    for kind, expected in (("plain", 0), ("none", 4)):
        operations = graph_of(kind).get_operations()
        tanhs = [before([op]) for op in operations if op.type == "Tanh"]
        late = [ops for ops in tanhs if any("gradient_tape" in op.name for op in ops)]
        assert len(late) == expected


def test_xla_computes_again_what_is_not_kept() -> None:
    """XLA heeds no control dependencies, and joins what is computed twice if it can."""

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x):
            return tf.tanh(nn.Dense(3)(tf.tanh(nn.Dense(3)(x))))

    class Layers(nn.Module):
        block: Any

        @nn.compact
        def __call__(self, x):
            return self.block(name="two")(self.block(name="one")(x))

    variables = Layers(Layer).init(nn.key(0), X)

    def compiled(block: Any) -> tuple[int, int]:
        @tf.function(jit_compile=True)
        def gradients(variables, x):
            with tf.GradientTape() as tape:
                tape.watch([variables, x])
                loss = tf.reduce_sum(Layers(block).apply(variables, x) ** 2)
            return tape.gradient(loss, [variables, x])

        text = gradients.experimental_get_compiler_ir(variables, X)(stage="optimized_hlo")
        return text.count(" tanh("), text.count(" dot(")

    plain, again, kept = (
        compiled(b) for b in (Layer, nn.remat(Layer), nn.remat(Layer, dense_only))
    )
    assert again == (2 * plain[0], plain[1] + 4)
    assert kept == (2 * plain[0], plain[1])


def test_an_eager_step_keeps_what_the_policy_says_and_nothing_else() -> None:
    calls: list[str] = []

    def policy(module: Any, method: str) -> bool:
        calls.append(f"{type(module).__name__}.{method}")
        return False

    bound = nn.remat(Block, policy)().bind(Block().init(nn.key(0), X))
    with tf.GradientTape() as tape:
        y = bound(X)
    first = list(calls)
    assert first == ["Dense.__call__"] * 2 + [
        "BatchNorm.__call__",
        "Dropout.__call__",
        "Block.__call__",
    ]
    tape.gradient(y, bound.trainable_variables)
    assert calls == first * 2


@pytest.mark.parametrize("policy", POLICIES)
def test_second_derivatives(policy: str) -> None:
    variables = Block().init(nn.key(0), X)

    def second(module: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(X)
            with tf.GradientTape() as inner:
                inner.watch(X)
                y = tf.reduce_sum(module.apply(variables, X) ** 2)
            first = tf.reduce_sum(inner.gradient(y, X) ** 2)
        return outer.gradient(first, X)

    remat = nn.remat(Block, POLICIES[policy])()
    near(second(remat), second(Block()))
    near(tf.function(lambda: second(remat))(), second(Block()))


def test_options_that_tensorflow_has_not_are_refused() -> None:
    for options in ({"prevent_cse": False}, {"concrete": True}):
        with raises(nn.TransformError):
            nn.remat(Block, **options)
    with raises(nn.TransformError):
        nn.remat(Block, "dots_saveable")
    near(
        nn.remat(Block, static_argnums=(2,))().apply(Block().init(nn.key(0), X), X),
        Block().apply(Block().init(nn.key(0), X), X),
    )


@pytest.mark.parametrize("traced", [False, True])
def test_a_variable_of_elsewhere_has_its_gradient(traced: bool) -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    factor = tf.Variable(3.0)
    scaled = nn.remat(lambda m, x: m(x) * factor)

    def gradients() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(scaled(dense, X))
        return tape.gradient(loss, [factor, dense["kernel"]])

    of_factor, of_kernel = (tf.function(gradients) if traced else gradients)()
    near(of_factor, tf.reduce_sum(dense(X)))
    near(of_kernel, 3.0 * tf.tile(tf.reduce_sum(X, 0)[:, None], [1, 2]))
