"""Functions carved out of graphs.

RFC "Functions, not Sessions", section "Derived/Related Graphs".
"""

from __future__ import annotations

import gc
import weakref
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.graphs.carve import CarveError, carve
from nbfn.functions.recording.registry import live_functions
from tests.harness.messages import raises


def trace_of(function, *args):
    traced = nbfn.function(function)
    traced(*args)
    trace = traced.traces[0]
    trace._keep = traced  # the trace cache owns the graph
    return trace


@pytest.fixture
def squares():
    return trace_of(lambda x: tf.square(tf.square(x)), tf.constant(2.0))


def test_an_intermediate_tensor_is_the_input(squares) -> None:
    part = squares.carve(inputs=["Square:0"], outputs=["Square_1:0"])
    assert part(2.0).numpy() == 4.0
    assert part(Square=3.0).numpy() == 9.0
    assert part.parameters == "(Square)"
    assert len(part.traces) == 1


def test_tensors_operations_and_names_mean_the_same(squares) -> None:
    graph = squares.graph
    square = graph.get_operation_by_name("Square")
    for fed in ("Square", "Square:0", square, square.outputs[0]):
        assert carve(graph, fed, graph.outputs[0])(3.0).numpy() == 9.0


def test_outputs_come_in_the_structure_they_are_asked_for(squares) -> None:
    both = squares.carve("x", ["Square", "Square_1"])(2.0)
    assert [tensor.numpy() for tensor in both] == [4.0, 16.0]
    named = squares.carve("x", {"inner": "Square", "outer": "Square_1"})(2.0)
    assert {name: tensor.numpy() for name, tensor in named.items()} == {"inner": 4.0, "outer": 16.0}
    assert squares.carve({"start": "x"}, "Square")(start=2.0).numpy() == 4.0
    assert squares.carve("Square", "Square")(2.0).numpy() == 2.0


def test_a_variable_is_captured_by_reference_and_gets_gradients() -> None:
    weights = tf.Variable([[2.0]])
    trace = trace_of(lambda x: tf.nn.relu(tf.matmul(x, weights)), tf.ones([1, 1]))
    part = trace.carve("x", "MatMul")
    assert part(tf.constant([[3.0]])).numpy() == 6.0
    weights.assign([[5.0]])
    with tf.GradientTape() as tape:
        value = part(tf.constant([[3.0]]))
    assert value.numpy() == 15.0
    assert tape.gradient(value, weights).numpy() == 3.0
    assert part.captures[0].value is weights


def test_a_captured_tensor_and_a_table_keep_working() -> None:
    shift = tf.constant([1.0, 2.0])
    keys = tf.lookup.KeyValueTensorInitializer(["a"], [7])
    table = tf.lookup.StaticHashTable(keys, -1)
    trace = trace_of(
        lambda words, x: (tf.abs(table.lookup(words)), tf.abs(x + shift)),
        tf.constant(["a"]),
        tf.constant([0.0, 0.0]),
    )
    numbers, sums = trace.carve(["words", "x"], ["Abs", "Abs_1"])(["a"], [1.0, 1.0])
    assert numbers.numpy() == [7]
    assert sums.numpy().tolist() == [2.0, 3.0]


def counting(log):
    counter = tf.Variable(0)

    def body(x):
        counter.assign_add(1)
        tf.py_function(log.append, [tf.constant(1)], [])
        return tf.square(tf.square(x))

    return counter, trace_of(body, tf.constant(2.0))


def test_stateful_operations_run_unless_they_are_pruned() -> None:
    log: list[object] = []
    counter, trace = counting(log)
    whole = trace.carve("Square", "Square_1")
    pruned = trace.carve("Square", "Square_1", prune=True)
    counter.assign(0)
    log.clear()
    assert pruned(2.0).numpy() == 4.0
    assert (int(counter), len(log)) == (0, 0)
    assert whole(2.0).numpy() == 4.0
    assert (int(counter), len(log)) == (1, 1)
    assert len(pruned.traces[0].graph.get_operations()) < whole.traces[0].operations


