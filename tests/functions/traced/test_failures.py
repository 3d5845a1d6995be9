"""After an operation that fails in a graph, no write below it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn import _tensorflow
from nbfn._tensorflow.graphs.ordering import MAX_EDGES


def not_finite(x: Any) -> None:
    tf.debugging.check_numerics(tf.math.log(x), "not finite")


def out_of_range(x: Any) -> None:
    tf.gather([1.0, 2.0], tf.cast(x, tf.int32) + 9)


def wrong_size(x: Any) -> None:
    tf.reshape(tf.range(6), [tf.cast(x, tf.int32) + 5, -1])


def not_a_number(x: Any) -> None:
    tf.strings.to_number(tf.where(x < 0.0, "x", "1.5"))


def asserted(x: Any) -> None:
    tf.debugging.assert_positive(x)


def test_no_random_number_is_drawn_below() -> None:
    generator = tf.random.Generator.from_seed(1)

    @nbfn.function
    def draw(x: Any) -> Any:
        y = tf.gather([1.0, 2.0], tf.cast(x, tf.int32) + 9)
        return generator.binomial([], 3.0, 0.5), y

    draw(tf.constant(-9.0))
    before = generator.state.numpy().tolist()
    with pytest.raises(tf.errors.InvalidArgumentError):
        draw(tf.constant(-1.0))
    assert generator.state.numpy().tolist() == before


FAILURES = [not_finite, out_of_range, wrong_size, not_a_number, asserted]


@pytest.mark.parametrize("fails", FAILURES)
@pytest.mark.parametrize("several", [1, MAX_EDGES + 2])
def test_writes_below_are_not_done_and_those_above_are(
    fails: Callable[[Any], Any], several: int
) -> None:
    above = [tf.Variable(0.0) for _ in range(several)]
    below = [tf.Variable(0.0) for _ in range(several)]

    @nbfn.function
    def step(x: Any) -> None:
        for each in above:
            each.assign_add(1.0)
        for _ in range(several):
            fails(x)
        for each in below:
            each.assign_add(1.0)

    step(tf.constant(1.0 if fails is not out_of_range else -9.0))
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        step(tf.constant(-1.0))
    assert [each.numpy() for each in above] == [2.0] * several
    assert [each.numpy() for each in below] == [1.0] * several


def test_a_check_protects_weights_in_a_method_and_under_xla() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            self.weight = tf.Variable(1.0)

        @nbfn.function
        def step(self, x: Any) -> Any:
            loss = tf.math.log(x) * self.weight
            tf.debugging.check_numerics(loss, "loss")
            self.weight.assign(loss)
            return loss

    model = Model()
    model.step(tf.constant(2.0))
    kept = model.weight.numpy()
    with pytest.raises(tf.errors.InvalidArgumentError):
        model.step(tf.constant(-1.0))
    assert model.weight.numpy() == kept


def test_a_graph_of_static_shapes_gets_no_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = tf.Variable(tf.ones([3, 3]))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(x @ weight) ** 2)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    def edges() -> int:
        traced = nbfn.function(step)
        graph = traced.graph_function(tf.TensorSpec([2, 3])).graph
        return sum(len(op.control_inputs) for op in graph.get_operations())

    ordered = edges()
    monkeypatch.setattr(_tensorflow, "keep_order", lambda graph: None)
    assert edges() == ordered


def test_the_gradient_of_a_loop_is_no_circle() -> None:
    weight = tf.Variable(2.0)

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * weight), (0, x))[1]
        weight.assign_sub(0.01 * tape.gradient(y, weight))
        return y

    x, traced = tf.constant(2.0), nbfn.function(step)
    expected = [float(step(x)) for _ in range(2)]
    weight.assign(2.0)
    assert [float(traced(x)) for _ in range(2)] == pytest.approx(expected)


@pytest.mark.parametrize("layer", [keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN])
def test_recurrent_layers_train(layer: Any) -> None:
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.layers.Bidirectional(layer(3)), keras.layers.Dense(1)])
    x = tf.random.stateless_normal([4, 5, 2], [1, 2])
    model(x)
    start, optimizer = model.get_weights(), None

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    losses = []
    for run in (step, nbfn.function(step)):
        model.set_weights(start)
        optimizer = keras.optimizers.SGD(0.1)
        losses.append([float(run()) for _ in range(3)])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_what_a_compiled_step_creates_can_be_lifted(
    jit_compile: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tf, "function", nbfn.function)
    model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile("adam", "mse", jit_compile=jit_compile)
    x = np.ones([6, 3], np.float32)
    history = model.fit(x, x[:, :1], epochs=2, batch_size=3, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_an_error_says_that_its_trace_is_one_because_python_has_changed() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf, "nbfn": nbfn, "a": tf.ones([2, 2])}
    exec("def total(x): return tf.reduce_sum(tf.matmul(a, x))", space)
    total = nbfn.function(space["total"])
    with pytest.raises(ValueError, match="rank") as first:
        total(tf.ones([]))
    assert not hasattr(first.value, "__notes__")
    total(tf.ones([2, 1]))
    space["a"] = tf.constant(1.0)
    with pytest.raises(ValueError, match="rank 2") as error:
        total(tf.ones([2, 1]))
    (note,) = error.value.__notes__
    assert note.startswith("`total` is traced again, as Python has changed: global `a` is ")
    space["a"] = tf.ones([2, 2])
    with pytest.raises(ValueError, match="rank") as other:
        total(tf.ones([]))
    assert not hasattr(other.value, "__notes__")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("how", ["call", "get_concrete_function", "nested"])
def test_what_a_failed_first_trace_has_created_can_be_used(how: str, error: Any) -> None:
    def losses(wrapped: Callable[..., Any]) -> list[float]:
        model = keras.Sequential([keras.layers.Dense(2, kernel_initializer="ones")])
        optimizer = keras.optimizers.Adam(0.1)
        fails = [True]

        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            optimizer.build(model.trainable_variables)
            if fails:
                raise error
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
            return loss

        traced = wrapped(step)
        outer = wrapped(lambda x: traced(x)) if how == "nested" else traced
        with pytest.raises(error):
            getattr(outer, how, outer)(tf.ones([4, 3]))
        fails.clear()
        found = [float(outer(tf.ones([4, 3]))) for _ in range(3)]
        return [*found, float(tf.reduce_sum(model(tf.ones([4, 3]))))]

    assert losses(nbfn.function) == pytest.approx(losses(lambda fn: fn), rel=1e-4)
