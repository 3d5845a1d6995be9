"""Where operations really ran, with two logical devices."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import nbfn


def placed() -> dict[str, Any]:
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
    return {
        "same": bool(tf.reduce_all(run.value == before)),
        "counted": (len(ran), f.calls, type(run.metadata).__name__),
        "placed": {op.name: (op.device, op.requested) for op in placement.operations},
        "copies": {(copy.tensor, copy.source, copy.target) for copy in placement.copies},
        "devices": sorted(placement.devices),
        "captured": [capture.device for capture in f.captures],
    }


def test_two_devices_and_the_copies_between_them(on_two_devices) -> None:
    found = on_two_devices(placed)
    assert found["same"]
    assert found["counted"] == (1, 1, "RunMetadata")
    device, requested = found["placed"]["product"]
    assert device == "CPU:1"
    assert requested.endswith("CPU:1")
    assert found["placed"]["positive"] == ("CPU:0", "")
    assert found["devices"] == ["CPU:0", "CPU:1"]
    assert found["captured"] == ["CPU:1"]
    assert found["copies"] == {("product", "CPU:1", "CPU:0"), ("x", "CPU:0", "CPU:1")}


def test_a_call_that_must_trace_traces() -> None:
    f = nbfn.function(lambda x: x + 1)
    run = f.run(tf.constant([1, 2]))
    assert run.value.numpy().tolist() == [2, 3]
    assert (f.calls, len(f.traces)) == (0, 1)
    assert "AddV2" in {op.type for op in run.placement.operations}


def test_the_text_counts_operations() -> None:
    f = nbfn.function(lambda x: x + 1)
    assert repr(f.run(tf.constant(1)).placement).startswith("<placement CPU:0: ")


def requested() -> list[tuple[str, str]]:
    inner = nbfn.function(lambda x: tf.matmul(x, x))

    @nbfn.function
    def f(x):
        with tf.device("CPU:1"):
            y = tf.matmul(x, x)
        return inner(x) + y

    operations = f.run(tf.ones([2, 2])).placement.operations
    return sorted((op.device, op.requested[-5:]) for op in operations if op.type == "MatMul")


def test_an_operation_of_a_called_function_has_no_request_of_the_caller_s(on_two_devices) -> None:
    assert on_two_devices(requested) == [("CPU:0", ""), ("CPU:1", "CPU:1")]
