"""Where operations really ran, with two logical devices."""

from __future__ import annotations

import json
import subprocess
import sys

import tensorflow as tf

import nbfn

TWO_DEVICES = """
import json
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import nbfn

with tf.device("CPU:1"):
    weight = tf.Variable(tf.ones([3, 2]))
ran = []

@nbfn.function
def f(x, scale=2.0):
    ran.append(1)
    with tf.device("CPU:1"):
        y = tf.matmul(x, weight, name="product")
    return tf.nn.relu(y, name="positive") * scale

before = f(tf.ones([4, 3]))
run = f.run(tf.ones([4, 3]))
placement = run.placement
print(json.dumps({
    "same": bool(tf.reduce_all(run.value == before)),
    "ran": len(ran),
    "calls": f.calls,
    "placed": {op.name: [op.device, op.requested] for op in placement.operations},
    "copies": [[copy.tensor, copy.source, copy.target] for copy in placement.copies],
    "devices": sorted(placement.devices),
    "captured": [capture.device for capture in f.captures],
    "metadata": type(run.metadata).__name__,
}))
"""


def test_two_devices_and_the_copies_between_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["same"]
    assert found["ran"] == 1
    assert found["calls"] == 1
    assert found["metadata"] == "RunMetadata"
    assert found["placed"]["product"][0] == "CPU:1"
    assert found["placed"]["product"][1].endswith("CPU:1")
    assert found["placed"]["positive"] == ["CPU:0", ""]
    assert found["devices"] == ["CPU:0", "CPU:1"]
    assert found["captured"] == ["CPU:1"]
    assert ["product", "CPU:1", "CPU:0"] in found["copies"]
    assert ["x", "CPU:0", "CPU:1"] in found["copies"]
    assert len(found["copies"]) == 2


def test_a_call_that_must_trace_traces() -> None:
    f = nbfn.function(lambda x: x + 1)
    run = f.run(tf.constant([1, 2]))
    assert run.value.numpy().tolist() == [2, 3]
    assert (f.calls, len(f.traces)) == (0, 1)
    assert "AddV2" in {op.type for op in run.placement.operations}


def test_the_text_counts_operations() -> None:
    f = nbfn.function(lambda x: x + 1)
    assert repr(f.run(tf.constant(1)).placement).startswith("<placement CPU:0: ")
