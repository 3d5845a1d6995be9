"""Reads the graph of a trace: its operations, name scopes, and the functions it calls.

RFC "Functions, not Sessions", section "Serialization": the graph of a trace can be inspected.
"""

from __future__ import annotations

import fnmatch
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.traces.capture import short_device
from nbfn.functions.traces.trace import Trace
from nbfn.text import sizes

MAX_VALUES = 4
MAX_TEXT = 24
"""The value of a constant with more values, or with a longer text, is omitted."""


@dataclass(frozen=True)
class Operation:
    """An operation of a graph.

    Attributes:
        name: Its name, with its scopes.
        type: Its type, such as ``MatMul``.
        inputs: Names of the operations whose results it takes.
        taken: For each input, the index of the result.
        outputs: Dtype and shape of each result, such as ``float32[None, 10]``.
        device: The requested device, in short form; empty if none.
        line: The user line that made it; None if it is not known.
        file: The file of that line, which may represent a cell.
        value: The value of a constant, if it is short.
        controls: Names of the operations of its control inputs.
        bodies: Names of the functions that it calls, such as a loop's body.
    """

    name: str
    type: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    device: str = ""
    line: int | None = None
    bodies: tuple[str, ...] = ()
    taken: tuple[int, ...] = ()
    file: str = ""
    value: str = ""
    controls: tuple[str, ...] = ()

    def matches(self, pattern: str) -> bool:
        """Returns whether its name or type contains a text, or fits one with ``*`` or ``?``."""
        lowered = pattern.lower()
        wanted = lowered if any(sign in pattern for sign in "*?[") else f"*{lowered}*"
        return any(fnmatch.fnmatchcase(t.lower(), wanted) for t in (self.name, self.type))


@dataclass
class NameScope:
    """The operations of a name scope.

    Attributes:
        name: The last part of its name; empty for the whole graph.
        operations: Operations directly in it.
        scopes: The scopes in it, by name.
    """

    name: str
    operations: list[Operation] = field(default_factory=list)
    scopes: dict[str, NameScope] = field(default_factory=dict)

    def all(self) -> Iterator[Operation]:
        """Yields its operations and those of its nested scopes."""
        yield from self.operations
        for scope in self.scopes.values():
            yield from scope.all()

    def counts(self) -> list[tuple[str, int]]:
        """Returns the number of operations of each type, the most frequent first."""
        return Counter(operation.type for operation in self.all()).most_common()


@dataclass(frozen=True)
class Graph:
    """The graph of a trace.

    Attributes:
        operations: Its operations, in the order in which they were made.
        inputs: Name, dtype and shape of each argument.
        outputs: Name of the operation, dtype and shape of each result.
        captures: The operation for each captured value, and the notebook's name of the value.
        bodies: The operations of each function that it calls, and that those call, by name.
    """

    operations: tuple[Operation, ...]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    captures: tuple[tuple[str, str], ...]
    bodies: dict[str, tuple[Operation, ...]]

    def found(self, pattern: str) -> Iterator[tuple[str, Operation]]:
        """Yields the operations that match with the name of their function; empty for the graph."""
        for body, operations in (("", self.operations), *self.bodies.items()):
            yield from ((body, each) for each in operations if each.matches(pattern))


def graph_of(trace: Trace) -> Graph:
    """Reads the graph of a trace.

    Raises:
        EvictedError: If the trace has left the cache.
    """
    return graph_of_concrete(trace.concrete_function, [each.name for each in trace.captures])


def graph_of_concrete(concrete: Any, captures: Sequence[str] = ()) -> Graph:
    """Reads the graph of a concrete function.

    `captures` are the notebook's names of its captures, in the function's order.
    """
    graph = concrete.graph
    named = {each.name: each for each in graph.get_operations()}
    inputs = list(getattr(graph, "inputs", ()))
    captured = [internal for _, internal in getattr(graph, "captures", ())]
    captured_ids = {id(tensor) for tensor in captured}
    return Graph(
        tuple(map(_operation, named.values())),
        tuple((t.op.name, _spec(t)) for t in inputs if id(t) not in captured_ids),
        tuple((t.op.name, _spec(t)) for t in _tensorflow.outputs_of(graph)),
        tuple((t.op.name, name) for t, name in zip(captured, captures, strict=False)),
        _bodies(graph),
    )


def scopes_of(operations: Iterable[Operation]) -> NameScope:
    """Groups operations by name scope, in the order of first appearance."""
    whole = NameScope("")
    for operation in operations:
        scope = whole
        for part in operation.name.split("/")[:-1]:
            scope = scope.scopes.setdefault(part, NameScope(part))
        scope.operations.append(operation)
    return whole


def _operation(operation: tf.Operation) -> Operation:
    file, line = _tensorflow.place_of_operation(operation, in_function=True) or ("", None)
    return Operation(
        operation.name,
        operation.type,
        tuple(tensor.op.name for tensor in operation.inputs),
        tuple(map(_spec, operation.outputs)),
        short_device(operation.device) if operation.device else "",
        line,
        tuple(_tensorflow.called([operation.node_def])),
        tuple(tensor.value_index for tensor in operation.inputs),
        file,
        _value(operation.node_def),
        tuple(each.name for each in operation.control_inputs),
    )


def _spec(tensor: tf.Tensor) -> str:
    return str(tensor.dtype.name) + sizes(tensor.shape)


def _bodies(graph: Any) -> dict[str, tuple[Operation, ...]]:
    """Returns the operations of the functions that a graph calls, directly or indirectly."""
    traced = dict(_tensorflow.called_graphs(graph))
    definition = graph.as_graph_def()
    found: dict[str, tuple[Operation, ...]] = {}
    functions = _tensorflow.reachable_functions(definition.node, definition.library)
    for name, function in functions.items():
        if name in traced:
            found[name] = tuple(map(_operation, traced[name].get_operations()))
        else:
            arguments = map(_argument, function.signature.input_arg)
            found[name] = (*arguments, *map(_of_body, function.node_def))
    return found


def _argument(argument: Any) -> Operation:
    """Returns the placeholder for an argument of a function definition."""
    dtype = tf.dtypes.as_dtype(argument.type).name if argument.type else ""
    return Operation(argument.name, "Placeholder", outputs=(dtype,))


def _of_body(node: Any) -> Operation:
    shapes = [tf.TensorShape(each) for each in node.attr["_output_shapes"].list.shape]
    types = [
        tf.dtypes.as_dtype(node.attr[key].type).name
        # A definition lists no dtypes of results. The first of these attributes that an operation
        # has is that of its result, for most operations.
        for key in ("dtype", "DstT", "output_type", "T")
        if node.attr[key].type
    ][:1]
    outputs = tuple((types[0] if types else "") + sizes(shape) for shape in shapes)
    taken = [each.split(":") for each in node.input if not each.startswith("^")]
    return Operation(
        node.name,
        node.op,
        tuple(name for name, *_ in taken),
        outputs or tuple(types),
        short_device(node.device) if node.device else "",
        bodies=tuple(_tensorflow.called([node])),
        taken=tuple(int(which[-1]) if which else 0 for _, *which in taken),
        value=_value(node),
        controls=tuple(each[1:] for each in node.input if each.startswith("^")),
    )


def _value(node: Any) -> str:
    """Returns the value of a constant as text, if it is short."""
    if node.op != "Const":
        return ""
    tensor = node.attr["value"].tensor
    size = math.prod(each.size for each in tensor.tensor_shape.dim)
    if size > MAX_VALUES:
        return ""
    text = np.array2string(tf.make_ndarray(tensor), separator=", ")
    return text if len(text) <= MAX_TEXT else ""
