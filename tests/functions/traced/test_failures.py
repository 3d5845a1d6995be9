"""After an operation that fails in a graph, no write below it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