def test_pruning_keeps_what_the_output_must_wait_for() -> None:
    state = tf.Variable(1.0)
    other = tf.Variable(0.0)

    def body(x):
        other.assign_add(1.0)
        state.assign(5.0)
        return state * x

    part = trace_of(body, tf.constant(1.0)).carve("x", "Identity", prune=True)
    state.assign(1.0)
    other.assign(0.0)
    assert part(2.0).numpy() == 10.0
    assert other.numpy() == 0.0


def test_an_operation_without_outputs_can_be_run() -> None:
    counter, trace = counting([])
    assign = next(op for op in trace.graph.get_operations() if op.type == "AssignAddVariableOp")
    before = int(counter)
    assert trace.carve([], assign.name, prune=True)() is None
    assert int(counter) == before + 1


def test_control_flow_and_nested_functions_are_carried_along() -> None:
    inner = nbfn.function(lambda x: x * 3.0)

    def body(x):
        total = tf.constant(0.0)
        for i in tf.range(4):
            if i % 2 == 0:
                total += inner(x)
        return tf.exp(total)

    trace = trace_of(body, tf.constant(1.0))
    total = trace.graph.get_operations()[-1]
    exp = next(op for op in trace.graph.get_operations() if op.type == "Exp")
    part = trace.carve("x", exp.inputs[0])
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = part(x)
    assert value.numpy() == 12.0
    assert tape.gradient(value, x).numpy() == 6.0
    assert total is not None


def test_a_custom_gradient_survives() -> None:
    @tf.custom_gradient
    def clipped(x):
        return x * 10.0, lambda upstream: tf.clip_by_value(upstream, -0.5, 0.5)

    trace = trace_of(lambda x: tf.square(clipped(x)), tf.constant(1.0))
    square = trace.graph.get_operation_by_name("Square")
    part = trace.carve("x", square.inputs[0])
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = part(x)
    assert tape.gradient(value, x).numpy() == 0.5


def test_any_graph_will_do_also_one_with_version_1_loops() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.compat.v1.disable_control_flow_v2()
        try:
            x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
            doubled = tf.while_loop(lambda y: tf.reduce_sum(y) < 100.0, lambda y: [y * 2.0], [x])
            result = tf.identity(doubled[0], name="result")
        finally:
            tf.compat.v1.enable_control_flow_v2()
    assert "Enter" in {op.type for op in graph.get_operations()}
    part = carve(graph, x, result)
    assert part([1.0, 2.0]).numpy().tolist() == [64.0, 128.0]
    assert part.suggest().args[0].shape.as_list() == [None]


def test_sessions_feeds_and_fetches() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, name="x")
        y = tf.square(x)
        z = tf.add(x, y, name="z")
    assert carve(graph, x, [z])(2.0).numpy() == 6.0
    assert carve(graph, [x, y], [z])(2.0, 2.0).numpy() == 4.0


def test_one_output_of_an_operation_may_be_fed_and_another_computed() -> None:
    trace = trace_of(lambda x: tf.add(*tf.split(x, 2)), tf.constant([1.0, 2.0]))
    part = trace.carve(["x", "split:1"], "Add")
    assert part([1.0, 2.0], [10.0]).numpy().tolist() == [11.0]


