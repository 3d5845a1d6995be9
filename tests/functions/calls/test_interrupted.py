"""An interrupt while a function is traced drops its traces; the next call is right."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import _tensorflow
from nbfn.functions.recording import recorder

PLACES = (
    "context_key",
    "context_key_after_trace",
    "on_miss",
    "equivalent",
    "_explain",
    "_count_trace",
)


@pytest.fixture
def interrupt() -> Any:
    """Interrupts the next call of a method of recorders, once."""

    def at(place: str) -> None:
        def interrupted(*_: Any) -> None:
            patched.undo()
            raise KeyboardInterrupt

        patched = pytest.MonkeyPatch()
        patched.setattr(recorder.Recorder, place, interrupted)

    return at


def is_whole(function: Any) -> bool:
    """Whether cache and record agree, nothing is open, and other threads can call."""
    done = threading.Event()
    threading.Thread(target=lambda: (function(tf.ones([5])), done.set()), daemon=True).start()
    is_callable = done.wait(20)
    recorded = set(function.recorder.traces)
    cached = {id(each) for each in _tensorflow.concrete_functions(function)}
    return is_callable and function.recorder.current is None and cached == recorded


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("calls_before", [0, 2])
def test_in_the_bookkeeping_of_a_trace(interrupt, place: str, calls_before: int) -> None:
    v = tf.Variable(0.0)

    @nbfn.function
    def f(x: tf.Tensor) -> tf.Tensor:
        v.assign_add(1.0)
        return x * 2.0

    for size in range(calls_before):
        f(tf.ones([size + 1]))
    interrupt(place)
    with pytest.raises(KeyboardInterrupt):
        f(tf.ones([4]))
    assert v.numpy() == calls_before
    assert is_whole(f)
    assert f(tf.ones([4])).numpy().tolist() == [2.0] * 4
    assert v.numpy() == calls_before + 2
    assert f.recorder.failed is None


@pytest.mark.parametrize("calls_before", [0, 1])
def test_in_the_python_of_a_trace(calls_before: int) -> None:
    due = [False] * calls_before + [True]
    v = tf.Variable(0.0)

    @nbfn.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        if due and due.pop(0):
            raise KeyboardInterrupt
        return x + 1.0

    @nbfn.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        v.assign_add(1.0)
        return inner(x) * 2.0

    for _ in range(calls_before):
        outer(tf.ones([1]))
    with pytest.raises(KeyboardInterrupt):
        outer(tf.ones([3]))
    assert (outer.traces, inner.traces) == ((), ())
    assert outer(tf.ones([3])).numpy().tolist() == [4.0] * 3
    assert v.numpy() == calls_before + 1
    assert is_whole(outer)
    assert is_whole(inner)


def test_after_a_trace_nothing_is_dropped(interrupt) -> None:
    @nbfn.function
    def f(x: tf.Tensor) -> tf.Tensor:
        return x + 1.0

    f(tf.ones([2]))
    interrupt("end")
    with pytest.raises(KeyboardInterrupt):
        f(tf.ones([3]))
    assert len(f.traces) == 2
    assert is_whole(f)
