"""Adds control dependencies so that writes and failing operations run in program order.

TensorFlow orders the operations of a graph by data and by resource only. If an operation fails, the
call ends: later writes may then have run, and earlier ones may not. So an assertion before an
assignment would not protect the variable, as it does in Python.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.graphs.function_graphs import called
from nbfn._tensorflow.operation_types import CALLBACK, is_write, stateful_random_operations, writes

# An operation in none of these sets counts as one that may fail: this costs a control dependency,
# but the order is kept. See tests/functions/traced/test_failures.py.
_UNARY = frozenset(
    {
        *("Abs", "Acos", "Asin", "Atan", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "Expm1"),
        *("Floor", "Inv", "IsFinite", "IsInf", "IsNan", "LeakyRelu", "Lgamma", "Log", "Log1p"),
        *("LogSoftmax", "LogicalNot", "Neg", "Reciprocal", "Relu", "Relu6", "Rint", "Round"),
        *("Rsqrt", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign"),
        *("Sqrt", "Square", "Tan", "Tanh", "L2Loss", "Cast", "Identity", "IdentityN", "OnesLike"),
        *("StopGradient", "PreventGradient", "Snapshot", "ZerosLike", "Shape", "ShapeN", "Size"),
        *("Rank", "Squeeze"),
    }
)
"""Operations that never fail."""
_OF_SHAPES = frozenset(
    {
        *("Add", "AddN", "AddV2", "Atan2", "BatchMatMul", "BatchMatMulV2", "BiasAdd", "Conv2D"),
        *("BiasAddGrad", "DivNoNan", "Equal", "FusedBatchNorm", "FusedBatchNormV3", "Greater"),
        *("FusedBatchNormGradV3", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr"),
        *("MatMul", "Maximum", "Minimum", "Mul", "MulNoNan", "NotEqual", "Pow", "RealDiv"),
        *("Select", "SelectV2", "Sub", "SquaredDifference", "Xdivy", "Xlogy", "ClipByValue"),
        *("Pack", "Unpack", "DepthwiseConv2dNative", "MaxPool", "AvgPool", "MaxPoolGrad"),
        *("AvgPoolGrad", "SoftmaxCrossEntropyWithLogits", "EluGrad", "LeakyReluGrad", "ReluGrad"),
        *("Relu6Grad", "RsqrtGrad", "SeluGrad", "SigmoidGrad", "SoftplusGrad", "SqrtGrad"),
        *("TanhGrad", "BroadcastGradientArgs", "AssignVariableOp", "AssignAddVariableOp"),
        *("AssignSubVariableOp", "ResourceApplyGradientDescent", "ResourceApplyMomentum"),
        *("ResourceApplyKerasMomentum", "ResourceApplyAdam"),
    }
)
"""Operations that fail only by shapes; known shapes are checked while tracing."""
_OF_SIZES = frozenset(
    {
        *("Reshape", "ConcatV2", "ConcatOffset", "Tile", "Fill", "Pad", "PadV2", "Slice", "Split"),
        *("StridedSlice", "StridedSliceGrad", "BroadcastTo", "OneHot", "Range", "Transpose"),
        *("ExpandDims", "Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "ArgMax", "ArgMin"),
        *("Conv2DBackpropInput", "Conv2DBackpropFilter", "DynamicStitch", "InvertPermutation"),
    }
)
"""Operations that fail by shapes or by values for sizes, axes and positions."""
_CANNOT_FAIL = frozenset({"Placeholder", "Const", "NoOp", "ReadVariableOp", "VarHandleOp"})
_CANNOT_FAIL |= {"VarIsInitializedOp", "VariableShape", "DisableCopyOnRead"}
_CANNOT_FAIL |= _UNARY
_LOOPS = ("While", "StatelessWhile")
_LOOPS_AND_BRANCHES = frozenset({"While", "If", "Case"})
_CALLS = _LOOPS_AND_BRANCHES | {"StatefulPartitionedCall"}
NODE_IN_ERROR = re.compile(r"\{\{node ([^}]+)\}\}")
"""How the runtime names an operation in its messages (TensorFlow 2.21)."""
# Without a limit, n operations that may fail above m writes would get n * m edges.
MAX_EDGES = 8
"""Maximum number of direct dependencies; more are joined by a ``NoOp``."""


def keep_order(graph: Any) -> None:
    """Makes writes and operations that may fail depend on each other, in creation order.

    Adds nothing if no write precedes or follows an operation that may fail.

    Args:
        graph: A graph that is being built.
    """
    if not hasattr(tf.Operation, "_add_control_inputs"):
        return
    # Callbacks are ordered by `OrderedCallbacks`.
    operations = [each for each in graph.get_operations() if CALLBACK not in each.name]
    if not any(_writes(op.type) for op in operations):
        return
    if any(op.type in _LOOPS for op in operations):
        operations = _after_their_inputs(operations)
    risky: list[Any] = []
    writing: list[Any] = []
    for op in operations:
        fails, writes = may_fail(op), _writes(op.type)
        # Before it is added to either list, so that it does not depend on itself.
        if writes and risky:
            risky = _waited_for(graph, op, risky)
        if fails and writing:
            writing = _waited_for(graph, op, writing)
        if fails:
            risky.append(op)
        if writes:
            writing.append(op)


def _after_their_inputs(operations: list[Any]) -> list[Any]:
    """Sorts operations by creation, but each loop after the operations that it needs.

    The gradient of a loop adds inputs to the loop, to save intermediate values; these were created
    after the loop. If they depended on the loop, there would be a cycle.
    """
    ordered: dict[str, Any] = {}
    for op in operations:
        waiting = [op]
        while waiting:
            if waiting[-1] is op and op.type not in _LOOPS:
                needed = []
            else:
                inputs = (*(each.op for each in waiting[-1].inputs), *waiting[-1].control_inputs)
                needed = [each for each in inputs if each.name not in ordered]
            if needed:
                waiting += needed
            else:
                ordered.setdefault(waiting[-1].name, waiting[-1])
                waiting.pop()
    return list(ordered.values())


def _waited_for(graph: Any, op: Any, above: list[Any]) -> list[Any]:
    """Makes an operation depend on earlier ones; returns what later ones must depend on."""
    if len(above) > MAX_EDGES:
        with graph.control_dependencies(above):
            above = [tf.no_op()]
    # It depends on its producers anyway.
    producers = {id(each.op) for each in op.inputs} | {id(op)}
    op._add_control_inputs([each for each in above if id(each) not in producers])
    return above


def may_have_written(graph: Any, error: BaseException) -> bool:
    """Returns whether a call of a graph that has failed may have had an effect before.

    `keep_order` must have ordered the graph. Then a failed operation has no effects below it.
    """
    if not writes(graph):
        return False
    if stateful_random_operations(graph) or not hasattr(tf.Operation, "_add_control_inputs"):
        return True
    library = graph.as_graph_def().library.function
    nested = {node.name for each in library for node in each.node_def}
    # An inlined operation has its name in the function that it comes from (TensorFlow 2.21).
    failed = set(NODE_IN_ERROR.findall(str(error))) - nested
    operations = {op.name: op for op in graph.get_operations()}
    return not any(
        name in operations and not any(_writes(op.type) for op in _needed(operations[name]))
        for name in failed
    )


def _needed(op: Any) -> list[Any]:
    """Returns an operation and all that run before it."""
    found, waiting = {}, [op]
    while waiting:
        each = waiting.pop()
        if each.name not in found:
            found[each.name] = each
            waiting += [*(tensor.op for tensor in each.inputs), *each.control_inputs]
    return list(found.values())


def add_callback(callback: Callable[..., Any], tensors: list[Any], before: Any = None) -> Any:
    """Calls a Python function with the values of tensors each time that a graph runs.

    Args:
        callback: Called with an array for each tensor; returns False.
        tensors: The tensors to pass.
        before: An operation that must run after the callback, or None.

    Returns:
        The operation that calls `callback`.
    """
    # The only device with a kernel for Python functions.
    with tf.device("CPU:0"):
        operation = tf.numpy_function(callback, tensors, tf.bool, name=CALLBACK).op
    manager: Any = getattr(operation.graph, "experimental_acd_manager", None)
    if hasattr(manager, "run_independently"):
        # Otherwise it depends on earlier stateful operations, such as `before` itself.
        manager.run_independently(operation)
    if before is not None and hasattr(before, "_add_control_inputs"):
        before._add_control_inputs([operation])
    return operation


class OrderedCallbacks:
    """Adds callbacks to graphs that are being built, which run in program order.

    Writes, and calls that may write, depend on earlier callbacks, so a callback that raises
    prevents later writes.
    """

    def __init__(self) -> None:
        # By name, as an operation would keep its graph, which is the key, alive.
        self._last: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def _before(self, graph: Any) -> list[Any]:
        name = self._last.get(graph)
        return [] if name is None else [graph.get_operation_by_name(name)]

    def add(self, callback: Callable[..., Any], tensors: list[Any]) -> Any:
        """Adds a callback, as `add_callback`; it runs after earlier ones."""
        graph: Any = tf.compat.v1.get_default_graph()
        with tf.control_dependencies(self._before(graph)):
            operation = add_callback(callback, tensors)
        self._last[graph] = operation.name
        return operation

    def order(self, op: Any) -> None:
        """Makes a new operation depend on earlier callbacks if it writes."""
        if not (_writes(op.type) and hasattr(op, "_add_control_inputs")):
            return
        op._add_control_inputs(self._before(op.graph))
        if op.type in _CALLS:
            self._last[op.graph] = op.name


def may_fail(op: Any) -> bool:
    """Returns whether an operation may fail because of its inputs' values, as far as known."""
    kind = op.type
    if kind in _CANNOT_FAIL:
        return False
    if kind not in _OF_SHAPES and kind not in _OF_SIZES:
        return True
    if kind in _OF_SIZES and any(
        each.dtype in (tf.int32, tf.int64) and each.op.type != "Const" for each in op.inputs
    ):
        return True
    return not all(each.shape.is_fully_defined() for each in (*op.inputs, *op.outputs))


