"""Compares traces for equivalence."""

from __future__ import annotations

import hashlib
import marshal
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from nbfn._tensorflow.graphs.function_graphs import outputs_of

_OF_NAMES = ("PartitionedCall-", "StatefulPartitionedCall-")
"""Prefixes of the names of call gradients, which TensorFlow numbers."""


def are_equivalent(one: Any, other: Any) -> bool:
    """Returns whether two traces have the same operations, inputs, outputs and captures.

    Names of operations and functions are ignored. Objects of this process, such as Python functions
    that a graph calls and custom gradients, never compare equal.
    """
    types = [(each.function_type.parameters, each.function_type.output) for each in (one, other)]
    sizes = [len(each.graph.get_operations()) for each in (one, other)]
    return (
        types[0] == types[1]
        and sizes[0] == sizes[1]
        and _capture_ids(one) == _capture_ids(other)
        and _digest_of(one.graph) == _digest_of(other.graph)
    )


_digests: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()
"""The digest of each graph that was compared: a new trace is compared with every older one."""


def _digest_of(graph: Any) -> bytes:
    if graph not in _digests:
        _digests[graph] = _digest(_form(graph))
    return _digests[graph]


def _digest(form: Any) -> bytes:
    # Version 2 has no back references, so equal forms, and only these, have equal bytes.
    return hashlib.blake2b(marshal.dumps(form, 2), digest_size=32).digest()


def _capture_ids(concrete: Any) -> Any:
    graph = concrete.graph
    # Captures that are resolved at each call.
    if getattr(graph, "deferred_external_captures", None):
        # What these return may differ at each call, so such traces are never equal.
        return object()
    return [id(external) for external, _ in graph.captures]


def _form(graph: Any) -> Any:
    """Returns the operations of a graph with numbers instead of names."""
    definition = graph.as_graph_def()
    functions = {each.signature.name: each for each in definition.library.function}
    numbers = {node.name: i for i, node in enumerate(definition.node)}
    outputs = outputs_of(graph)
    ends = [[numbers.get(each.op.name) for each in some] for some in (graph.inputs, outputs)]
    indices = [each.value_index for each in outputs]
    last = sorted(numbers[each.name] for each in graph.control_outputs)
    return ends, indices, last, _form_of_nodes(definition.node, numbers, functions, {})


def _form_of_nodes(
    nodes: Iterable[Any], numbers: Mapping[str, Any], functions: Mapping[str, Any], forms: Any
) -> Any:
    return [
        (
            node.op,
            node.device,
            [_name_number(each, numbers) for each in node.input],
            [(name, _form_of(node.attr[name], functions, forms)) for name in sorted(node.attr)],
        )
        for node in nodes
    ]


def _name_number(name: str, numbers: Mapping[str, Any]) -> tuple[Any, ...]:
    base, _, output = name.removeprefix("^").partition(":")
    return name[:1] == "^", numbers[base], output


def _form_of(attribute: Any, functions: Mapping[str, Any], forms: Any) -> Any:
    called = [each.name for each in (attribute.func, *attribute.list.func) if each.name]
    if called:
        return [_form_of_function(name, functions, forms) for name in called]
    # The name of a call's gradient has a number that is unique in the process.
    if attribute.s.startswith(tuple(each.encode() for each in _OF_NAMES)):
        return None
    return attribute.SerializeToString(deterministic=True)


def _form_of_function(name: str, functions: Mapping[str, Any], forms: dict[str, Any]) -> Any:
    if name not in forms:
        function = functions.get(name)
        if function is None:
            return name
        forms[name] = name  # for recursive functions
        arguments = [each.name for each in function.signature.input_arg]
        numbers = {each: -1 - i for i, each in enumerate(arguments)}
        numbers |= {node.name: i for i, node in enumerate(function.node_def)}
        outputs = [each.name for each in function.signature.output_arg]
        forms[name] = _digest(
            (
                [_name_number(function.ret[each], numbers) for each in outputs],
                sorted(_name_number(each, numbers) for each in function.control_ret.values()),
                _form_of_nodes(function.node_def, numbers, functions, forms),
            )
        )
    return forms[name]
