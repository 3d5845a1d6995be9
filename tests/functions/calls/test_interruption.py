"""An interrupt stops the loop that a graph runs, and nothing else."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import _tensorflow

MANY = 3_000_000
"""Turns that take many seconds."""

pytestmark = pytest.mark.skipif(
    not _tensorflow.CAN_CANCEL, reason="this TensorFlow cannot stop a graph"
)


@pytest.fixture(autouse=True)
def python_handles_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    assert signal.set_wakeup_fd(-1) == -1
    assert not _tensorflow.has_other_canceller()


@contextmanager
def interrupted_within(count: tf.Variable) -> Iterator[None]:
    """Sends the process an interrupt once a loop has counted ten turns."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            if count.numpy() >= 10:
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


@pytest.fixture
def count() -> tf.Variable:
    return tf.Variable(0)


@pytest.fixture
def counting(count: tf.Variable) -> Any:
    @nbfn.function
    def counting(x, turns):
        for _ in tf.range(turns):
            count.assign_add(1)
            x = x + 1.0
        return x

    return counting


def is_stopped(count: tf.Variable, work: Callable[[], Any]) -> bool:
    """Whether an interrupt ends some work before its loop has made all turns."""
    count.assign(0)
    with interrupted_within(count), pytest.raises(KeyboardInterrupt) as raised:
        work()
    assert raised.value.__suppress_context__
    (note,) = raised.value.__notes__  # and none of TensorFlow's error
    assert note.startswith("interrupted while `")
    return 10 <= count.numpy() < MANY


def test_the_first_call_stops(counting, count) -> None:
    assert is_stopped(count, lambda: counting(tf.constant(0.0), tf.constant(MANY)))
    assert float(counting(tf.constant(0.0), tf.constant(3))) == 3.0
    assert (counting.calls, counting.hits, len(counting.traces)) == (2, 1, 1)


def test_a_hit_stops_each_time(counting, count) -> None:
    for _ in range(3):
        counting(tf.constant(0.0), tf.constant(3))
    for _ in range(2):
        assert is_stopped(count, lambda: counting(tf.constant(0.0), tf.constant(MANY)))
    assert float(counting(tf.constant(0.0), tf.constant(3))) == 3.0
    assert len(counting.traces) == 1


def test_a_call_under_a_tape_stops(counting, count) -> None:
    x = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = counting(x, tf.constant(3))
    assert float(tape.gradient(y, x)) == 1.0

    def work() -> None:
        with tf.GradientTape():
            counting(x, tf.constant(MANY))

    assert is_stopped(count, work)


def test_a_loop_in_a_function_that_is_called_stops(counting, count) -> None:
    @nbfn.function
    def outer(turns):
        return counting(tf.constant(0.0), turns) * 2

    for _ in range(2):
        assert is_stopped(count, lambda: outer(tf.constant(MANY)))
    assert float(outer(tf.constant(3))) == 6.0


def test_a_method_that_makes_variables_stops(count) -> None:
    class Model(tf.Module):
        w = None

        @nbfn.function
        def __call__(self, turns):
            if self.w is None:
                self.w = tf.Variable(1.0)
            while count < turns:
                count.assign_add(1)
            return self.w * 2

    model = Model()
    assert is_stopped(count, lambda: model(tf.constant(MANY)))
    assert float(model(tf.constant(0))) == 2.0


@pytest.mark.parametrize(
    "prepare", [lambda data: data, lambda data: data.map(lambda n: n + 1).batch(4).prefetch(2)]
)
def test_a_loop_over_data_stops(count, prepare: Callable[[Any], Any]) -> None:
    data = prepare(tf.data.Dataset.range(MANY * 100))

    @nbfn.function
    def train():
        for _ in data:
            count.assign_add(1)
        return count.read_value()

    for _ in range(2):
        assert is_stopped(count, train)
    assert int(data.take(3).reduce(0, lambda number, _: number + 1)) == 3


def test_the_functions_of_other_threads_go_on(counting, count) -> None:
    other = tf.Variable(0)
    ended = threading.Event()
    failures: list[Exception] = []

    @nbfn.function
    def elsewhere():
        for _ in tf.range(1000):
            other.assign_add(1)
        return other.read_value()

    def work() -> None:
        try:
            while not ended.is_set():
                elsewhere()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert is_stopped(count, lambda: counting(tf.constant(0.0), tf.constant(MANY)))
    finally:
        ended.set()
        thread.join()
    assert failures == []
    assert other.numpy() % 1000 == 0


def test_who_handles_interrupts_himself_gets_the_whole_result(counting, count) -> None:
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(int(count.numpy())))
    turns = 100_000
    with interrupted_within(count):
        assert float(counting(tf.constant(0.0), tf.constant(turns))) == turns
    time.sleep(0)  # where Python looks for signals
    assert seen == [turns]


def test_who_reads_signals_himself_goes_on_reading(counting, count) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing)
    try:
        with interrupted_within(count), suppress(KeyboardInterrupt):
            counting(tf.constant(0.0), tf.constant(100_000))
        assert os.read(reading, 10) == bytes([signal.SIGINT])
        assert signal.set_wakeup_fd(before) == writing
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def test_an_error_of_the_graph_stays_what_it_is(count) -> None:
    @nbfn.function
    def failing(turns):
        for i in tf.range(turns):
            tf.debugging.assert_less(i, 5)
        return turns

    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError):
            failing(tf.constant(10))
    assert int(failing(tf.constant(3))) == 3


total = tf.Variable(0, dtype=tf.int64)
DATA = tf.data.Dataset.range(3)


def loop(x: tf.Tensor) -> tf.Tensor:
    while x < 10.0:
        x = x + 1.0
    return x


def over_data(x: tf.Tensor) -> tf.Tensor:
    for each in DATA:
        total.assign_add(each)
    return x + tf.cast(total, tf.float32)


def with_an_effect_after_data(x: tf.Tensor) -> tf.Tensor:
    for each in DATA:
        total.assign_add(each)
    total.assign(total * 2)
    return x


def data_in_a_loop(x: tf.Tensor) -> tf.Tensor:
    while x < 10.0:
        for each in DATA:
            total.assign_add(each)
        x = x + 1.0
    return x


def over_an_iterator(x: tf.Tensor) -> tf.Tensor:
    for each in iter(DATA):
        total.assign_add(each)
    return x


@tf.function(jit_compile=True)
def compiled(x: tf.Tensor) -> tf.Tensor:
    return x * 2


def with_a_compiled_part(x: tf.Tensor) -> tf.Tensor:
    while x < 10.0:
        x = compiled(x)
    return x


@pytest.mark.parametrize(
    ("function", "options", "expected"),
    [
        (loop, {}, True),
        (loop, {"jit_compile": True}, False),
        (with_a_compiled_part, {}, False),
        (over_data, {}, True),
        (with_an_effect_after_data, {}, False),
        (data_in_a_loop, {}, False),
        (over_an_iterator, {}, False),
        (lambda x: x * 2, {}, False),
    ],
)
def test_what_can_be_stopped(function, options: dict[str, Any], expected: bool) -> None:
    traced = nbfn.function(function, **options)
    assert traced.graph_function(tf.constant(1.0)).can_be_stopped is expected
