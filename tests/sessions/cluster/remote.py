"""A notebook that connects to two workers: ``python remote.py JOBS``; prints JSON.

It writes ``kill N`` when a worker is to die, and waits for a line.
"""

import json
import os
import sys
import time

import tensorflow as tf

import nbfn

jobs = json.loads(sys.argv[1])
kept = tf.Variable([1.0, 2.0])
found = {}


def error_of(call, *args, **kwargs):
    started = time.monotonic()
    try:
        call(*args, **kwargs)
    except (nbfn.NbfnError, tf.errors.OpError) as error:
        found["seconds"] = max(found.get("seconds", 0.0), time.monotonic() - started)
        return f"{type(error).__name__}: {error}"
    return None


bad = [
    3,
    "nowhere",
    "host:0",
    {},
    {"worker": []},
    {"worker": 5},
    '{"cluster": ',
    None,
    "127.0.0.1:1",
]
os.environ.pop("TF_CONFIG", None)
found["bad"] = [error_of(nbfn.connect, each, time_limit=2) for each in bad]
found["none_added"] = list(nbfn.session().devices)
os.environ["TF_CONFIG"] = json.dumps({"cluster": jobs, "task": {"type": "chief", "index": 0}})
made = nbfn.connect()
found["text"], found["added"] = repr(made), list(made.devices)
found["devices"] = list(nbfn.session().devices)
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(jobs))
found["again"] = [
    error_of(nbfn.connect, each) for each in (f"grpc://{jobs['worker'][0]}", resolver, jobs)
]


@nbfn.function
def square(x):
    return tf.matmul(x, x)


@nbfn.function
def remotely(x):
    with tf.device("/job:worker/task:1"):
        return tf.matmul(x, x)


x = tf.ones([3, 3])
found["placed"] = remotely.run(x).placement.devices
found["requested"] = [
    each.device for each in remotely.traces[0].graph.get_operations() if each.type == "MatMul"
]
with tf.device("/job:worker/task:1"):
    on_worker = square(x)
found["device"], found["value"] = on_worker.device, on_worker.numpy().tolist()
found["backing"] = remotely(x).backing_device
with tf.device("/job:worker/replica:0/task:0/device:CPU:0"):
    v = tf.Variable(2.0)


@nbfn.function
def grow(x):
    return v.assign_add(x)


found["grown"], found["capture"] = float(grow(tf.constant(1.0))), grow.captures[0].device
found["counts"] = [remotely.calls, len(remotely.traces)]
sys.stdout.write("kill 1\n")
sys.stdout.flush()
sys.stdin.readline()
found["dead"] = [error_of(remotely, x) for _ in range(2)]
with tf.device("/job:worker/task:0"):
    found["other"] = square(x).numpy().tolist()
found["local"] = [square(x).numpy().tolist(), kept.numpy().tolist()]
found["placed_after"] = square.run(x).placement.devices
with tf.device("/job:worker/task:0"):
    found["other_after"] = square(x).numpy().tolist()
found["session"] = sorted(nbfn.session().variables)
sys.stdout.write(json.dumps(found) + "\n")
sys.stdout.flush()
os._exit(0)  # TensorFlow waits for the worker that has died
