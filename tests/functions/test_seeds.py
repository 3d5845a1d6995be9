"""`tf.random.set_seed` between calls: a trace draws as Python would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn
from tests.harness.messages import warns


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    yield
    tf.random.set_seed(0)


def test_another_seed_draws_other_numbers_and_the_same_seed_the_same() -> None:
    @nbfn.function
    def draw(x: Any) -> Any:
        return x + tf.random.uniform([])

    found: dict[int, list[float]] = {}
    for seed in (42, 4300, 42, 4300, 42):
        tf.random.set_seed(seed)
        found.setdefault(seed, []).append(float(draw(tf.constant(0.0))))
        draw(tf.constant(0.0))
    assert len(set(found[42])) == len(set(found[4300])) == 1
    assert found[42] != found[4300][:1]
    assert len(draw.traces) == 2
    (retrace,) = draw.retraces
    assert str(retrace.causes[0]) == "setting `tf.random.set_seed` was 42, is 4300"
    assert "tf.random.stateless_… with a seed that is an argument" in str(retrace.remedy)


def test_a_seed_that_is_first_set_between_calls() -> None:
    draw = nbfn.function(lambda: tf.random.normal([4]))
    tf.random.set_seed(7000)
    draw()
    tf.random.set_seed(8000)
    first = draw()
    tf.random.set_seed(8000)
    assert (draw() == first).numpy().all()


def test_what_draws_nothing_is_not_traced_again() -> None:
    @nbfn.function
    def outer(x: Any, train: bool) -> Any:
        return inner(x) if train else 2 * x

    @nbfn.function
    def inner(x: Any) -> Any:
        for _ in tf.range(2):
            x += tf.random.uniform([])
        return x

    plain = nbfn.function(lambda x: tf.random.stateless_uniform([], [1, 2]) + x)
    values = []
    for seed in (1000, 2000, 3000):
        tf.random.set_seed(seed)
        values.append(float(outer(tf.constant(1.0), True)))
        outer(tf.constant(1.0), False)
        plain(tf.constant(1.0))
    assert len(set(values)) == 3
    assert len(plain.traces) == 1
    assert [trace.signature for trace in outer.traces].count("x: float32[], train: False") == 1


def test_a_seed_that_the_function_sets_itself_is_no_cause() -> None:
    @nbfn.function
    def draw() -> Any:
        tf.random.set_seed(5000)
        return tf.random.uniform([])

    with warns(nbfn.NbfnWarning):
        draw()
    for _ in range(3):
        draw()
    assert len(draw.traces) == 1


def test_the_global_generator_of_tensorflow() -> None:
    drawn: dict[bool, list[float]] = {}
    for traced in (False, True):
        draw: Any = lambda: tf.random.get_global_generator().uniform([])  # noqa: E731
        draw = nbfn.function(draw) if traced else draw
        for _ in range(3):
            tf.random.set_global_generator(tf.random.Generator.from_seed(3))
            drawn.setdefault(traced, []).extend(float(draw()) for _ in range(2))
    assert drawn[True] == drawn[False]
    assert draw.retraces[0].causes[0].path == "tf.random.set_global_generator"


def test_the_generator_of_keras() -> None:
    drawn: dict[bool, list[float]] = {}
    for traced in (False, True):
        draw: Any = lambda: keras.random.uniform([])  # noqa: E731
        draw = nbfn.function(draw) if traced else draw
        for _ in range(3):
            keras.utils.set_random_seed(3)
            drawn.setdefault(traced, []).extend(float(draw()) for _ in range(2))
    assert drawn[True] == drawn[False]
