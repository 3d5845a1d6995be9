"""``--device`` and strategies, in a kernel with two logical devices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.kernel import Kernel, running_kernel

SETUP = """%load_ext nbfn
import nbfn
import tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
x = tf.constant([1.0, 2.0])
def local(value):
    return [each.numpy().tolist() for each in strategy.experimental_local_results(value)]
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as started:
        started.run(SETUP, timeout=300)
        yield started


def printed(kernel: Kernel, expression: str) -> str:
    return kernel.run(f"print(({expression}))").text.strip().split("\n")[-1]


def test_a_cell_runs_on_the_device(kernel: Kernel) -> None:
    for device in ("CPU:1", "CPU:0", "/device:CPU:1"):
        kernel.run(f"%%tf_function there --device {device}\ny = x * 2")
        assert printed(kernel, "y.device").endswith(device[-5:])
    assert printed(kernel, "there.calls, there.hits, len(there.traces)") == "(1, 1, 2)"
    assert "the device scope was CPU:1, is CPU:0" in printed(kernel, "there.retraces")


@pytest.mark.parametrize("device", ["CPU:7", "GPU:0", "nonsense"])
def test_a_device_that_is_not_there(kernel: Kernel, device: str) -> None:
    text = kernel.run(f"%%tf_function --device {device}\ny = x * 2").text
    assert text.strip() == (f"UsageError: --device: there is no `{device}`; there is CPU:0, CPU:1")


def test_a_function_of_a_cell_runs_on_replicas(kernel: Kernel) -> None:
    kernel.run(
        "%%tf_function\ndef train(x):\n"
        "    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(w * x)\n"
        "    w.assign_sub(tape.gradient(loss, w))\n    return loss\n"
    )
    kernel.run("session = nbfn.session(strategy=strategy)")
    kernel.run("with session.scope():\n    w = tf.Variable(1.0)")
    for _ in range(2):
        kernel.run("w.assign(1.0)\nlosses = [session.run(train, x) for _ in range(2)]")
        assert printed(kernel, "[float(each) for each in losses], local(w)") == (
            "([1.5, -0.75], [-2.0, -2.0])"
        )
    assert printed(kernel, "train.calls, train.hits") == "(4, 3)"
    assert printed(kernel, "local(strategy.run(train, args=(x,)))") == "[-3.0, -3.0]"
