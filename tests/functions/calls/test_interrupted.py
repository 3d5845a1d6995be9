"""An interrupt at any point of nbfn's own code leaves everything whole: the next call is right."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import _tensorflow
from nbfn.functions import live_functions
from tests.harness.interrupting import interrupted_at, points_in, some

SAMPLE = 6
"""Interrupts for each kind of function, a third of it for slow kinds; NBFN_POINTS sets another."""

SLOW = ("compiled", "local state")

pytestmark = [
    pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning"),
    # Python drops an interrupt that comes while a generator is closed.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

rate = 2.0
traced = {"how often": 0, "for more": 0}


@dataclass
class World:
    """A function, what is done with it, and what must hold afterwards.

    Attributes:
        function: The function.
        work: Makes calls; tells `done` of each that has ended.
        expected: Arguments for calls, and what they return.
        variable: Grows by one with each call.
        done: Calls that have ended.
    """

    function: Any
    work: Callable[[World], None]
    expected: list[tuple[tuple[Any, ...], list[float]]]
    variable: Callable[[], tf.Variable | None]
    done: int = 0

    def call(self, *args: Any) -> Any:
        value = self.function(*args)
        self.done += 1
        return value


def _calls(world: World) -> None:
    with nbfn.stance("default"), tf.device("CPU:0"):
        for args, _ in world.expected:
            world.call(*args)
            world.call(*args)


def _calls_and_looks(world: World) -> None:
    _calls(world)
    world.function.explain(tf.ones([7]), 1)
    world.function.graph_function(tf.ones([6]), 1)
    world.function.suggest()
    world.call(tf.ones([2]), 1)


def _calls_and_check(world: World) -> None:
    world.call(tf.ones([2]), 1)
    world.function.check(tf.ones([2]), 1)


RESULTS = [
    ((tf.ones([2]), 1), [3.0, 3.0]),
    ((tf.ones([3]), 1), [3.0] * 3),
    ((tf.ones([2]), 2), [4.0, 4.0]),
]


def plain(**options: Any) -> World:
    v = tf.Variable(0.0)

    @nbfn.function(**options)
    def f(x: tf.Tensor, n: int) -> tf.Tensor:
        v.assign_add(1.0)
        y = x * rate
        if tf.reduce_sum(y) > 1e9:
            y = -y
        for _ in range(n):
            y = y + 1.0
        return y

    return World(f, _calls_and_looks, RESULTS, lambda: v)


def checked() -> World:
    world = plain()
    world.work = _calls_and_check
    return world


def that_changes_a_global() -> World:
    v = tf.Variable(0.0)

    @nbfn.function
    def f(x: tf.Tensor, n: int) -> tf.Tensor:
        traced["how often"] += 1
        if n > 1:
            traced["for more"] += 1
        v.assign_add(1.0)
        return x * rate + float(n)

    return World(f, _calls, RESULTS, lambda: v)


def with_local_state() -> World:
    v = tf.Variable(0.0)

    @nbfn.function(local_state=True)
    def f(x: tf.Tensor, n: int) -> tf.Tensor:
        own = tf.Variable(x)
        own.assign_add(x)
        v.assign_add(1.0)
        return own + float(n)

    return World(f, _calls, RESULTS, lambda: v)


def looping() -> World:
    v = tf.Variable(0.0)

    @nbfn.function
    def f(x: tf.Tensor, n: int) -> tf.Tensor:
        v.assign_add(1.0)
        y = x * rate
        while tf.reduce_min(y) < 2.0 + float(n):
            y = y + 1.0
        return y

    return World(f, _calls, RESULTS, lambda: v)


def inferred() -> World:
    world = plain(infer_signature_from_first_call=True)
    world.work, world.expected = _calls, RESULTS[:1]
    return world


KINDS: dict[str, Callable[[], World]] = {
    "plain": plain,
    "inferred": inferred,
    "evicting": lambda: plain(max_traces=1, on_limit="evict"),
    "reducing": lambda: plain(reduce_retracing=True),
    "compiled": lambda: plain(jit_compile=True),
    "checked": checked,
    "changes a global": that_changes_a_global,
    "local state": with_local_state,
    "looping": looping,
}


def problems(world: World) -> Iterator[str]:
    """What is wrong after an interrupt."""
    f = world.function
    if f.recorder.current is not None:
        yield "a call is still open"
    for lock in (f.recorder.lock, f._lock, f.recorder.guards._lock):
        if not _is_free(lock):
            yield f"{lock} is held"
    if not _tensorflow.is_plain_eager() or _tensorflow.explicit_device():
        yield "TensorFlow is not eager, or in a device's scope"
    if f.recorder.failed is not None or f.recorder.guards.on_stale != "retrace":
        yield f"the recorder is off: {f.recorder.failed}"
    known = {id(concrete) for concrete in _tensorflow.concrete_functions(f)}
    if known != set(f.recorder.traces):
        yield f"{len(known)} traces in the cache, {len(f.traces)} recorded"
    variable = world.variable()
    assert variable is not None
    for what, number in (("calls", f.calls), ("updates", variable.numpy())):
        if number not in (world.done, world.done + 1):
            yield f"{number} {what} after {world.done}"
    yield from _wrong_calls(world)


def _wrong_calls(world: World) -> Iterator[str]:
    f, calls = world.function, world.function.calls
    for args, result in world.expected:
        for value in (_elsewhere(lambda args=args: f(*args)), f(*args)):
            if value is None or value.numpy().tolist() != result:
                yield f"{value} in place of {result}"
    if f.calls != calls + 2 * len(world.expected):
        yield f"{f.calls} calls after {calls} and {2 * len(world.expected)}"
    if f.hits != sum(trace.hits for trace in f.traces) and f.options["on_limit"] != "evict":
        yield f"{f.hits} hits, of traces {[trace.hits for trace in f.traces]}"
    args, _ = world.expected[-1]
    before = [trace.number for trace in f.traces]
    f(*args)
    if [trace.number for trace in f.traces] != before or f.recorder.last != "hit":
        yield f"{f.recorder.last} where a hit is due"
    if not any(each is f for each in live_functions()):
        yield "the session does not know it"


def _is_free(lock: Any) -> bool:
    def try_() -> bool:
        taken = lock.acquire(timeout=1)
        if taken:
            lock.release()
        return bool(taken)

    return bool(_elsewhere(try_))


def _elsewhere(work: Callable[[], Any]) -> Any:
    """The result of some work on another thread; None if it does not end."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(20)
    return results[0] if results else None


@pytest.mark.parametrize("kind", KINDS)
def test_at_any_point_of_a_call(kind: str) -> None:
    make = KINDS[kind]
    world = make()
    count = points_in(lambda: world.work(world))
    assert list(problems(world)) == []
    most = len(world.function.traces)
    found = {}
    for number in some(count, SAMPLE // 3 if kind in SLOW else SAMPLE):
        world = make()
        place = interrupted_at(number, lambda world=world: world.work(world))
        wrong = list(problems(world))
        if len(world.function.traces) > most:
            wrong.append(f"{len(world.function.traces)} traces")
        if wrong:
            found[f"{number}: {place}"] = wrong
    assert found == {}
