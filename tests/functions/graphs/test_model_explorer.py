"""The JSON that Model Explorer reads: nodes, edges, results, and functions as graphs beside it."""

from __future__ import annotations

import json
from typing import Any

import tensorflow as tf

import nbfn
from nbfn.functions.graphs.model_explorer import model_explorer
from nbfn.functions.graphs.operations import graph_of


def test_every_operation_is_a_node_with_its_edges_and_results() -> None:
    weights = tf.Variable(tf.ones([3, 4]), name="weights")

    @nbfn.function
    def forward(x: Any) -> Any:
        with tf.name_scope("dense"):
            y = tf.matmul(x, weights)
        while tf.reduce_sum(y) < 100:
            y = y * 2
        return y

    forward(tf.ones([2, 3]))
    graph = graph_of(forward.traces[0])
    whole, *bodies = json.loads(model_explorer("forward", graph))
    nodes = {each["id"]: each for each in whole["nodes"]}
    assert (whole["id"], len(nodes)) == ("forward", len(graph.operations))
    product = nodes["dense/MatMul"]
    assert (product["label"], product["namespace"]) == ("MatMul", "dense")
    assert [each["sourceNodeId"] for each in product["incomingEdges"]] == [
        "x",
        "dense/MatMul/ReadVariableOp",
    ]
    (result,) = product["outputsMetadata"]
    assert result["attrs"] == [{"key": "tensor_shape", "value": "float32[2, 4]"}]
    captured = nodes["dense/MatMul/ReadVariableOp/resource"]
    assert {"key": "captures", "value": "weights"} in captured["attrs"]
    (loop,) = [each for each in nodes.values() if each["subgraphIds"]]
    assert {each["id"] for each in bodies} == set(loop["subgraphIds"])
    for part in (whole, *bodies):
        ids = {each["id"] for each in part["nodes"]}
        edges = [edge for each in part["nodes"] for edge in each["incomingEdges"]]
        assert {edge["sourceNodeId"] for edge in edges} <= ids
