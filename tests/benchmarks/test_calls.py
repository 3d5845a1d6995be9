"""What a call costs, each against a bare tf.function in the same run. `make bench` prints it."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from tests.benchmarks.turns import clock, in_turn, report


def body() -> Callable[[Any], Any]:
    weight, bias = tf.Variable(tf.ones([10, 10])), tf.Variable(tf.ones([10]))
    return lambda x: tf.matmul(x, weight) + bias


def pairs(make: Callable[[], Callable[..., Any]]) -> dict[str, Any]:
    return {"tf.function": tf.function(make()), "nbfn.function": nbfn.function(make())}


def ways() -> dict[str, Callable[[Any], Any]]:
    """One function, called in each way that there is."""
    functions = pairs(body)
    concrete = tf.function(body()).get_concrete_function(tf.ones([4, 10]))
    captured, dtypes = concrete.captured_inputs, [tf.float32]

    def operation(x: Any) -> Any:
        return tf.raw_ops.StatefulPartitionedCall(args=[x, *captured], Tout=dtypes, f=concrete)

    return {**functions, "ConcreteFunction": concrete, "the graph's operation alone": operation}


@pytest.mark.parametrize(
    "kind", ["tf.function", "nbfn.function", "ConcreteFunction", "the graph's operation alone"]
)
@pytest.mark.benchmark(group="hit: one tensor, two captures")
def test_hit(benchmark: Any, kind: str) -> None:
    f, x = ways()[kind], tf.ones([4, 10])
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
@pytest.mark.benchmark(group="hit: two arrays of NumPy")
def test_hit_of_arrays(benchmark: Any, kind: str) -> None:
    f = pairs(lambda: lambda images, labels: images * labels)[kind]
    arrays = np.ones([32, 10], np.float32), np.ones([32, 10], np.float32)
    f(*arrays)
    f(*arrays)
    benchmark(f, *arrays)


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


def first_call(make: Callable[..., Any]) -> float:
    def long(x: Any) -> Any:
        for _ in range(300):
            x = tf.tanh(x) + 1.0
        return x

    f, x = make(long, autograph=False), tf.ones([3])
    started = time.perf_counter()
    f(x)
    return time.perf_counter() - started


@functools.cache
def misses() -> dict[str, list[float]]:
    kinds = {"tf.function": tf.function, "nbfn.function": nbfn.function}
    return in_turn({kind: functools.partial(first_call, kinds[kind]) for kind in kinds}, rounds=8)


@pytest.mark.parametrize("kind", ["tf.function", "nbfn.function"])
@pytest.mark.benchmark(group="miss: a function of 600 operations", timer=clock)
def test_miss(benchmark: Any, kind: str) -> None:
    report(benchmark, misses()[kind])


@pytest.mark.parametrize("traces", [1, 1000])
@pytest.mark.benchmark(group="hit: among 1 and 1,000 traces")
def test_hit_among_many(benchmark: Any, traces: int) -> None:
    f = nbfn.function(lambda x, n: x, autograph=False, max_traces=None)
    x = tf.ones([4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(traces):
            f(x, n)
    f(x, 0)
    benchmark(f, x, 0)


@pytest.mark.parametrize("kind", ["tf.function", "nbfn.function"])
@pytest.mark.benchmark(group="hit: a method of a module")
def test_hit_of_a_method(benchmark: Any, kind: str) -> None:
    decorator: Any = tf.function if kind == "tf.function" else nbfn.function

    class Model(tf.Module):
        def __init__(self) -> None:
            self.weight, self.bias = tf.Variable(tf.ones([10, 10])), tf.Variable(tf.ones([10]))

        @decorator
        def step(self, x: Any) -> Any:
            return tf.matmul(x, self.weight) + self.bias

    model, x = Model(), tf.ones([4, 10])
    model.step(x)
    model.step(x)
    benchmark(lambda: model.step(x))


@pytest.mark.parametrize("guards", [0, 20])
@pytest.mark.benchmark(group="hit: with so many guards")
def test_hit_with_guards(benchmark: Any, guards: int) -> None:
    names = [f"value_{i}" for i in range(guards)]
    space: dict[str, Any] = {"__name__": "__main__", **dict.fromkeys(names, 2.0)}
    exec(f"def f(x): return x * {' * '.join(['1.0', *names])}", space)
    f, x = nbfn.function(space["f"], autograph=False), tf.ones([4])
    f(x)
    f(x)
    benchmark(f, x)


@pytest.mark.benchmark(group="explaining a miss among 1,000 traces")
def test_explain(benchmark: Any) -> None:
    f = nbfn.function(lambda x, n: x, max_traces=None, autograph=False)
    x = tf.ones([4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(1000):
            f(x, n)
    benchmark(f.explain, x, -1)