def _writes(kind: str) -> bool:
    return kind in _CALLS or is_write(kind)


def unordered_loops(graph: Any) -> Iterator[Any]:
    """Yields loops and branches in whose bodies a failure does not prevent later writes.

    The bodies are finished functions, which `keep_order` cannot change.
    """
    library = {each.signature.name: each for each in graph.as_graph_def().library.function}
    for op in graph.get_operations():
        if op.type in _LOOPS_AND_BRANCHES and any(
            _is_unordered(library, each) for each in called([op.node_def])
        ):
            yield op


def _is_unordered(library: Any, name: str) -> bool:
    """Returns whether a write and an operation that may fail are unordered, also nested."""
    above: dict[str, set[str]] = {}
    risky, writing = [], []
    inner: list[str] = []
    for node in library[name].node_def:
        inputs = {each.lstrip("^").partition(":")[0] for each in node.input}
        above[node.name] = inputs.union(*(above.get(each, ()) for each in inputs))
        if node.op not in _CANNOT_FAIL | _OF_SHAPES:
            risky.append(node.name)
        if _writes(node.op):
            writing.append(node.name)
        if node.op in _LOOPS_AND_BRANCHES:
            inner += called([node])
    return any(
        one != other and one not in above[other] and other not in above[one]
        for one in risky
        for other in writing
    ) or any(_is_unordered(library, each) for each in inner)
