"""`nbfn.diff`: two traces, or the newest traces of two functions."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import nbfn
from tests.harness.messages import raises


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
