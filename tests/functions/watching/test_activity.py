"""What a thread is doing, seen from another one."""

from __future__ import annotations

import gc
import inspect
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.watching.activity import Activity, activity_of, lines


class Gate:
    """Where a thread waits until it has been looked at."""

    def __init__(self) -> None:
        self._reached, self._open = threading.Event(), threading.Event()

    def wait(self) -> None:
        self._reached.set()
        assert self._open.wait(120)

    def open(self) -> None:
        """Lets the thread go on."""
        self._open.set()

    def await_thread(self) -> None:
        """Returns when a thread waits here."""
        assert self._reached.wait(120)

    @contextmanager
    def held(self, call: Callable[[], Any]) -> Iterator[int]:
        """Makes a call on a thread; inside the block the thread waits at the gate."""
        thread = threading.Thread(target=call)
        thread.start()
        try:
            self.await_thread()
            assert thread.ident is not None
            yield thread.ident
        finally:
            self.open()
            thread.join()


@pytest.fixture
def gate() -> Gate:
    return Gate()


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_a_thread_that_is_in_no_function() -> None:
    assert activity_of(threading.get_ident()) is None
    assert activity_of(-1) is None


@pytest.mark.parametrize("make", [nbfn.function, tf.function])
def test_a_trace_with_its_graph_and_the_line_that_autograph_has_converted(gate, make) -> None:
    wait = tf.autograph.experimental.do_not_convert(gate.wait)

    def slow(x):
        y = x + 1
        if tf.reduce_sum(y) > 0:
            y = y * 2
        wait()  # here
        return y

    f = make(slow)
    with gate.held(lambda: f(tf.constant(1.0))) as thread:
        seen = activity_of(thread)
        assert isinstance(seen, Activity)
        assert (seen.kind, seen.name, seen.inner) == ("trace", "slow", None)
        assert (__file__, line_of(slow, "# here")) in lines(thread)
        if make is tf.function:  # which notes nothing of itself
            assert (seen.recorder, seen.operations()) == (None, None)
        else:
            assert seen.recorder is f.recorder
            done, total = seen.operations()
            assert done >= 3
            assert total is None
    assert activity_of(thread) is None


def test_a_retrace_is_measured_against_the_newest_trace(gate) -> None:
    stops = [False]
    wait = tf.autograph.experimental.do_not_convert(lambda: stops[0] and gate.wait())

    @nbfn.function
    def f(x):
        for _ in range(20):
            x = x + 1
        wait()
        return x * 2

    f(tf.constant(1.0))
    stops[0] = True
    with gate.held(lambda: f(tf.constant([1.0, 2.0]))) as thread:
        seen = activity_of(thread)
        assert seen is not None
        done, total = seen.operations()
        assert 20 <= done < total == f.traces[0].operations


def test_the_innermost_function_is_named(gate) -> None:
    wait = tf.autograph.experimental.do_not_convert(gate.wait)

    @nbfn.function
    def inner(x):
        wait()
        return x

    @nbfn.function
    def outer(x):
        return inner(x) + 1

    with gate.held(lambda: outer(tf.constant(1.0))) as thread:
        seen = activity_of(thread)
        assert seen is not None
        assert (seen.name, seen.inner) == ("outer", "inner")


@pytest.mark.parametrize("hit", [False, True])
def test_a_run_with_the_integers_that_it_counts(gate, hit) -> None:
    iterations = tf.Variable(3, name="iterations")
    stops = [not hit]

    def maybe_wait():
        if stops[0]:
            gate.wait()
        return 1

    @nbfn.function
    def train(x):
        one = tf.py_function(maybe_wait, [], tf.int32)
        iterations.assign_add(one)
        return x

    if hit:
        train(tf.constant(1.0))
        stops[0] = True
    with gate.held(lambda: train(tf.constant(1.0))) as thread:
        seen = activity_of(thread)
        assert seen is not None
        assert (seen.kind, seen.name, seen.recorder) == ("run", "train", train.recorder)
        assert dict(seen.counters()) == {"iterations": 4 if hit else 3}
        again = activity_of(thread)
        assert again is not None
        assert again.identity == seen.identity


def test_two_calls_are_distinguished() -> None:
    first, second = Gate(), Gate()
    gates = iter([first, second])

    @nbfn.function
    def f(x):
        return tf.py_function(lambda: next(gates).wait() or 1.0, [], tf.float32) + x

    def twice():
        f(tf.constant(1.0))
        f(tf.constant(1.0))

    with first.held(twice) as thread:
        before = activity_of(thread)
        first.open()
        second.await_thread()
        after = activity_of(thread)
        second.open()
    assert before is not None
    assert after is not None
    assert (before.name, before.kind) == (after.name, after.kind) == ("f", "run")
    assert before.identity != after.identity


def test_what_was_seen_keeps_nothing_alive(gate) -> None:
    wait = tf.autograph.experimental.do_not_convert(gate.wait)

    def make():
        @nbfn.function
        def f(x):
            wait()
            return x

        return f

    alive = [make()]
    with gate.held(lambda: alive[0](tf.constant(1.0))) as thread:
        seen = activity_of(thread)
    assert seen is not None
    dead = weakref.ref(alive.pop())
    gc.collect()
    assert dead() is None
    assert (seen.recorder, seen.operations()) == (None, None)


def test_the_locals_of_the_users_own_frames_are_left_alone(gate) -> None:
    seen = []

    class Callable:
        def __call__(self, x):
            mine = locals()
            del x
            gate.wait()
            seen.append(sorted(mine))

    with gate.held(lambda: Callable()(1)) as thread:
        assert activity_of(thread) is None
    assert seen == [["gate", "seen", "self", "x"]]
