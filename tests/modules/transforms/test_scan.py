"""nn.scan: layers as a loop, recurrent cells, carried state, axes and streams."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import WAYS, called, near

X = tf.random.stateless_normal([3, 4], nn.key(9))


class Layer(nn.Module):
    """(carry) -> (carry, norm); as a step of a scan over layers."""

    @nn.compact
    def __call__(self, x):
        y = tf.tanh(nn.Dense(4)(x))
        return y, tf.reduce_sum(y**2, 1)


class Cell(nn.Module):
    @nn.compact
    def __call__(self, carry, x):
        carry = tf.tanh(nn.Dense(4)(tf.concat([carry, x], -1)))
        return carry, carry * 2.0


LAYERS = nn.scan(Layer, variable_axes={"params": 0}, split_rngs={"params": True}, length=5)
CELL = nn.scan(
    Cell, variable_broadcast="params", split_rngs={"params": False}, in_axes=1, out_axes=1
)


def layer(variables: Any, i: int) -> Any:
    return tf.nest.map_structure(lambda t: t[i], variables)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_over_layers_is_the_loop_over_them(how: str, reverse: bool) -> None:
    layers = nn.scan(
        Layer, variable_axes={"params": 0}, split_rngs={"params": True}, length=5, reverse=reverse
    )()
    variables = layers.init(nn.key(0), X)
    assert variables["params"]["Dense_0"]["kernel"].shape == (5, 4, 4)
    expected, norms = X, [None] * 5
    for i in reversed(range(5)) if reverse else range(5):
        expected, norms[i] = Layer().apply(layer(variables, i), expected)
    (y, ys), _ = called(how, layers, variables, X)
    tf.debugging.assert_near(y, expected)
    tf.debugging.assert_near(ys, tf.stack(norms))


@pytest.mark.parametrize("reverse", [False, True])
def test_init_with_output_gives_what_apply_gives(reverse: bool) -> None:
    each = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
    layers = nn.scan(Layer, length=3, reverse=reverse, **each)()
    (y, ys), variables = layers.init_with_output(nn.key(0), X)
    again, norms = layers.apply(variables, X)
    tf.debugging.assert_near(y, again)
    tf.debugging.assert_near(ys, norms)


@pytest.mark.parametrize("traced", [False, True])
def test_gradients_of_a_scan_are_those_of_the_loop(traced: bool) -> None:
    variables = LAYERS().init(nn.key(0), X)["params"]

    def scanned(params):
        return tf.reduce_sum(LAYERS().apply({"params": params}, X)[0] ** 2)

    def looped(params):
        x = X
        for i in range(5):
            x, _ = Layer().apply({"params": layer(params, i)}, x)
        return tf.reduce_sum(x**2)

    def gradients(loss):
        def compute(params):
            with tf.GradientTape() as tape:
                tape.watch(params)
                value = loss(params)
            return tape.gradient(value, params)

        return (tf.function(compute) if traced else compute)(variables)

    near(gradients(scanned), gradients(looped))


def test_a_graph_has_one_loop_whatever_the_length() -> None:
    def size(length: int) -> int:
        layers = nn.scan(
            Layer, variable_axes={"params": 0}, split_rngs={"params": True}, length=length
        )()
        variables = layers.init(nn.key(0), X)
        traced = tf.function(layers.apply).get_concrete_function(variables, X)
        return len(traced.graph.as_graph_def().library.function)

    assert size(3) == size(9)


def test_a_recurrent_cell_shares_its_parameters() -> None:
    xs = tf.random.stateless_normal([3, 6, 2], nn.key(1))
    start = tf.zeros([3, 4])
    variables = CELL().init(nn.key(0), start, xs)
    assert variables["params"]["Dense_0"]["kernel"].shape == (6, 4)
    carry, outputs = start, []
    for t in range(6):
        carry, y = Cell().apply(variables, carry, xs[:, t])
        outputs.append(y)
    last, ys = CELL().apply(variables, start, xs)
    tf.debugging.assert_near(last, carry)
    tf.debugging.assert_near(ys, tf.stack(outputs, 1))


def test_the_length_may_be_known_only_when_it_runs() -> None:
    variables = CELL().init(nn.key(0), tf.zeros([3, 4]), tf.ones([3, 2, 2]))
    run = tf.function(
        lambda xs: CELL().apply(variables, tf.zeros([3, 4]), xs),
        input_signature=[tf.TensorSpec([3, None, 2])],
    )
    for length in (1, 5):
        xs = tf.ones([3, length, 2])
        expected = CELL().apply(variables, tf.zeros([3, 4]), xs)
        tf.debugging.assert_near(run(xs)[1], expected[1])


class Counting(nn.Module):
    @nn.compact
    def __call__(self, carry, x):
        count = self.variable("counts", "n", lambda: tf.zeros([]))
        own = self.variable("own", "n", lambda: tf.zeros([]))
        count.value += 1.0
        own.value += x
        return carry, count.value


@pytest.mark.parametrize("how", WAYS)
def test_carried_and_stacked_state(how: str) -> None:
    counting = nn.scan(Counting, variable_carry="counts", variable_axes={"own": 0})()
    xs, zero = tf.constant([1.0, 2.0, 3.0]), tf.zeros([])
    start = {"counts": {"n": tf.constant(10.0)}, "own": {"n": tf.zeros([3])}}
    (_, ys), after = called(how, counting, start, zero, xs, mutable=["counts", "own"])
    tf.debugging.assert_equal(ys, tf.constant([11.0, 12.0, 13.0]))
    assert float(after["counts"]["n"]) == 13.0
    tf.debugging.assert_equal(tf.convert_to_tensor(after["own"]["n"]), xs)


def test_streams_are_split_or_the_same() -> None:
    class Draw(nn.Module):
        @nn.compact
        def __call__(self, carry):
            return carry, tf.random.stateless_normal([2], self.make_rng("noise"))

    for split in (True, False):
        draws = nn.scan(Draw, split_rngs={"noise": split}, length=3)()
        _, ys = draws.apply({}, tf.zeros([]), rngs={"noise": nn.key(0)})
        assert bool(tf.reduce_any(ys[0] != ys[2])) is split


def test_a_decorated_method() -> None:
    import functools

    class Stack(nn.Module):
        @functools.partial(
            nn.scan, variable_axes={"params": 0}, split_rngs={"params": True}, length=3
        )
        @nn.compact
        def __call__(self, x):
            return nn.Dense(4)(x), None

    variables = Stack().init(nn.key(0), X)
    assert variables["params"]["Dense_0"]["kernel"].shape == (3, 4, 4)
    y, nothing = Stack().apply(variables, X)
    assert nothing is None
    expected = X
    for i in range(3):
        expected = expected @ variables["params"]["Dense_0"]["kernel"][i]
    tf.debugging.assert_near(y, expected)


class Wide(nn.Module):
    def __call__(self, carry):
        return tf.concat([carry, carry], 0), None


class Single(nn.Module):
    def __call__(self, carry):
        return carry


class Widening(nn.Module):
    @nn.compact
    def __call__(self, carry):
        return nn.Dense(5)(carry), None


def test_init_refuses_a_carry_that_changes() -> None:
    layers = nn.scan(Widening, {"params": 0}, split_rngs={"params": True}, length=3)
    with raises(nn.TransformError):
        layers().init(nn.key(0), tf.ones([2, 3]))


@pytest.mark.parametrize("module", [Wide, Single])
def test_misuse(module: Any) -> None:
    with raises(nn.TransformError):
        nn.scan(module, length=3)().apply({}, tf.zeros([2]))


def test_a_shared_collection_may_not_be_written() -> None:
    counting = nn.scan(Counting, variable_broadcast="counts", variable_axes={"own": 0})()
    start = {"counts": {"n": tf.constant(10.0)}, "own": {"n": tf.zeros([3])}}
    with raises(nn.ImmutableCollectionError):
        counting.apply(start, tf.zeros([]), tf.ones([3]), mutable=True)


@pytest.mark.parametrize("unroll", [1, 2])
def test_gradients_where_the_loop_is_compiled(unroll: int) -> None:
    cell = nn.scan(
        Cell,
        variable_broadcast="params",
        split_rngs={"params": False},
        in_axes=1,
        out_axes=1,
        unroll=unroll,
    )()
    inputs = tf.zeros([3, 4]), tf.random.stateless_normal([3, 5, 2], nn.key(4))
    params = cell.init(nn.key(0), *inputs)["params"]

    def gradients(params: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(params)
            carry, outputs = cell.apply({"params": params}, *inputs)
            loss = tf.reduce_sum(carry) + tf.reduce_sum(outputs)
        return tape.gradient(loss, params)

    near(tf.function(gradients, jit_compile=True)(params), gradients(params), atol=1e-4)
