"""The context of a call: the device that is asked for, and where summaries go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn import nn


def two_scopes() -> list[str]:
    v = tf.Variable(1.0)

    @nbfn.function
    def f(x):
        v.assign_add(1.0)
        return tf.add(x, 1.0) * v

    reported = []
    for device in ("CPU:0", "CPU:1", "CPU:0", "CPU:1"):
        with tf.device(device):
            x = tf.constant(1.0)
            reported.append(f"{float(f(x))} {f(x).device[-5:]}")
    reported.append(f"{len(f.traces)} {f.hits} {f.retraces[0].causes[0]}")
    for trace in f.traces:
        added = [op for op in trace.graph.get_operations() if op.type == "AddV2"]
        reported.append(str({op.device[-5:] for op in added}))
    with tf.device("CPU:1"):
        placement = f.run(x).placement
        return [
            *reported,
            str(f.explain(x)),
            str("CPU:1" in placement.devices),
            *map(str, placement.copies),
        ]


def test_two_device_scopes_make_two_traces_pinned_to_two_devices(on_two_devices) -> None:
    assert on_two_devices(two_scopes)[:10] == [
        "4.0 CPU:0",
        "8.0 CPU:1",
        "12.0 CPU:0",
        "16.0 CPU:1",
        "2 6 the device scope was CPU:0, is CPU:1",
        "{'CPU:0'}",
        "{'CPU:1'}",
        "a hit: trace 2 would serve (x: float32[])",
        "True",
        "CPU:0 -> CPU:1: mul/ReadVariableOp (4 bytes)",
    ]


def test_a_device_scope_inside_another_function_is_no_key() -> None:
    inner = nbfn.function(lambda x: x + 1)

    @nbfn.function
    def outer(x: Any) -> Any:
        with tf.device("CPU:0"):
            return inner(x)

    with tf.device("CPU:0"):
        outer(tf.constant(1.0))
    inner(tf.constant(1.0))
    assert [trace.context.device for trace in inner.traces] == [""]


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Makes a writer in a folder of this name, and tells which steps were written there."""

    class Written:
        def writer(self, name: str) -> Any:
            return tf.summary.create_file_writer(str(tmp_path / name))

        def steps(self, name: str) -> list[int]:
            files = [str(path) for path in (tmp_path / name).iterdir()]
            events = [
                tf.compat.v1.Event.FromString(record.numpy())
                for record in tf.data.TFRecordDataset(files)
            ]
            return [event.step for event in events for _ in event.summary.value]

    return Written()


def test_summaries_go_to_the_writer_of_the_call(written) -> None:
    a, b = written.writer("a"), written.writer("b")

    @nbfn.function
    def f(x: Any, step: Any) -> Any:
        tf.summary.write("loss", x, step=step)
        return x

    steps = iter(range(100))

    def call() -> None:
        f(tf.constant(1.0), tf.constant(next(steps), tf.int64))

    call()
    for writer in (a, b, a):
        with writer.as_default():
            call()
            with tf.summary.record_if(False):
                call()
    call()
    a.flush(), b.flush()
    assert (written.steps("a"), written.steps("b")) == ([1, 5], [3])
    assert f.retraces[0].causes[0].code == "summaries"
    assert len(f.traces) == 5


def test_a_writer_is_no_key_of_functions_that_write_nothing(written) -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.constant(1.0))
    with written.writer("a").as_default():
        f(tf.constant(1.0))
    assert len(f.traces) == 1


def test_the_default_step_of_summaries_is_that_of_the_call(written) -> None:
    writer, own = written.writer("a"), tf.Variable(7, dtype=tf.int64)

    @nbfn.function
    def f(x: Any) -> Any:
        tf.summary.write("loss", x)
        return x

    for step in (0, 1, 0):
        with writer.as_default(step=step):
            f(tf.constant(1.0))
    with writer.as_default(step=own):
        for _ in range(2):
            f(tf.constant(1.0))
            own.assign_add(1)
    writer.flush()
    assert written.steps("a") == [0, 1, 0, 7, 8]
    assert len(f.traces) == 3
    cause = f.retraces[0].causes[0]
    assert cause.sentence == "setting `tf.summary.experimental.set_step` was 0, is 1"
    assert "tf.Variable of int64" in str(f.retraces[0].remedy)


def read_by_two_names(wrap: Any) -> list[Any]:
    """Calls functions with variables that they also read by another name."""
    a, b, other = tf.Variable(2.0), tf.Variable(3.0), tf.Variable(5.0)
    layers = nn.Sequential([nn.Dense(1), nn.Dense(1)])
    model = layers.bind(layers.init(nn.key(0), tf.ones([1, 1])))
    kernels = [each for each in model.trainable_variables if each.shape == [1, 1]]
    of_keras = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones") for _ in "ab"])
    of_keras.build((None, 1))
    kernels += [layer.kernel.value for layer in of_keras.layers]
    kernels.append(tf.Variable([[1.0]]))
    pair = {"first": a, "second": b}

    @wrap
    def read(x: Any, y: Any = 1.0) -> Any:
        return x * y + 10.0 * a

    @wrap
    def gradient(variable: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = pair["first"] ** 2 * pair["second"]
        found = tape.gradient(loss, variable)
        return tf.zeros([]) if found is None else found

    @wrap
    def of_model(variable: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(tf.ones([1, 1])) + of_keras(tf.ones([1, 1])))
        found = tape.gradient(loss, variable)
        return tf.zeros([]) if found is None else found

    @wrap
    def of_list(variables: Any, scale: Any) -> Any:
        variables[0].assign_add(scale)
        return a + b

    values = [read(x) for x in (other, a, b, a, other)]
    values += [read(b, y=a), read(y=b, x=a)]
    values += [gradient(x) for x in (a, b, other, b, a)]
    values += [of_model(x) for x in (*kernels, *kernels)]
    values += [of_list(x, 1.0) for x in ([a, b], [b, a], (other, b), [other, other], [a, b])]
    return [np.asarray(each).tolist() for each in values]


def test_variables_that_are_passed_and_read_by_another_name() -> None:
    assert read_by_two_names(nbfn.function) == read_by_two_names(lambda function: function)


def test_only_variables_that_the_code_reads_make_traces() -> None:
    model = tf.Module()
    model.scale, model.rates = tf.Variable(2.0), [tf.Variable(float(i)) for i in range(4)]
    f = nbfn.function(lambda x: x * model.scale)
    for variable in (*model.rates, model.scale, *model.rates):
        f(variable)
    assert (len(f.traces), f.hits) == (2, 7)
    assert str(f.explain(model.scale)).startswith("a hit: trace 2")
    assert str(f.explain(model.rates[0])).startswith("a hit: trace 1")
    [retrace] = f.retraces
    assert [cause.code for cause in retrace.causes] == ["alias"]
    assert str(retrace.causes[0]) == "`x` is one of the variables that the code itself reads"
    assert "a trace of its own" in str(retrace.remedy)
