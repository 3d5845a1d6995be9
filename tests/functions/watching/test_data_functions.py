"""What a function does once that a data set is given, and not for each element."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.watching import watch as watching
from tests.harness.messages import warns


@pytest.fixture(autouse=True)
def discovering() -> Iterator[None]:
    watching.discover()
    yield
    watching.stop_discovering()


def noisy(x: Any) -> Any:
    return tf.cast(x, tf.float64) + np.random.normal()


def test_numpys_random_numbers_in_map_are_reported_once() -> None:
    line = noisy.__code__.co_firstlineno + 1
    with warns(nbfn.NbfnWarning) as warned:
        noise = list(tf.data.Dataset.range(3).map(noisy))
    assert f"line {line} " in str(warned.pop(nbfn.NbfnWarning).message)
    assert float(noise[1] - noise[0]) == pytest.approx(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", nbfn.NbfnWarning)
        for _ in tf.data.Dataset.range(3).map(noisy, num_parallel_calls=2):
            pass


def test_what_runs_for_each_element_is_not_reported() -> None:
    def drawn(x: Any) -> Any:
        return tf.cast(x, tf.float32) + tf.random.uniform([])

    def by_python(x: Any) -> Any:
        return tf.py_function(lambda a: np.float32(np.random.normal()), [x], tf.float32)

    with warnings.catch_warnings():
        warnings.simplefilter("error", nbfn.NbfnWarning)
        for function in (drawn, by_python):
            assert len(set(map(float, tf.data.Dataset.range(3).map(function)))) == 3


def test_inside_of_a_traced_function_it_is_reported_with_that() -> None:
    @nbfn.function
    def summed(n: Any) -> Any:
        data = tf.data.Dataset.range(n).map(lambda x: tf.cast(x, tf.float64) * np.random.rand())
        return data.reduce(np.float64(0.0), lambda a, b: a + b)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", nbfn.NbfnWarning)
        summed(tf.constant(3, tf.int64))
    reported = [str(w.message) for w in caught if w.category is nbfn.NbfnWarning]
    assert len(reported) == 1
    assert reported[0].startswith("`summed` does this only while it is traced")
