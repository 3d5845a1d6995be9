"""``--device`` and ``--strategy``, in a kernel with two logical devices."""

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
with strategy.scope():
    w = tf.Variable(1.0)
x = tf.constant([1.0, 2.0])
L = []
def local(value):
    return [each.numpy().tolist() for each in strategy.experimental_local_results(value)]
"""
REPLICA = "number = tf.distribute.get_replica_context().replica_id_in_sync_group\n"


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


def test_each_replica_has_its_result(kernel: Kernel) -> None:
    cell = f"%%tf_function rep --strategy strategy\n{REPLICA}"
    cell += "z = x * tf.cast(number + 1, tf.float32) * w\nn = 5\n{'z': z}"
    for line in ("traced: first call (x: float32[2])", "hit: trace 1 served"):
        text = kernel.run("z = n = None")
        text = kernel.run(cell).text
        assert line in text
        assert "0: <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.]" in text
        assert printed(kernel, "local(z), n") == "([[1.0, 2.0], [2.0, 4.0]], 5)"
    assert printed(kernel, "rep.calls, rep.hits") == "(2, 1)"
    assert printed(kernel, "local(rep(x)['z'])") == "[[1.0, 2.0], [2.0, 4.0]]"
    placement = kernel.run("%tf_placement rep(x)").text
    assert "CPU:1" in placement
    assert "CPU:0" in placement


def test_a_replicas_part_of_a_batch_is_an_argument(kernel: Kernel) -> None:
    kernel.run(
        "data = tf.data.Dataset.range(16).batch(4)\n"
        "batches = iter(strategy.experimental_distribute_dataset(data))"
    )
    for first in (0, 4):
        kernel.run("batch = next(batches)")
        kernel.run("%%tf_function sums --strategy strategy\ntotal = tf.reduce_sum(batch)")
        assert printed(kernel, "local(total)") == str([2 * first + 1, 2 * first + 5])
    assert printed(kernel, "sums.parameters, sums.hits") == "('(batch)', 1)"


def test_definitions_on_replicas_train_one_variable(kernel: Kernel) -> None:
    kernel.run(
        "%%tf_function --strategy strategy\ndef train(x):\n"
        "    with tf.GradientTape() as tape:\n        loss = tf.reduce_sum(w * x)\n"
        "    gradient = tape.gradient(loss, w)\n"
        "    context = tf.distribute.get_replica_context()\n"
        "    w.assign_sub(context.all_reduce('mean', gradient))\n    return loss\n"
    )
    kernel.run("w.assign(1.0)")
    assert printed(kernel, "local(train(x)), local(train(x))") == "([3.0, 3.0], [-6.0, -6.0])"
    assert printed(kernel, "local(w), train.hits") == "([-5.0, -5.0], 1)"


def test_a_variable_made_in_a_function_is_one_of_the_strategy(kernel: Kernel) -> None:
    kernel.run(
        "class Held(tf.Module):\n    v = None\n    def read(self):\n        if self.v is None:\n"
        "            self.v = tf.Variable(3.0)\n        return self.v * 2.0\nheld = Held()"
    )
    for _ in range(2):
        kernel.run("%%tf_function --strategy strategy\ndef read(): return held.read()")
        kernel.run("y = read()")
        assert printed(kernel, "local(y), local(held.v)") == "([6.0, 6.0], [3.0, 3.0])"
    assert printed(kernel, "type(held.v).__name__, read.hits") == "('MirroredVariable', 1)"


def test_containers_are_not_changed_by_each_replica(kernel: Kernel) -> None:
    text = kernel.run("%%tf_function --strategy strategy\nL.append(x)").text
    assert text.startswith("UsageError: --whole: line 2 calls L.append() (return the value")
    assert printed(kernel, "L") == "[]"


def test_another_strategy_is_another_function(kernel: Kernel) -> None:
    kernel.run("one = tf.distribute.OneDeviceStrategy('CPU:1')")
    cell = "%%tf_function of --strategy {}\ny = x + 1"
    kernel.run("%%tf_function of --strategy strategy\ny = x + 1")
    assert printed(kernel, "type(y).__name__") == "PerReplica"
    kernel.run(cell.format("one"))
    assert printed(kernel, "y.numpy().tolist()") == "[2.0, 3.0]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--device CPU:1",
            "--device does not go with --strategy; the strategy chooses the devices",
        ),
        ("--check", "--check does not go with --strategy; leave --strategy out"),
        ("--local-state", "--local-state does not go with --strategy; the strategy creates"),
    ],
)
def test_what_does_not_go_with_a_strategy(kernel: Kernel, options: str, message: str) -> None:
    text = kernel.run(f"%%tf_function --strategy strategy {options}\ny = x * 2").text.strip()
    assert text.startswith(f"UsageError: {message}")
    assert "\n" not in text


def test_a_stance_on_replicas(kernel: Kernel) -> None:
    kernel.run("%%tf_function --strategy strategy --stance eager\ndef plain(x): return x + w")
    kernel.run("w.assign(1.0)")
    assert printed(kernel, "local(plain(x)), plain.calls").endswith("([[2.0, 3.0], [2.0, 3.0]], 0)")
