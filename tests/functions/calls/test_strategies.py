"""Calls on the replicas of a strategy.

Those that a coordinator gives to workers are in ``tests/sessions/cluster/test_connect.py``.
"""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import __main__
import nbfn


def on_replicas() -> dict[str, Any]:
    devices = ["CPU:0", "CPU:1"]
    one, two = (tf.distribute.MirroredStrategy(devices) for _ in range(2))
    with one.scope():
        v = tf.Variable([1.0, 2.0])
        model = tf.Module()
        model.w = tf.Variable(3.0)

    def step(x, n=2):
        v.assign_add(x * model.w * float(n))
        return tf.reduce_sum(v)

    def numbers(strategy, function, *args):
        found = strategy.experimental_local_results(strategy.run(function, args=args))
        return [float(each) for each in found]

    x, results = tf.ones([2]), []
    __main__.f = f = nbfn.function(step)
    for each in (f, tf.function(step)):
        v.assign([1.0, 2.0])
        results.append([numbers(one, each, x) for _ in range(3)] + [numbers(one, each, x, 3)])
    reported = f.calls, f.hits, len(f.traces)
    causes = [cause.sentence for each in f.retraces for cause in each.causes]
    captures = [capture.name for capture in f.captures]
    f.evict(f.traces[0])
    numbers(one, f, x)
    after = f.calls, f.hits, len(f.traces)
    g = nbfn.function(lambda x: x + 1.0)
    for strategy in (one, two, one):
        numbers(strategy, g, tf.constant(1.0))
    outer = nbfn.function(lambda x: one.run(f, args=(x,)))
    outer(x)
    return {
        "results": results,
        "reported": reported,
        "causes": causes,
        "captures": captures,
        "after": after,
        "two": (g.hits, len(g.traces), g.retraces[-1].causes[0].sentence),
        "remedy": str(f.retraces[0].remedy),
        "inner": [capture.name for capture in outer.captures],
        "listed": len([each for each in nbfn.session().functions.values() if each is f]),
    }


@pytest.fixture(scope="module")
def replicas(on_two_devices) -> dict[str, Any]:
    return on_two_devices(on_replicas)


def test_calls_on_replicas_are_counted_and_explained(replicas: dict[str, Any]) -> None:
    ours, theirs = replicas["results"]
    assert ours == theirs
    assert replicas["reported"] == (4, 2, 2)
    assert replicas["causes"] == ["`n`: Python value was 2, is 3"]
    assert "define the function with reduce_retracing=True" in replicas["remedy"]
    assert replicas["after"] == (5, 2, 2)
    assert replicas["listed"] == 1


def test_what_replicas_capture_has_the_users_names(replicas: dict[str, Any]) -> None:
    expected = ["model/w", "v", "model/w (replica 1)", "v (replica 1)"]
    assert replicas["captures"] == replicas["inner"] == expected


def test_two_strategies_are_two_entries(replicas: dict[str, Any]) -> None:
    why = "the strategy was MirroredStrategy, is another MirroredStrategy object"
    assert replicas["two"] == (1, 2, why)
