"""Many threads call one function: exact counts, one trace for each key, no deadlock."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.traced.traced_function import TracedFunction

THREADS, SIGNATURES, CALLS = 16, 8, 40
rates = {"now": 1.0}

pytestmark = pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")


def test_sixteen_threads_with_eight_signatures() -> None:
    total = tf.Variable(0, dtype=tf.int64)
    scale = 2.0

    @nbfn.function(max_traces=None)
    def f(x: Any, *, mode: str) -> Any:
        total.assign_add(tf.size(x, tf.int64))
        return tf.reduce_sum(x) * scale

    start = threading.Barrier(THREADS)

    def work(seed: int) -> list[float]:
        start.wait(60)
        found = []
        for i in range(CALLS):
            size = (seed + i) % SIGNATURES + 1
            found.append(float(f(tf.ones([size]), mode="train")) - 2.0 * size)
        return found

    with ThreadPoolExecutor(THREADS) as pool:
        results = [each for part in pool.map(work, range(THREADS), timeout=240) for each in part]
    assert results == [0.0] * (THREADS * CALLS)
    assert f.calls == THREADS * CALLS
    assert len(f.traces) == SIGNATURES
    assert f.hits == f.calls - SIGNATURES
    assert sum(trace.hits for trace in f.traces) == f.hits
    assert len(f.retraces) == SIGNATURES - 1
    sizes = [(seed + i) % SIGNATURES + 1 for seed in range(THREADS) for i in range(CALLS)]
    assert int(total) == sum(sizes)


def test_threads_that_create_one_function_and_evict_from_it() -> None:
    f = nbfn.function(lambda x: x + 1, max_traces=2, on_limit="evict")

    def work(seed: int) -> bool:
        return all(
            f(tf.zeros([(seed + i) % 4 + 1])).shape[0] == (seed + i) % 4 + 1 for i in range(10)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8), timeout=240))
    assert f.calls == 80
    assert len(f.traces) <= 2


def test_a_call_with_wrong_arguments_does_not_lock_the_others_out() -> None:
    f = nbfn.function(lambda x: x + 1)
    failed = []
    try:
        f(1, 2, 3)
    except TypeError:
        failed.append(True)
    results: list[int] = []
    other = threading.Thread(target=lambda: results.append(int(f(tf.constant(1)))), daemon=True)
    other.start()
    other.join(60)
    assert (failed, results) == ([True], [2])


class Settings:
    rate = 1.0
    traced = 0


factor = 1.0


def test_what_another_thread_changes_while_a_trace_is_made_is_guarded() -> None:
    begun, changed = threading.Event(), threading.Event()

    @nbfn.function
    def step(x: Any) -> Any:
        y = x * factor * Settings.rate
        Settings.traced += 1  # its own, and no reason to trace again
        begun.set()
        changed.wait(10)
        return y

    worker = threading.Thread(target=step, args=(tf.constant(2.0),))
    worker.start()
    assert begun.wait(10)
    globals()["factor"] = 3.0
    Settings.rate = 5.0
    changed.set()
    worker.join()
    assert [float(step(tf.constant(2.0))) for _ in range(3)] == [30.0] * 3
    Settings.rate = 7.0
    assert float(step(tf.constant(2.0))) == 42.0
    assert (step.calls, len(step.traces)) == (5, 3)


@pytest.mark.parametrize("kept", [float, tf.Variable])
def test_a_trace_that_has_read_what_another_thread_set_does_not_serve_for_the_old_value(
    kept: Any,
) -> None:
    begun, changed = threading.Event(), threading.Event()
    old, new = kept(1.0), kept(3.0)

    @nbfn.function
    def step(x: Any) -> Any:
        begun.set()
        changed.wait(10)
        return x * factor

    globals()["factor"] = old
    worker = threading.Thread(target=step, args=(tf.constant(2.0),))
    worker.start()
    assert begun.wait(10)
    globals()["factor"] = new
    changed.set()
    worker.join()
    for value in (old, new, old):
        globals()["factor"] = value
        assert float(step(tf.constant(2.0))) == 2.0 * float(value)


def at_once(function: Any) -> list[Any]:
    """The results of four threads that call a function at the same time."""
    start = threading.Barrier(4)

    def work(_: int) -> Any:
        start.wait(60)
        return function(tf.ones([2, 3]))

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(work, range(4), timeout=120))


def test_threads_wait_for_what_the_first_call_creates() -> None:
    def check(seed: int) -> None:
        keras.utils.set_random_seed(seed)
        model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(2)])
        results = at_once(nbfn.function(lambda x: model(x)))
        for result in results:
            tf.debugging.assert_near(result, model(tf.ones([2, 3])))

    for seed in range(4):
        check(seed)


def test_threads_wait_for_a_method_that_one_of_them_binds(monkeypatch: Any) -> None:
    class Scale:
        @nbfn.function
        def __call__(self, x: Any) -> Any:
            return x * 2.0

    become = TracedFunction._become_method

    def slowly(self: Any, *args: Any) -> None:
        time.sleep(0.1)
        become(self, *args)

    monkeypatch.setattr(TracedFunction, "_become_method", slowly)
    for result in at_once(Scale()):
        assert result.numpy().tolist()[0][0] == 2.0


def test_threads_wait_for_a_variable_of_the_function() -> None:
    class Once:
        weight = None

        @nbfn.function
        def __call__(self, x: Any) -> Any:
            if self.weight is None:
                self.weight = tf.Variable(tf.fill([3, 2], 2.0))
            return x @ self.weight

    for result in at_once(Once()):
        assert result.numpy().tolist() == [[6.0, 6.0], [6.0, 6.0]]
