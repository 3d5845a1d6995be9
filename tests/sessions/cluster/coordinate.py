"""A coordinator in a notebook: ``python coordinate.py JOBS``; prints JSON.

It writes ``kill 1`` when a worker is to die, and waits for a line.
"""

import json
import os
import sys

os.environ["GRPC_FAIL_FAST"] = "use_caller"  # as TensorFlow's guide to parameter servers asks

import tensorflow as tf

import nbfn

jobs = json.loads(sys.argv[1])
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
    tf.train.ClusterSpec(jobs), rpc_layer="grpc"
)
strategy = tf.distribute.ParameterServerStrategy(resolver)
session = nbfn.session(strategy=strategy)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with session.scope():
    total = tf.Variable(0.0)


@nbfn.function
def step(x, n=2):
    total.assign_add(x)
    return x * float(n)


found = {}
results = [coordinator.schedule(step, args=(tf.constant(1.0),)) for _ in range(8)]
coordinator.join()
found["total"] = float(total.numpy())
found["results"] = [float(each.fetch()) for each in results]
found["where"] = total.device
coordinator.schedule(step, args=(tf.constant(0.0), 3))
coordinator.join()
found["calls"] = [step.calls, step.hits, len(step.traces)]
found["causes"] = [cause.sentence for each in step.retraces for cause in each.causes]
found["captures"] = [each.name for each in step.captures]
try:
    session.run(step, tf.constant(1.0))
except nbfn.StrategyError as error:
    found["refused"] = str(error)
sys.stdout.write("kill 1\n")
sys.stdout.flush()
sys.stdin.readline()
for _ in range(8):
    coordinator.schedule(step, args=(tf.constant(1.0),))
coordinator.join()
found["after"] = float(total.numpy())
found["local"] = float(tf.reduce_sum(tf.ones([3])))
found["session"] = sorted(session.variables)
sys.stdout.write(json.dumps(found) + "\n")
sys.stdout.flush()
os._exit(0)  # TensorFlow waits for the worker that has died
