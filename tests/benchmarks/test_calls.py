"""What a call costs, each against a bare tf.function in the same run. `make bench` prints it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import nbfn


def body() -> Callable[[Any], Any]:
    weight, bias = tf.Variable(tf.ones([10, 10])), tf.Variable(tf.ones([10]))
    return lambda x: tf.matmul(x, weight) + bias


def pairs(make: Callable[[], Callable[..., Any]]) -> dict[str, Any]:
    return {"tf.function": tf.function(make()), "nbfn.function": nbfn.function(make())}


@pytest.mark.parametrize("kind", ["tf.function", "nbfn.function"])
@pytest.mark.benchmark(group="hit: one tensor, two captures")
def test_hit(benchmark: Any, kind: str) -> None:
    f, x = pairs(body)[kind], tf.ones([4, 10])
    f(x)
    f(x)
    benchmark(f, x)


@pytest.mark.parametrize("kind", ["tf.function", "nbfn.function"])
@pytest.mark.benchmark(group="hit: a dict of 50 tensors")
def test_hit_of_a_dict(benchmark: Any, kind: str) -> None:
    f = pairs(lambda: lambda batch: tf.add_n(list(batch.values())))[kind]
    batch = {f"x{i}": tf.ones([4]) for i in range(50)}
    f(batch)
    f(batch)
    benchmark(f, batch)


@pytest.mark.parametrize("kind", ["tf.function", "nbfn.function"])
@pytest.mark.benchmark(group="hit: literals, keywords and defaults")
def test_hit_with_literals(benchmark: Any, kind: str) -> None:
    f = pairs(lambda: lambda x, scale=2.0, *, mode="train", steps=3: x * scale * steps)[kind]
    x = tf.ones([4])
    f(x, steps=5)
    f(x, steps=5)
    benchmark(f, x, steps=5)


@pytest.mark.parametrize("kind", ["tf.function", "nbfn.function"])
@pytest.mark.benchmark(group="hit: under GradientTape")
def test_hit_under_a_tape(benchmark: Any, kind: str) -> None:
    f, x = pairs(body)[kind], tf.ones([4, 10])

    def step() -> Any:
        with tf.GradientTape():
            return f(x)

    step()
    step()
    benchmark(step)


@pytest.mark.parametrize("kind", ["tf.function", "nbfn.function"])
@pytest.mark.benchmark(group="miss: a function of 600 operations")
def test_miss(benchmark: Any, kind: str) -> None:
    def long(x: Any) -> Any:
        for _ in range(300):
            x = tf.tanh(x) + 1.0
        return x

    def setup() -> tuple[tuple[Any, Any], dict[str, Any]]:
        make = tf.function if kind == "tf.function" else nbfn.function
        f = make(long, autograph=False)
        return (f, tf.ones([3])), {}

    benchmark.pedantic(lambda f, x: f(x), setup=setup, rounds=8)


@pytest.mark.parametrize("traces", [1, 1000])
@pytest.mark.benchmark(group="hit: among 1 and 1,000 traces")
def test_hit_among_many(benchmark: Any, traces: int) -> None:
    f = nbfn.function(lambda x, n: x, autograph=False, max_traces=None)
    x = tf.ones([4])
    for n in range(traces):
        f(x, n)
    f(x, 0)
    benchmark(f, x, 0)