def test_a_saved_model_can_be_carved(tmp_path) -> None:
    module = tf.Module()
    module.weights = tf.Variable([[3.0]])
    module.call = tf.function(
        lambda x: tf.nn.relu(tf.matmul(x, module.weights)),
        input_signature=[tf.TensorSpec([None, 1], tf.float32)],
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    concrete = loaded.call.concrete_functions[0]
    matmul = next(op for op in concrete.graph.get_operations() if op.type == "MatMul")
    part = carve(concrete, concrete.inputs[0], matmul.name)
    loaded.weights.assign([[-4.0]])
    assert part([[2.0]]).numpy() == -8.0


def test_it_lives_without_the_function_and_can_be_carved_again(squares) -> None:
    part = squares.carve("x", "Square_1")
    del squares._keep
    gc.collect()
    assert part(2.0).numpy() == 16.0
    again = part.traces[0].carve("Square", "Square_1")
    assert again(3.0).numpy() == 9.0


def test_it_does_not_keep_a_variable_alive() -> None:
    state = [tf.Variable(2.0)]
    alive = weakref.ref(state[0])
    part = trace_of(lambda x: x * state[0] + 0.0, tf.constant(1.0)).carve("x", "mul")
    assert part(2.0).numpy() == 4.0
    state.clear()
    gc.collect()
    assert alive() is None


def test_it_is_exported_as_any_function(tmp_path, squares) -> None:
    module = tf.Module()
    module.part = squares.carve("Square", "Square_1")
    tf.saved_model.save(module, str(tmp_path))
    assert tf.saved_model.load(str(tmp_path)).part(tf.constant(3.0)).numpy() == 9.0


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ("Sqare:0", "Square_1"),
        ("zzz", "Square_1"),
        ("Square", "x"),
        ("Square_1", "Square"),
        ("Square:7", "Square_1"),
        (["x", "x:0"], "Square"),
        ("x", []),
        ({"not a name": "x"}, "Square"),
        ("x", tf.constant(1.0)),
        ("x", 3),
    ],
)
def test_what_is_wrong_is_named(squares, inputs, outputs) -> None:
    with raises(CarveError):
        squares.carve(inputs, outputs)


def test_wrong_graphs_are_named(squares) -> None:
    with tf.Graph().as_default():
        stranger = tf.compat.v1.placeholder(tf.float32, name="stranger")
    with raises(CarveError):
        squares.carve("x", stranger)
    with raises(TypeError):
        carve(3, "x", "y")


def test_an_ambiguous_operation_is_refused() -> None:
    trace = trace_of(lambda x: tf.split(x, 2), tf.constant([1.0, 2.0]))
    with raises(CarveError):
        trace.carve("x", "split")


def test_an_output_that_no_input_leads_to_is_refused() -> None:
    trace = trace_of(lambda x: (x + 1.0, tf.fill([2], 7.0)), tf.constant(1.0))
    with raises(CarveError):
        trace.carve("x", "Fill")
    assert np.all(trace.carve([], "Fill")() == 7.0)


def test_a_stateful_operation_that_cannot_run_says_how_to_leave_it_out() -> None:
    counter = tf.Variable(0.0)

    def body(x):
        counter.assign_add(x)
        return tf.square(tf.square(x))

    trace = trace_of(body, tf.constant(2.0))
    with raises(CarveError):
        trace.carve("Square", "Square_1")
    assert trace.carve("Square", "Square_1", prune=True)(2.0).numpy() == 4.0


def test_a_session_variable_is_refused_and_its_read_may_be_fed() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, name="x")
        weight = tf.compat.v1.get_variable("weight", [], use_resource=True)
        read = weight.read_value()
        y = x * read
    with raises(CarveError):
        carve(graph, x, y)
    assert carve(graph, [x, read], y)(2.0, 3.0).numpy() == 6.0


def test_what_cannot_be_made_is_not_listed() -> None:
    trace = trace_of(lambda x: x * 2.0, tf.constant(1.0))
    before = live_functions()
    fails = mock.patch("tensorflow.graph_util.import_graph_def", side_effect=ZeroDivisionError)
    with fails, pytest.raises(ZeroDivisionError):
        trace.carve("x", "mul")
    assert live_functions() == before


@pytest.mark.parametrize("prune", [False, True])
def test_training_of_tensorflow_1_is_carved_with_its_order(prune: bool) -> None:
    v1 = tf.compat.v1

    def train(x):
        w = v1.get_variable("w", [], initializer=v1.ones_initializer())
        step = v1.train.GradientDescentOptimizer(0.5).minimize(w * x)
        with tf.control_dependencies([step]):
            return tf.identity(w * x, name="after")

    wrapped = nbfn.wrap_function(train, (tf.float32, []))
    assert wrapped.carve("x", "after", prune)(1.0).numpy() == 0.5
    assert wrapped.variables[0].numpy() == 0.5
