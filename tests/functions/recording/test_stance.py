"""Stances and `expect_traces`: calls that may not trace, and code that may not trace much."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.recording.stance import set_stance
from tests.harness.messages import raises


def square(x: Any) -> Any:
    return x * x


def test_fail_on_retrace_lets_first_traces_and_hits_pass() -> None:
    f, g = nbfn.function(square), nbfn.function(square)
    f(tf.ones([1]))
    with nbfn.stance("fail_on_retrace"):
        f(tf.ones([1])), g(tf.ones([1]))
        with raises(nbfn.RetraceError):
            f(tf.ones([2]))
    assert (len(f.traces), f.calls) == (1, 2)
    f(tf.ones([2]))
    assert len(f.traces) == 2


def test_eager_runs_python_and_records_nothing() -> None:
    seen: list[Any] = []
    f = nbfn.function(lambda x: seen.append(tf.executing_eagerly()) or x)
    with nbfn.stance("eager"):
        f(tf.ones([1]))
    f(tf.ones([1]))
    assert seen == [True, False]
    assert f.calls == 1


def test_eager_on_retrace() -> None:
    seen: list[bool] = []

    @nbfn.function
    def f(x: Any) -> Any:
        seen.append(tf.executing_eagerly())
        return x

    f(tf.ones([1]))
    with nbfn.stance("eager_on_retrace"):
        f(tf.ones([1]))
        assert f(tf.ones([2])).shape == [2]
    assert seen == [False, True]
    assert len(f.traces) == 1


def test_the_innermost_block_counts_and_only_for_its_functions() -> None:
    f, g = nbfn.function(square), nbfn.function(square)
    f(tf.ones([1])), g(tf.ones([1]))
    with nbfn.stance("fail_on_retrace", f):
        g(tf.ones([2]))
        with nbfn.stance("default"):
            f(tf.ones([2]))
        with pytest.raises(nbfn.RetraceError):
            f(tf.ones([3]))


def test_a_functions_own_stance_goes_first() -> None:
    f = nbfn.function(square)
    f(tf.ones([1]))
    f.stance = "fail_on_retrace"
    with nbfn.stance("eager"), pytest.raises(nbfn.RetraceError):
        f(tf.ones([2]))
    f.stance = None
    f(tf.ones([2]))
    with raises(ValueError):
        f.stance = "never"


def test_a_block_is_its_threads_own_and_set_stance_is_everywhere() -> None:
    f = nbfn.function(square)
    f(tf.ones([1]))
    results: list[Any] = []

    def call(size: int) -> None:
        try:
            results.append(f(tf.ones([size])).shape[0])
        except nbfn.RetraceError as error:
            results.append(type(error))

    def in_thread(size: int) -> None:
        thread = threading.Thread(target=call, args=[size])
        thread.start()
        thread.join()

    with nbfn.stance("fail_on_retrace"):
        in_thread(2)
    set_stance("fail_on_retrace")
    try:
        in_thread(3)
    finally:
        set_stance("default")
    assert results == [2, nbfn.RetraceError]


def test_bad_stances_are_refused() -> None:
    with raises(ValueError):
        nbfn.stance("fast").__enter__()
    with raises(TypeError):
        nbfn.stance("eager", square).__enter__()


def test_expect_traces_names_the_causes() -> None:
    f = nbfn.function(square)
    with nbfn.expect_traces(f):
        f(tf.ones([1])), f(tf.ones([1]))
    with nbfn.expect_traces(f, at_most=0):
        f(tf.ones([1]))
    with raises(nbfn.TooManyTracesError), nbfn.expect_traces(f, at_most=1):
        f(tf.ones([2])), f(tf.ones([3]))
    f(tf.ones([9]))


def test_expect_traces_lets_the_blocks_own_error_pass_and_refuses_bad_arguments() -> None:
    f = nbfn.function(square)
    with pytest.raises(ZeroDivisionError), nbfn.expect_traces(f, at_most=0):
        f(tf.ones([1 // len(f.traces)]))
    for bad in ([], [square]):
        with pytest.raises(TypeError), nbfn.expect_traces(*bad):
            pass
    with raises(ValueError), nbfn.expect_traces(f, at_most=-1):
        pass


def test_a_function_that_is_given_twice_is_counted_once() -> None:
    f = nbfn.function(lambda x: x)
    with nbfn.expect_traces(f, f, at_most=1):
        f(1)


def test_what_runs_eagerly_at_the_limit_is_no_trace_and_has_no_other_error() -> None:
    def step(x: Any) -> Any:
        if x.shape == [3]:
            raise ValueError(sys.exc_info()[1])
        return x + 1

    f = nbfn.function(step, jit_compile=True, max_traces=1, on_limit="eager")
    f(tf.ones([1]))
    assert f(tf.ones([2])).numpy().tolist() == [2.0, 2.0]
    assert len(f.retraces) == 0
    with pytest.raises(ValueError, match="None") as raised:
        f(tf.ones([3]))
    assert raised.value.__context__ is None


@pytest.mark.parametrize("convert", [True, False])
@pytest.mark.parametrize("name", ["eager", "eager_on_retrace", None])
def test_what_runs_inside_a_trace_is_converted_as_its_own_trace(name, convert: bool) -> None:
    @nbfn.function(max_traces=1, on_limit="eager")
    def third(x):
        for _ in tf.range(3):
            x = x + 1.0
        return x

    third(tf.ones([2]))
    third.stance = name
    for function in (tf.function, nbfn.function):
        outer = function(lambda x: third(x), autograph=convert)
        assert outer(tf.ones([1])).numpy().tolist() == [4.0]
    assert (third.calls, len(third.traces)) == (1, 1)
