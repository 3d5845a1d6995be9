"""Exports a graph in Model Explorer's own JSON format, without its converters.

The functions that a graph calls are separate graphs, linked from the operations that call them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from nbfn.functions.graphs.operations import Graph, Operation


def model_explorer(name: str, graph: Graph) -> str:
    """Returns the JSON of a graph and of the functions that it calls."""
    captured = dict(graph.captures)
    graphs = [{"id": name, "nodes": list(_nodes(graph.operations, captured))}]
    graphs += [
        {"id": body, "nodes": list(_nodes(operations, {}))}
        for body, operations in graph.bodies.items()
    ]
    return json.dumps(graphs)


def _nodes(operations: Sequence[Operation], captured: dict[str, str]) -> Iterator[dict[str, Any]]:
    for operation in operations:
        facts = {
            "type": operation.type,
            "device": operation.device,
            "line": "" if operation.line is None else str(operation.line),
            "captures": captured.get(operation.name, ""),
        }
        yield {
            "id": operation.name,
            "label": operation.type,
            "namespace": operation.name.rpartition("/")[0],
            "subgraphIds": list(operation.bodies),
            "attrs": [{"key": key, "value": value} for key, value in facts.items() if value],
            "incomingEdges": [
                {
                    "sourceNodeId": source,
                    "sourceNodeOutputId": str(which),
                    "targetNodeInputId": str(number),
                }
                for number, (source, which) in enumerate(
                    zip(operation.inputs, operation.taken, strict=True)
                )
            ],
            "outputsMetadata": [
                {"id": str(number), "attrs": [{"key": "tensor_shape", "value": spec}]}
                for number, spec in enumerate(operation.outputs)
            ],
        }
