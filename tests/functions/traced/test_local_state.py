"""``local_state=True``: variables that live for one call, as in Python."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import nbfn
from nbfn.functions.traced.local_state import LocalStateError
from tests.harness.messages import raises


def accumulate(x: Any) -> Any:
    v = tf.Variable(1.0)
    v.assign_add(x)
    return v


def test_each_call_has_variables_of_its_own() -> None:
    f = nbfn.function(accumulate, local_state=True)
    for _ in range(3):
        assert float(f(tf.constant(1.0))) == float(accumulate(1.0)) == 2.0
    assert f(tf.constant([1.0, 2.0])[0]) == 2.0
    assert [trace.cause.code for trace in f.traces] == ["first_trace"]
    assert (f.calls, f.hits) == (4, 3)


def test_loops_slices_and_gradients_inside() -> None:
    @nbfn.function(local_state=True)
    def f(x: Any) -> Any:
        v = tf.Variable(tf.zeros([3]), name="sums")
        for i in tf.range(3):
            v.scatter_nd_update([[i]], [x * tf.cast(i, tf.float32)])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v * x)
        return {"values": v, "gradient": tape.gradient(y, v)}

    for x in (2.0, 5.0):
        result = f(tf.constant(x))
        assert result["values"].numpy().tolist() == [0.0, x, 2 * x]
        assert result["gradient"].numpy().tolist() == [0.0, 2 * x * x, 4 * x * x]


def test_integers_strings_and_initial_values_from_arguments() -> None:
    @nbfn.function(local_state=True)
    def f(x: Any) -> Any:
        count, text = tf.Variable(x), tf.Variable("a")
        count.assign(count * 2)
        return count, text.assign(text + "b")

    for x in (3, 4):
        count, text = f(tf.constant(x))
        assert (int(count), text.numpy()) == (2 * x, b"ab")


def test_a_variable_that_escapes_is_refused() -> None:
    kept: list[Any] = []

    @nbfn.function(local_state=True)
    def f(x: Any) -> Any:
        v = tf.Variable(x, name="escaped")
        kept.append(v)
        return v + 1

    with raises(LocalStateError):
        f(tf.constant(1.0))
    assert f.traces == ()


def test_the_first_call_may_be_below_a_tape() -> None:
    f = nbfn.function(lambda x: x * accumulate(2.0), local_state=True)
    x = tf.constant(1.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert (float(y), float(tape.gradient(y, x))) == (3.0, 3.0)
    assert (f.calls, f.hits) == (2, 1)


def test_outer_variables_are_captured_as_usual() -> None:
    total = tf.Variable(0.0)

    @nbfn.function(local_state=True)
    def f(x: Any) -> Any:
        v = tf.Variable(x)
        total.assign_add(v)
        return v

    f(tf.constant(2.0)), f(tf.constant(3.0))
    assert float(total) == 5.0
    assert [capture.name for capture in f.captures] == ["total"]
