"""Calls through strategies: on replicas, and on the workers of a parameter server."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
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
    told = f.calls, f.hits, len(f.traces)
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
        "told": told,
        "causes": causes,
        "captures": captures,
        "after": after,
        "two": (g.hits, len(g.traces), g.retraces[-1].causes[0].sentence),
        "remedy": str(f.retraces[0].remedy),
        "inner": [capture.name for capture in outer.captures],
        "listed": len([each for each in nbfn.session().functions.values() if each is f]),
    }


WORKERS = """
    import json, os, socket
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    import tensorflow as tf
    import nbfn

    def address():
        with socket.socket() as made:
            made.bind(("127.0.0.1", 0))
            return f"127.0.0.1:{made.getsockname()[1]}"

    jobs = {"worker": [address(), address()], "ps": [address()]}
    cluster = tf.train.ClusterSpec(jobs)
    # In-process servers block one another when there are fewer threads than workers.
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=4)
    servers = [
        tf.distribute.Server(cluster, job_name=job, task_index=i, protocol="grpc", config=config)
        for job, tasks in jobs.items() for i in range(len(tasks))
    ]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        total = tf.Variable(0.0)

    @nbfn.function
    def step(x, n=2):
        total.assign_add(x * float(n))
        return x

    for _ in range(5):
        coordinator.schedule(step, args=(tf.constant(1.0),))
    coordinator.schedule(step, args=(tf.constant(1.0), 3))
    coordinator.join()
    print(json.dumps(dict(
        total=float(total), told=dict(calls=step.calls, hits=step.hits, traces=len(step.traces)),
        captures=[capture.name for capture in step.captures],
        causes=[cause.sentence for each in step.retraces for cause in each.causes],
    )), flush=True)
    os._exit(0)  # servers in one process do not end
"""


@pytest.fixture(scope="module")
def replicas(on_two_devices) -> dict[str, Any]:
    return on_two_devices(on_replicas)


def test_calls_on_replicas_are_counted_and_explained(replicas: dict[str, Any]) -> None:
    ours, theirs = replicas["results"]
    assert ours == theirs
    assert replicas["told"] == (4, 2, 2)
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


def test_calls_that_a_coordinator_schedules() -> None:
    made = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WORKERS)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    found = json.loads(made.stdout.strip().splitlines()[-1])
    assert found["total"] == 13.0
    assert found["told"] == {"calls": 6, "hits": 4, "traces": 2}
    assert found["captures"] == ["total"]
    assert found["causes"] == ["`n`: Python value was 2, is 3"]
