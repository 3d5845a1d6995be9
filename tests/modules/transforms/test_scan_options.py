"""nn.scan with unrolled steps, and nn.remat_scan."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules import nets

X = tf.random.stateless_normal([3, 4], nn.key(9))
XS = tf.random.stateless_normal([5, 3, 4], nn.key(8))


class Cell(nn.Module):
    @nn.compact
    def __call__(self, carry, x, bias):
        turns = self.variable("stats", "turns", lambda: tf.zeros([]))
        noise = tf.random.stateless_normal([], self.make_rng("noise"))
        carry = tf.tanh(nn.Dense(4)(carry + x) + noise + bias)
        if not self.is_initializing():
            turns.value += tf.reduce_sum(carry)
        return carry, {"y": 2.0 * carry}


# Processors round differently.
near = functools.partial(nets.near, rtol=1e-4)


def cells(**options: Any) -> Any:
    return nn.scan(
        Cell,
        variable_broadcast="params",
        variable_carry="stats",
        split_rngs={"params": False, "noise": True},
        in_axes=(0, nn.broadcast),
        **options,
    )()


VARIABLES = cells().init({"params": nn.key(0), "noise": nn.key(1)}, X, XS, 0.5)


def run(module: Any, xs: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch([X, xs, VARIABLES])
        result = module.apply(VARIABLES, X, xs, 0.5, rngs=nn.key(3), mutable=["stats"])
        (carry, ys), _ = result
        loss = tf.reduce_sum(carry**2) + tf.reduce_sum(ys["y"] ** 3)
    return result, tape.gradient(loss, [X, xs, VARIABLES["params"]])


@functools.cache
def expected(reverse: bool, steps: int = 5) -> Any:
    return run(cells(reverse=reverse), XS[:steps])


@pytest.mark.parametrize("how", ["eager", "traced", "unknown length"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [2, 9, True])
def test_unrolled_steps_compute_the_same(unroll: Any, reverse: bool, how: str) -> None:
    module = cells(reverse=reverse, unroll=unroll)
    if how == "unknown length":
        spec = tf.TensorSpec([None, 3, 4])
        traced = tf.function(lambda xs: run(module, xs), input_signature=[spec])
        if unroll is True:
            with raises(nn.TransformError):
                traced(XS)
            return
        near(traced(XS), expected(reverse))
        near(traced(XS[:1]), expected(reverse, 1))
    else:
        near((tf.function(run) if how == "traced" else run)(module, XS), expected(reverse))


def operations(module: Any) -> Counter[str]:
    graph = tf.function(lambda: run(module, XS)).get_concrete_function().graph
    return Counter(op.type for op in graph.get_operations())


def test_a_whole_unrolled_scan_has_no_loop() -> None:
    assert operations(cells())["StatelessWhile"] + operations(cells())["While"] > 0
    whole = operations(cells(unroll=True))
    assert whole["While"] == whole["StatelessWhile"] == 0
    assert whole["Tanh"] == 5


def test_a_wrong_unroll_is_refused() -> None:
    for unroll in (0, -1, 1.5, False):
        with raises(nn.TransformError):
            cells(unroll=unroll).apply(VARIABLES, X, XS, 0.5, rngs=nn.key(3), mutable=["stats"])


# -- remat_scan ----------------------------------------------------------------------------------


class Layer(nn.Module):
    @nn.compact
    def __call__(self, x):
        return tf.tanh(nn.Dense(4)(x) + tf.tanh(nn.Dense(4)(x)))


def by_hand(variables: Any, x: Any, lengths: tuple[int, ...]) -> Any:
    if not lengths:
        return Layer().apply(variables, x)
    for i in range(lengths[0]):
        one = tf.nest.map_structure(lambda t, i=i: t[i], variables)
        x = by_hand(one, x, lengths[1:])
    return x


def gradients(call: Any, variables: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch([X, variables])
        y = call(variables, X)
    return y, tape.gradient(y, [X, variables])


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("lengths", [(3,), (2, 2), (2, 1, 2)])
def test_remat_scan_is_a_stack_of_layers(lengths: tuple[int, ...], traced: bool) -> None:
    stack = nn.remat_scan(Layer, lengths)()
    variables = stack.init(nn.key(0), X)
    assert variables["params"]["Dense_0"]["kernel"].shape == (*lengths, 4, 4)
    kernels = tf.reshape(variables["params"]["Dense_0"]["kernel"], [-1, 16])
    assert len({tuple(k) for k in kernels.numpy().tolist()}) == kernels.shape[0]
    call = tf.function(stack.apply) if traced else stack.apply
    near(gradients(call, variables), gradients(lambda v, x: by_hand(v, x, lengths), variables))
    bound = stack.bind(variables)
    near(bound(X), by_hand(variables, X, lengths))


def test_remat_scan_keeps_the_values_between_the_outer_turns_only() -> None:
    calls: list[int] = []

    class Counted(nn.Module):
        @nn.compact
        def __call__(self, x):
            calls.append(1)
            return tf.tanh(nn.Dense(4)(x))

    for lengths, in_backward in (((3,), 3), ((2, 3), 6)):
        stack = nn.remat_scan(Counted, lengths)()
        variables = stack.init(nn.key(0), X)
        calls.clear()
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = stack.apply(variables, X)
        forward = len(calls)
        tape.gradient(y, X)
        assert (forward, len(calls) - forward) == (in_backward, in_backward)


def test_remat_scan_of_a_function_with_shared_and_carried_variables() -> None:
    def layer(m, x):
        m.put_variable("stats", "n", m.get_variable("stats", "n") + 1.0)
        return tf.tanh(nn.Dense(4, name="dense")(x))

    class Shared(nn.Module):
        @nn.compact
        def __call__(self, x):
            self.variable("stats", "n", lambda: tf.zeros([]))
            stack = nn.remat_scan(
                layer,
                (2, 3),
                variable_broadcast="params",
                variable_carry="stats",
                variable_axes={},
                split_rngs={"params": False},
            )
            return stack(self, x)

    class Plain(nn.Module):
        @nn.compact
        def __call__(self, x):
            dense = nn.Dense(4, name="dense")
            for _ in range(6):
                x = tf.tanh(dense(x))
            return x

    params = Plain().init(nn.key(0), X)["params"]
    start = {"params": params, "stats": {"n": tf.zeros([])}}
    y, updated = tf.function(lambda: Shared().apply(start, X, mutable=["stats"]))()
    near(y, Plain().apply({"params": params}, X))
    assert float(updated["stats"]["n"]) == 6.0


def test_remat_scan_refuses_wrong_lengths() -> None:
    for lengths in ((), (2, 0), (2, 1.5)):
        with raises(nn.TransformError):
            nn.remat_scan(Layer, lengths)


def test_outputs_have_an_axis_of_steps() -> None:
    def step(module, carry, x):
        return carry, x

    for axes in (nn.broadcast, {"y": None}):
        scanned = nn.scan(step, out_axes=axes)
        with raises(nn.TransformError):
            scanned(Layer().bind({}), 0.0, {"y": XS})
