"""How long operations take: what the profiler tells, whose time it is, and what is not known."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn._tensorflow import Executed, ProfilerBusyError
from nbfn._tensorflow.running import profiling
from nbfn.functions.calls.operation_times import Times, times_of
from nbfn.functions.graphs.operations import graph_of
from nbfn.functions.graphs.time_attribution import GraphTimes, graph_times
from tests.harness.messages import raises, warns

SIZE = 64


def inner(x: Any) -> Any:
    return tf.nn.relu(tf.matmul(x, x, name="product"))


@pytest.fixture
def f() -> Any:
    nested = nbfn.function(inner)
    calls = tf.Variable(0)

    def outer(x: Any) -> Any:
        calls.assign_add(1)
        with tf.name_scope("block"):
            y = nested(x)
        for _ in tf.range(4):
            if tf.reduce_sum(y) > 0:
                y = tf.sin(y)
        bias = tf.ones([SIZE])
        return tf.nn.relu(tf.nn.bias_add(tf.matmul(y, y), bias)), calls

    return nbfn.function(outer)


@pytest.fixture
def x() -> tf.Tensor:
    return tf.ones([SIZE, SIZE])


def found(function: Any, times: Times) -> GraphTimes:
    return graph_times(graph_of(function.traces[-1]), times)


def test_each_operation_that_ran_is_reported_once_with_its_executions(f, x) -> None:
    run = f.run(x, metadata=True)
    ran = {each.name: each for each in run.times.operations}
    assert all(each.seconds > 0 for each in ran.values())
    assert [each.seconds for each in run.times.operations] == sorted(
        (each.seconds for each in ran.values()), reverse=True
    )
    (product,) = [each for name, each in ran.items() if name.endswith("/product")]
    assert (product.executions, product.device) == (1, "")
    (sine,) = [each for each in ran.values() if each.type == "Sin"]
    assert sine.executions == 4
    assert str(run.times).startswith(f"<times: {len(ran)} operations, ")
    assert int(run.value[1]) == 1  # it is one real call
    assert f.run(x).times is None


def test_run_metadata_gets_its_step_statistics(f, x) -> None:
    run = f.run(x, metadata=True)
    (device,) = run.metadata.step_stats.dev_stats
    names = [each.node_name for each in device.node_stats]
    assert sum(name.endswith("Sin") for name in names) == 4
    assert all(each.all_end_rel_nanos > 0 for each in device.node_stats)
    assert run.metadata.function_graphs  # beside what was there


def test_a_time_belongs_to_the_operation_and_to_those_that_call_it(f, x) -> None:
    times = f.run(x, metadata=True).times
    graph, known = graph_of(f.traces[-1]), found(f, times)
    by_type = {
        (each.type, body != ""): known.times.get((body, each.name))
        for body, operations in (("", graph.operations), *graph.bodies.items())
        for each in operations
    }
    sine = by_type["Sin", True]
    loop = next(known.times["", e.name] for e in graph.operations if e.type.endswith("While"))
    assert sine is not None
    assert (sine.executions, sine.within) == (4, 0)
    assert loop.executions == 0
    assert loop.within >= sine.seconds
    call = next(known.times["", e.name] for e in graph.operations if "Call" in e.type)
    product = next(t for (body, name), t in known.times.items() if body and "product" in name)
    assert call.within >= product.seconds > 0
    assert sum(each.seconds for each in known.times.values()) + known.other_seconds == (
        pytest.approx(times.seconds)
    )


def test_what_was_fused_is_reported_where_it_ran(f, x) -> None:
    known = found(f, f.run(x, metadata=True).times)
    fused = known.times["", "Relu"]
    assert any("Fused" in each for each in fused.ran_as)
    assert ("", "BiasAdd") not in known.times


def test_what_the_optimiser_made_is_found_by_its_name_or_left_over(f, x) -> None:
    f(x)

    def at(name: str) -> GraphTimes:
        executed = Executed("1", "", f"PartitionedCall/{name}", "MatMul", 0, 5_000_000)
        return found(f, times_of(f.traces[0].concrete_function, [executed]))

    rewritten = at("ArithmeticOptimizer/FoldTransposeIntoMatMul_MatMul")
    assert rewritten.times["", "MatMul"].ran_as == ("MatMul (FoldTransposeIntoMatMul)",)
    assert rewritten.times["", "MatMul"].seconds == pytest.approx(5e-6)
    other = at("ConstantFolding/something")
    assert not other.times
    assert [each.name for each in other.others] == ["ConstantFolding/something"]
    assert other.other_seconds == pytest.approx(5e-6)


def test_an_operation_within_another_on_its_thread_is_not_counted_twice(f, x) -> None:
    f(x)
    executed = [
        Executed("1", "", "PartitionedCall/call", "PartitionedCall", 0, 100),
        Executed("1", "", "PartitionedCall/call/a", "Sin", 10, 30),
        Executed("1", "", "PartitionedCall/call/b", "Sin", 50, 20),
        Executed("2", "", "PartitionedCall/c", "Sin", 20, 40),
    ]
    times = times_of(f.traces[0].concrete_function, executed)
    assert {each.name: round(each.seconds * 1e12) for each in times.operations} == {
        "call": 50,
        "call/a": 30,
        "call/b": 20,
        "c": 40,
    }


def test_what_else_the_process_does_is_left_out(f, x) -> None:
    f(x)
    executed = [
        Executed("1", "", "PartitionedCall/MatMul", "MatMul", 0, 50),
        Executed("2", "", "EagerService", "Enqueue", 0, 50),
        Executed("3", "", "another/MatMul", "MatMul", 0, 50),
        Executed("4", "", "product", "MatMul", 0, 50),  # of `inner`, had it not been inlined
    ]
    times = times_of(f.traces[0].concrete_function, executed)
    assert sorted(each.name for each in times.operations) == ["MatMul", "product"]


def test_on_another_device_its_own_time_counts_and_not_that_of_launching(f, x) -> None:
    f(x)
    executed = [
        Executed("1", "", "MatMul", "MatMul", 0, 7),
        Executed("gpu 1", "/device:GPU:0", "MatMul", "MatMul", 10, 500),
        Executed("gpu 1", "/device:GPU:0", "MatMul", "MatMul", 600, 300),
        Executed("1", "", "Relu", "Relu", 8, 3),
    ]
    times = times_of(f.traces[0].concrete_function, executed)
    assert [(each.name, each.device, each.executions) for each in times.operations] == [
        ("MatMul", "GPU:0", 2),
        ("Relu", "", 1),
    ]


def test_kernels_of_a_device_are_distinguished_from_the_host(f) -> None:
    space = profiling.xplane_pb2.XSpace()
    cpu, gpu = space.planes.add(id=1, name="/host:CPU"), space.planes.add(name="/device:GPU:0")
    cpu.event_metadata[1].name, cpu.event_metadata[1].display_name = "a/Relu:Relu", "Relu"
    cpu.event_metadata[2].name = "ExecutorState::Process"
    gpu.stat_metadata[1].name = "kernel_annotation"
    line = cpu.lines.add(id=1)
    line.events.add(metadata_id=1, duration_ps=5)
    line.events.add(metadata_id=2)
    kernel_event = gpu.lines.add(id=3).events.add(duration_ps=9)
    kernel_event.stats.add(metadata_id=1, str_value="step::a/Relu:Relu")
    host, kernel = profiling._of_space(space)
    assert (host.device, host.name, host.type) == ("", "a/Relu", "Relu")
    assert (kernel.device, kernel.name, kernel.duration) == ("/device:GPU:0", "a/Relu", 9)


def test_without_the_format_of_the_events_there_are_no_times(f, x, monkeypatch) -> None:
    monkeypatch.setattr(profiling, "xplane_pb2", None)
    with warns(nbfn.NbfnWarning):
        run = f.run(x, metadata=True)
    assert run.times is None
    assert int(run.value[1]) == 1


def test_a_profiler_that_runs_is_left_alone_and_nothing_is_called(f, x, tmp_path) -> None:
    before = int(f(x)[1])
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with raises(ProfilerBusyError):
            f.run(x, metadata=True)
    finally:
        tf.profiler.experimental.stop(save=False)
    assert int(f.run(x, metadata=True).value[1]) == before + 1


def test_the_times_hold_no_graph(x) -> None:
    traced = nbfn.function(lambda x: x * 2)
    times = traced.run(x, metadata=True).times
    assert times.concrete_function is traced.traces[0].concrete_function
    traced.free()
    del traced
    gc.collect()
    assert times.concrete_function is None
    assert times.operations


def test_watched_functions_and_xla_answer_too(x) -> None:
    plain = tf.function(lambda x: tf.sin(x))
    watched = nbfn.watch(plain)
    assert any(each.type == "Sin" for each in watched.run(x, metadata=True).times.operations)
    compiled = nbfn.function(lambda x: tf.sin(x) * 2, jit_compile=True)
    assert compiled.run(x, metadata=True).times.operations == ()
