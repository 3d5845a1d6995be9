"""What differs between two traces."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.traces.trace import EvictedError
from tests.harness.messages import raises

scale = tf.Variable(2.0, name="scale")
shift = tf.Variable([1.0], name="shift")


def two_traces(function, first, second):
    traced = nbfn.function(function)
    traced(*first)
    traced(*second)
    return traced, *traced.traces


def test_the_key_and_the_constants() -> None:
    traced, one, two = two_traces(
        lambda x, factor: x * factor, (tf.ones([2]), 2.0), (tf.ones([3]), 5.0)
    )
    found = one.diff(two)
    assert [cause.path for cause in found.causes] == ["x", "factor"]
    assert [(c.what, c.old, c.new) for c in found.constants] == [("value", "2.0", "5.0")]
    assert found.types == {}
    assert found.removed == found.added == {}
    assert found.operations[0] == found.operations[1]
    assert ("x", "shape", "(2,)", "(3,)") in [(c.name, c.what, c.old, c.new) for c in found.changed]
    assert not found.same
    del traced


def choose(x, plain):
    if plain:
        return x * scale
    return tf.exp(x) + tf.sin(x) * scale + shift


def test_captures_and_operations() -> None:
    traced, one, two = two_traces(choose, (tf.constant([1.0]), True), (tf.constant([1.0]), False))
    found = one.diff(two)
    assert [capture.name for capture in found.added_captures] == ["shift"]
    assert found.removed_captures == ()
    assert found.types["Exp"] == (0, 1)
    assert found.types["ReadVariableOp"] == (1, 2)
    assert found.added["Sin"] == "Sin"
    assert found.nbytes == (one.nbytes, two.nbytes)
    back = two.diff(one)
    assert back.types["Exp"] == (1, 0)
    assert "Sin" in back.removed
    text = str(found)
    assert "`plain`: Python value was True, is False" in text
    assert "+ shift: float32[1] on CPU:0" in text
    assert "Exp: 0 -> 1" in text
    assert "+ Sin (Sin)" in text
    assert f"{one.nbytes:,} -> {two.nbytes:,} bytes" in text
    del traced


def test_called_functions_are_counted_by_what_they_do_not_by_their_names() -> None:
    inner = tf.function(lambda x: tf.exp(x))

    def outer(x, deep):
        return inner(x) if not deep else inner(inner(x))

    traced, one, two = two_traces(outer, (tf.ones([2]), False), (tf.ones([3]), False))
    found = one.diff(two)
    assert found.types == {}
    assert all("inference" not in change.old for change in found.changed)
    traced(tf.ones([2]), True)
    deeper = one.diff(traced.traces[2])
    assert deeper.types[
        "StatefulPartitionedCall"
        if "StatefulPartitionedCall" in deeper.types
        else "PartitionedCall"
    ] == (1, 2)


def test_what_called_functions_do_is_compared() -> None:
    inner = tf.function(lambda x, rough: tf.exp(x) if rough else tf.exp(tf.sin(x)))
    traced, one, two = two_traces(
        lambda x, rough: inner(x, rough) + 1.0, (tf.ones([]), True), (tf.ones([]), False)
    )
    assert one.diff(two).types == {"Sin": (0, 1)}
    del traced


def test_a_trace_is_the_same_as_itself() -> None:
    traced = nbfn.function(lambda x: x + 1)
    traced(tf.constant(1))
    (trace,) = traced.traces
    found = trace.diff(trace)
    assert found.same
    assert str(found) == "trace 1 and trace 1 do the same"


def test_a_long_list_is_cut() -> None:
    def repeat(x, times):
        for _ in range(times):
            x = tf.sin(x)
        return x

    traced, one, two = two_traces(repeat, (tf.ones([]), 1), (tf.ones([]), 40))
    text = str(one.diff(two))
    assert "... and 29 more" in text
    assert len(text.splitlines()) < 30
    del traced


def test_what_cannot_be_compared() -> None:
    traced, one, two = two_traces(lambda x: x + 1, (tf.ones([2]),), (tf.ones([3]),))
    traced.evict(two)
    gc.collect()
    with pytest.raises(EvictedError):
        one.diff(two)


def test_functions_and_traces() -> None:
    w = tf.Variable(2.0)
    f = nbfn.function(lambda x: x * 2.0)
    g = nbfn.function(lambda x: x * w)
    f(tf.ones([2]))
    f(tf.ones([3]))
    g(tf.ones([3]))
    made = nbfn.diff(f, g)
    assert made.numbers == (2, 1)
    assert [capture.name for capture in made.added_captures] == ["w"]
    assert made.causes == ()
    assert str(nbfn.diff(f.traces[0], f)) == str(f.traces[0].diff(f.traces[1]))
    assert nbfn.diff(f, f.traces[1]).same


def test_a_watched_function() -> None:
    plain = tf.function(lambda x: x + 1.0)
    watched = nbfn.watch(plain)
    plain(tf.ones([2]))
    f = nbfn.function(lambda x: x + 1.0)
    f(tf.ones([2]))
    assert not nbfn.diff(watched, f).types


@pytest.mark.parametrize("given", [3, None, "f"])
def test_neither_a_trace_nor_a_function(given: Any) -> None:
    f = nbfn.function(lambda x: x)
    f(1)
    with raises(TypeError):
        nbfn.diff(f, given)


def test_a_function_that_was_never_called() -> None:
    f = nbfn.function(lambda x: x)
    with raises(ValueError):
        nbfn.diff(f, f)
