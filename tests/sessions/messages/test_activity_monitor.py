"""What takes long is reported as records, once a second."""

from __future__ import annotations

import re
import threading
import time

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.progress import graph_loops
from nbfn.functions.watching.activity import Activity
from nbfn.sessions.messages import activity_monitor as activity_module
from nbfn.sessions.messages.activity_monitor import ActivityMonitor
from nbfn.underway.work import Work, working


class Clock:
    """A clock that stands still until it is set forward."""

    def __init__(self) -> None:
        self.now = 1000.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(activity_module, "time", made)
    return made


@pytest.fixture
def here() -> ActivityMonitor:
    return ActivityMonitor(threading.get_ident())


def sentences(monitor: ActivityMonitor) -> list[str]:
    return [row.sentence for row in monitor.sample().values()]


def test_short_work_is_not_worth_a_word(here, clock) -> None:
    with working(Work("export", "model", "step", total=2, started=clock.now)) as work:
        work.next("writing")
        clock.now += 0.9
        assert sentences(here) == []
        clock.now += 0.1
        assert sentences(here) == ["exporting to model: 1 s, step 1 of 2, writing"]
    clock.now += 5
    assert sentences(here) == []


def test_it_is_reported_again_once_a_second(here, clock) -> None:
    with working(Work("loop", "epochs", "steps", total=40, started=clock.now)) as work:
        clock.now += 2
        work.done = 10
        assert sentences(here) == ["epochs: 10 of 40 steps, 2 s, about 6 s left"]
        work.done = 20
        clock.now += 0.5
        assert sentences(here) == ["epochs: 10 of 40 steps, 2 s, about 6 s left"]
        clock.now += 0.5
        [row] = here.sample().values()
        assert row.sentence == "epochs: 20 of 40 steps, 3 s, about 3 s left"
        assert (row.done, row.total, row.seconds, row.kind) == (20, 40, 3, "loop")


def test_a_loop_without_an_end_in_sight(here, clock) -> None:
    with working(Work("loop", "epochs", "steps", started=clock.now)) as work:
        work.done = 1200
        clock.now += 2
        assert sentences(here) == ["epochs: 1,200 steps, 2 s"]


def test_a_trace_says_where_it_is(clock) -> None:
    reached, go_on = threading.Event(), threading.Event()

    @tf.autograph.experimental.do_not_convert
    def wait():
        reached.set()
        assert go_on.wait(120)

    @nbfn.function
    def slow(x):
        wait()
        return x

    thread = threading.Thread(target=slow, args=(tf.constant(1.0),))
    thread.start()
    assert reached.wait(120)
    try:
        assert thread.ident is not None
        monitor = ActivityMonitor(thread.ident, lambda file: "In [7]" if file == __file__ else None)
        assert sentences(monitor) == []
        clock.now += 3
        [row] = monitor.sample().values()
        line = slow.python_function.__code__.co_firstlineno + 2
        wait_line = wait.__wrapped__.__code__.co_firstlineno + 3
        operations = row.done
        assert row.sentence in [
            f"tracing slow: 3 s, {operations} operations, at In [7], line {each}"
            for each in (line, wait_line)
        ]
        assert (row.function, row.kind, row.total) == (slow.id, "trace", None)
    finally:
        go_on.set()
        thread.join()
    clock.now += 1
    assert sentences(monitor) == []


def test_a_run_says_what_it_counts_and_how_far_its_loops_are(clock) -> None:
    reached = {i: threading.Event() for i in (3, 6)}
    go_on = {i: threading.Event() for i in (3, 6)}

    def hold(i):
        if int(i) in reached:
            reached[int(i)].set()
            assert go_on[int(i)].wait(120)
        return 1

    n = tf.Variable(0, name="n")

    @nbfn.function
    def train(steps):
        for i in nbfn.progress(tf.range(steps), "training"):
            n.assign_add(tf.py_function(hold, [i], tf.int32))
        return steps

    thread = threading.Thread(target=train, args=(tf.constant(8),))
    thread.start()
    try:
        assert thread.ident is not None
        monitor = ActivityMonitor(thread.ident)
        assert reached[3].wait(120)
        monitor.sample()
        clock.now += 0.6
        assert monitor.sample() == {}
        go_on[3].set()
        assert reached[6].wait(120)
        until = time.monotonic() + 120  # iterations may overlap: the one before may not be counted
        while (int(n), graph_loops()[-1].extent()) != (6, (6, 8)) and time.monotonic() < until:
            time.sleep(0.01)
        clock.now += 0.6
        counted, training = sentences(monitor)
        assert counted == "running train: 1 s, n at 6"
        assert re.fullmatch(r"training: 6 of 8 steps, 1 s, about 0 m?s left", training)
    finally:
        for event in go_on.values():
            event.set()
        thread.join()


def test_it_looks_at_nothing_that_is_not_loaded(monkeypatch) -> None:
    monkeypatch.delitem(activity_module.sys.modules, "nbfn.functions.watching.activity")
    with working(Work("loop", "epochs", "steps", started=time.perf_counter() - 2)):
        assert sentences(ActivityMonitor(threading.get_ident())) == ["epochs: 0 steps, 2 s"]


def test_many_short_calls_are_not_one_long_one(here, clock, monkeypatch) -> None:
    calls = iter(range(100))
    monkeypatch.setattr(
        activity_module, "_doing", lambda _: Activity("run", "f", (next(calls), 0, None, False))
    )
    for _ in range(10):
        clock.now += 0.6
        assert sentences(here) == []
    same = Activity("run", "f", (-1, 0, None, False))
    monkeypatch.setattr(activity_module, "_doing", lambda _: same)
    for _ in range(3):
        clock.now += 0.6
        said = sentences(here)
    assert said == ["running f: 1 s"]
