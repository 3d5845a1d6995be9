"""What a graph consists of: operations by scope, their lines, and the bodies of control flow."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.graphs.operations import Graph, graph_of, scopes_of


@pytest.fixture
def made() -> tuple[Any, Graph]:
    weights = tf.Variable(tf.ones([3, 4]), name="weights")

    def forward(x: Any) -> Any:
        with tf.name_scope("dense"):
            y = tf.matmul(x, weights)
        for _ in tf.range(3):
            if tf.reduce_sum(y) > 10:
                y = y * 2
        with tf.device("CPU:0"):
            return tf.nn.relu(y)

    traced = nbfn.function(forward)
    traced(tf.ones([2, 3]))
    return forward, graph_of(traced.traces[0])


def test_operations_have_scopes_results_devices_and_lines(made) -> None:
    forward, graph = made
    first = forward.__code__.co_firstlineno
    operations = {each.name: each for each in graph.operations}
    matmul = operations["dense/MatMul"]
    assert (matmul.type, matmul.outputs, matmul.line) == ("MatMul", ("float32[2, 4]",), first + 2)
    assert matmul.inputs == ("x", "dense/MatMul/ReadVariableOp")
    assert (matmul.taken, matmul.file) == ((0, 0), __file__)
    assert (operations["Relu"].device, operations["Relu"].line) == ("CPU:0", first + 7)
    assert operations["x"].line is None
    dense = scopes_of(graph.operations).scopes["dense"]
    assert [each.name for each in dense.operations] == ["dense/MatMul"]
    assert dense.counts() == [("MatMul", 1), ("ReadVariableOp", 1), ("Placeholder", 1)]
    assert sum(1 for _ in scopes_of(graph.operations).all()) == len(graph.operations)


def test_inputs_outputs_and_captures(made) -> None:
    _, graph = made
    assert graph.inputs == (("x", "float32[2, 3]"),)
    assert [spec for _, spec in graph.outputs] == ["float32[2, 4]"]
    assert [name for _, name in graph.captures] == ["weights"]


def test_what_a_gradient_needs_is_no_output() -> None:
    made = nbfn.function(lambda x: tf.sin(x) * x)
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = made(x)
    tape.gradient(y, x)
    (trace,) = made.traces
    assert len(trace.graph.outputs) > 1
    assert len(graph_of(trace).outputs) == 1


def test_bodies_of_loops_and_of_branches_in_them(made) -> None:
    _, graph = made
    (loop,) = [each for each in graph.operations if each.type.endswith("While")]
    condition, body = sorted(loop.bodies, key=lambda name: "body" in name)
    assert "Less" in [each.type for each in graph.bodies[condition]]
    (branch,) = [each for each in graph.bodies[body] if each.type.endswith("If")]
    assert len(branch.bodies) == 2
    found = [(where, each) for where, each in graph.found("mul") if each.type == "Mul"]
    assert [where in branch.bodies for where, _ in found] == [True]


def test_operations_of_a_body_have_lines_and_say_which_result_they_take(made) -> None:
    forward, graph = made
    first = forward.__code__.co_firstlineno
    (double,) = [
        each for part in graph.bodies.values() for each in part if each.name.endswith("/mul")
    ]
    assert (double.line, double.outputs) == (first + 5, ("float32[2, 4]",))
    split = nbfn.function(lambda x: tf.unique(x)[1] + 1)
    split(tf.constant([1, 1, 2]))
    (add,) = [each for each in graph_of(split.traces[0]).operations if each.type == "AddV2"]
    assert add.taken == (1, 0)


def test_a_body_that_is_not_at_hand_is_read_from_its_definition(made, monkeypatch) -> None:
    forward, graph = made
    traced = nbfn.function(forward)
    traced(tf.ones([2, 3]))
    monkeypatch.setattr("nbfn._tensorflow.called_graphs", lambda graph: ())
    bodies = graph_of(traced.traces[0]).bodies
    assert len(bodies) == len(graph.bodies)
    (double,) = [each for part in bodies.values() for each in part if each.name.endswith("mul")]
    assert (double.type, double.line, double.taken) == ("Mul", None, (0, 0))


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("relu", ["Relu"]),
        ("dense/*", ["dense/MatMul", "dense/MatMul/ReadVariableOp"]),
        ("ReadVariableOp", ["dense/MatMul/ReadVariableOp"]),
        ("*", None),
        ("nothing", []),
    ],
)
def test_finding_by_name_or_type(made, pattern: str, names: Any) -> None:
    _, graph = made
    found = [each for _, each in graph.found(pattern)]
    if names is None:
        assert len(found) == len(graph.operations) + sum(map(len, graph.bodies.values()))
    else:
        kept = [each.name for each in found if each.type != "Placeholder"]
        assert sorted(kept) == names
