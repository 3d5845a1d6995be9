"""What calls take is counted once, thread by thread."""

from __future__ import annotations

import threading
import time

import pytest
import tensorflow as tf

import nbfn
from nbfn.underway.spent import Spent, spent_here, spent_in_all


def spent_by(work) -> Spent:
    before = spent_here().copy()
    work()
    return spent_here().since(before)


@pytest.fixture
def one() -> tf.Tensor:
    return tf.ones([1])


def test_a_trace_and_hits_are_counted(one) -> None:
    def body(x):
        time.sleep(0.05)
        return x + 1

    f = nbfn.function(body)
    first = spent_by(lambda: f(one))
    assert (first.calls, first.traces) == (1, 1)
    assert 0.05 <= first.tracing == pytest.approx(f.recorder.trace_seconds)
    assert 0 < first.running == pytest.approx(f.recorder.run_seconds)
    hits = spent_by(lambda: [f(one) for _ in range(3)])
    assert (hits.calls, hits.traces, hits.tracing) == (3, 0, 0)
    assert 0 < hits.running < 0.05


def test_what_is_inside_another_call_is_not_counted_again(one) -> None:
    def slow(x):
        time.sleep(0.05)
        return x + 1

    inner = nbfn.function(slow)
    outer = nbfn.function(lambda x: inner(x) * 2)
    spent = spent_by(lambda: outer(one))
    assert (spent.calls, spent.traces) == (1, 2)
    assert spent.tracing == pytest.approx(outer.recorder.trace_seconds)
    assert 0.05 <= spent.tracing < outer.recorder.trace_seconds + inner.recorder.trace_seconds


@pytest.mark.parametrize("own", [True, False], ids=["own stance", "limit"])
def test_what_python_calls_is_counted_although_it_is_a_function_that_runs_as_python(
    own, one
) -> None:
    inner = nbfn.function(lambda x: x + 1)
    inner(one)
    if own:
        outer = nbfn.function(lambda x: inner(inner(x)), autograph=False)
        outer.stance = "eager"
    else:
        outer = nbfn.function(lambda x, n: inner(inner(x)), max_traces=1, on_limit="eager")
        outer(one, 0)
    spent = spent_by(lambda: outer(one) if own else outer(one, 1))
    assert (spent.calls, spent.traces) == (2, 0)
    assert spent.running > 0
    assert spent_by(lambda: inner(one)).calls == 1


def test_a_trace_that_fails_has_cost_its_time(one) -> None:
    def body(x):
        time.sleep(0.05)
        raise ValueError("no")

    f = nbfn.function(body)

    def call() -> None:
        with pytest.raises(ValueError, match="no"):
            f(one)

    spent = spent_by(call)
    assert (spent.calls, spent.traces, spent.running) == (0, 0, 0)
    assert spent.tracing >= 0.05


def test_a_watched_function_counts_its_calls_and_traces(one) -> None:
    f = tf.function(lambda x: x + 1)
    nbfn.watch(f)
    spent = spent_by(lambda: [f(one), f(one)])
    assert (spent.calls, spent.traces) == (2, 1)
    created: list[tf.Variable] = []

    @tf.function
    def creates(x):
        if not created:
            created.append(tf.Variable(1.0))
        return x * created[0]

    nbfn.watch(creates)
    assert spent_by(lambda: creates(one)).calls == 1


def test_a_watched_call_tells_its_copies(one) -> None:
    f = nbfn.function(lambda x: x + 1)
    f(one)
    spent = spent_by(lambda: f.run(one))
    assert (spent.watched, spent.copies, spent.copied_nbytes) == (1, 0, 0)


def test_threads_that_have_ended_still_count(one) -> None:
    f = nbfn.function(lambda x: x + 1)
    f(one)
    before, here = spent_in_all(), spent_here().copy()
    threads = [threading.Thread(target=lambda: [f(one) for _ in range(500)]) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    del threads
    for _ in range(2):
        assert spent_in_all().since(before).calls == 2000
    assert spent_here().since(here).calls == 0
