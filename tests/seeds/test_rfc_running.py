"""RFC "Functions, not Sessions": control flow, summaries, devices and distributed execution.

Each test is a code sample of the RFC, in its order, and says its section. The sample with a device
of a remote server is in `sessions/cluster/test_connect.py`.
"""

from __future__ import annotations

import functools
import glob
import os
import subprocess
import sys
import textwrap

import pytest
import tensorflow as tf

import nbfn


def run(code: str, *arguments: str) -> str:
    """Runs code in a process of its own, whose devices and servers are its own."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout.strip()


TWO_CPUS = """
import tensorflow as tf, nbfn
cpu = tf.config.list_physical_devices("CPU")[0]
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)
"""
CONTEXT = """
@nbfn.function
def f(x):
    return tf.add(x, 1.0)

for device in ("CPU:0", "CPU:1", "CPU:0", "CPU:1"):
    with tf.device(f"/device:{device}"):
        y = f(tf.constant(2.0))
        run = f.run(tf.constant(2.0))
        adds = [op.device for op in run.placement.operations if "Add" in op.type]
        assert float(y) == 3.0
        assert set(adds) == {device}, (device, adds)
assert (len(f.traces), f.calls, f.hits) == (2, 4, 2), f
assert [cause.code for cause in f.retraces[0].causes] == ["device"], f.retraces
devices = [
    {op.device for op in t.graph.get_operations() if "Add" in op.type} for t in f.traces
]
assert [sorted(d)[0][-5:] for d in devices] == ["CPU:0", "CPU:1"], devices
print("pinned")
"""
STRATEGY = """
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    w = tf.Variable(1.0)
data = tf.data.Dataset.from_tensor_slices(tf.ones([8, 1])).batch(4)
batches = iter(strategy.experimental_distribute_dataset(data))

@nbfn.function
def train(batch):
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x * w)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss
    losses = strategy.run(step, args=(batch,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

first = float(train(next(batches)))
second = float(train(next(batches)))
assert first == 4.0, first
assert second < first, second
assert (train.calls, len(train.traces)) == (2, 1), train
print("distributed")
"""


@functools.cache
def with_two_cpus() -> str:
    """What one process says that runs both samples."""
    return run(TWO_CPUS + CONTEXT + STRATEGY)


def test_the_context_is_part_of_the_key() -> None:
    """Section "Trace Caches", last sample; two logical CPUs in place of a CPU and a GPU."""
    assert "pinned" in with_two_cpus()


def test_distribution_strategies_inside_functions() -> None:
    """Section "Distributed Execution": a strategy used inside a function."""
    assert "distributed" in with_two_cpus()


def divide(x, y):
    if tf.equal(y, 0.0):
        return y
    return x / y


def divide_by_cond(x, y):
    return tf.cond(tf.equal(y, 0.0), lambda: y, lambda: x / y)


def test_control_flow_without_autograph_is_an_error() -> None:
    """Section "function-ing Python control flow", first sample."""
    x, y = tf.constant(2.0), tf.constant(2.0)
    assert float(divide(x, y)) == 1.0
    df = nbfn.function(divide, autograph=False)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=r"(?i)bool"):
        df(x, y)
    assert df.traces == ()


def test_control_flow_with_graph_operations() -> None:
    """Section "function-ing Python control flow", second sample."""
    x, y = tf.constant(2.0), tf.constant(2.0)
    df = nbfn.function(divide_by_cond, autograph=False)
    assert float(divide_by_cond(x, y)) == float(df(x, y)) == 1.0
    assert float(df(x, tf.constant(0.0))) == 0.0
    assert len(df.traces) == 1


def test_control_flow_with_autograph() -> None:
    """Section "function-ing Python control flow", third sample."""
    x, y = tf.constant(2.0), tf.constant(2.0)
    df = nbfn.function(autograph=True)(divide)
    assert float(df(x, y)) == 1.0
    assert float(df(x, tf.constant(0.0))) == 0.0
    assert len(df.traces) == 1


def test_loops_with_autograph() -> None:
    """Section "function-ing Python control flow": ``while`` and ``for`` over tensors."""

    @nbfn.function
    def collatz(n):
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    assert [int(collatz(tf.constant(n))) for n in (1, 6, 27)] == [0, 8, 111]
    assert len(collatz.traces) == 1


def events(folder) -> list[float]:
    values = []
    for path in sorted(glob.glob(os.path.join(str(folder), "events*"))):
        for record in tf.data.TFRecordDataset(path):
            event = tf.compat.v1.Event.FromString(record.numpy())
            values += [float(tf.make_ndarray(v.tensor)) for v in event.summary.value]
    return values


def compute_loss() -> tf.Tensor:
    return tf.constant(7.0)


def test_summaries_use_the_writer_and_condition_of_the_call(tmp_path) -> None:
    """Section "Summaries": one summary is written, decorated or not."""

    def f():
        tf.summary.write("loss", compute_loss(), step=1)

    for number, function in enumerate((f, nbfn.function(f))):
        folder = tmp_path / str(number)
        writer = tf.summary.create_file_writer(str(folder))
        with writer.as_default(), tf.summary.record_if(True):
            function()
        with writer.as_default(), tf.summary.record_if(False):
            function()
        writer.close()
        assert events(folder) == [7.0]


def test_summaries_of_one_trace_go_to_two_writers(tmp_path) -> None:
    """Section "Summaries": the inputs are resolved when the function is invoked."""

    @nbfn.function
    def f(x):
        tf.summary.write("loss", x, step=1)
        return x + 1.0

    f(tf.constant(0.0))
    for name, value in (("a", 1.0), ("b", 2.0), ("a", 3.0)):
        writer = tf.summary.create_file_writer(str(tmp_path / name))
        with writer.as_default():
            f(tf.constant(value))
        writer.close()
    assert sorted(events(tmp_path / "a")) == [1.0, 3.0]
    assert events(tmp_path / "b") == [2.0]


def test_eager_execution_by_default() -> None:
    """Section "What does that have to do with eager execution?"."""
    inside = []

    @nbfn.function
    def f(x):
        inside.append((tf.executing_eagerly(), tf.is_symbolic_tensor(x)))
        return x

    assert tf.executing_eagerly()
    result = f(tf.constant([1.0, 2.0]))
    assert inside == [(False, True)]
    assert result.numpy().tolist() == [1.0, 2.0]
