"""Converts function types and trace types to plain trees."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

_HEAP_TYPE = 1 << 9
"""The flag of classes that are made by a ``class`` statement (CPython)."""
_HOLDING = frozenset((type({}.values()), ContextVar))
"""Python's own classes whose objects show what others hold."""


@dataclass(frozen=True)
class TensorNode:
    """A leaf keyed by dtype and shape, or by another type spec."""

    spec: Any


@dataclass(frozen=True)
class ValueNode:
    """A leaf keyed by a Python value.

    Attributes:
        value: The value.
        in_spec: Whether it is part of a type spec: a field of an ExtensionType.
    """

    value: Any
    in_spec: bool = False


@dataclass(frozen=True)
class ObjectNode:
    """A leaf keyed by an object's identity, held weakly."""

    reference: Callable[[], Any]


@dataclass(frozen=True)
class ContainerNode:
    """A nested structure: its kind, and its children by path suffix."""

    kind: str
    children: dict[str, Any]


Node = TensorNode | ValueNode | ObjectNode | ContainerNode


def unfold(trace_type: Any) -> Node:
    """Converts a trace type to a plain tree; unknown types become a `TensorNode` of themselves."""
    if isinstance(trace_type, tf.TypeSpec):
        return TensorNode(trace_type)
    # By name and attributes: these classes have no public name (TensorFlow 2.21).
    kind = type(trace_type).__name__
    if kind == "Literal" and hasattr(trace_type, "value"):
        value = trace_type.value
        # TensorFlow replaces NaN, which is not equal to itself, by a placeholder object.
        return ValueNode(trace_type.placeholder_value(None) if type(value) is object else value)
    if kind == "Weakref" and isinstance(getattr(trace_type, "_ref", None), weakref.ref):
        return ObjectNode(trace_type._ref)
    if kind == "Tuple" and hasattr(trace_type, "components"):
        return _sequence("tuple", trace_type.components)
    if kind == "List" and hasattr(trace_type, "components_tuple"):
        return _sequence("list", trace_type.components_tuple.components)
    if kind == "Dict" and hasattr(trace_type, "mapping"):
        children = {f"[{key!r}]": unfold(item) for key, item in trace_type.mapping.items()}
        return ContainerNode("dict", children)
    if kind == "Attrs" and hasattr(trace_type, "named_attributes"):
        return unfold(trace_type.named_attributes)
    if kind == "NamedTuple" and hasattr(trace_type, "attribute_names"):
        names = trace_type.attribute_names
        items = trace_type.attributes.components
        return ContainerNode(
            trace_type.type_name,
            {f".{name}": unfold(item) for name, item in zip(names, items, strict=True)},
        )
    return TensorNode(trace_type)


def _sequence(kind: str, items: Any) -> ContainerNode:
    return ContainerNode(kind, {f"[{i}]": unfold(item) for i, item in enumerate(items)})


def unfold_spec(spec: Any) -> Node:
    """Converts a spec with nested specs to a tree: a dataset, an ExtensionType, ...

    The paths are attributes of the value: ``.element_spec`` of datasets, iterators and optionals,
    and the fields of an ExtensionType.
    """
    if hasattr(spec, "dtype") and hasattr(spec, "shape"):
        return TensorNode(spec)
    try:
        parts = spec._serialize()
    except (AttributeError, NotImplementedError, TypeError, ValueError):  # in a class of the user
        return TensorNode(spec)
    kind = type(spec).__name__.removesuffix("Spec") or spec.value_type.__name__
    if parts and all(isinstance(part, tuple) and isinstance(part[0], str) for part in parts):
        return ContainerNode(kind, {f".{name}": _unfold_part(part) for name, part in parts})
    with_specs = [part for part in parts if _holds_specs(part)]
    if len(with_specs) == 1:
        return ContainerNode(kind, {".element_spec": _unfold_part(with_specs[0])})
    return _unfold_part(tuple(with_specs)) if with_specs else TensorNode(spec)


def _unfold_part(part: Any) -> Node:
    if isinstance(part, tf.TypeSpec):
        return unfold_spec(part)
    if isinstance(part, Mapping):
        children = {f"[{key!r}]": _unfold_part(item) for key, item in part.items()}
        return ContainerNode("dict", children)
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        items = {f".{n}": _unfold_part(v) for n, v in zip(part._fields, part, strict=True)}
        return ContainerNode(type(part).__name__, items)
    if isinstance(part, (list, tuple)):
        items = {f"[{i}]": _unfold_part(item) for i, item in enumerate(part)}
        return ContainerNode(type(part).__name__, items)
    return ValueNode(part, in_spec=True)


def _holds_specs(part: Any) -> bool:
    return any(isinstance(leaf, tf.TypeSpec) for leaf in tf.nest.flatten(part))


def trace_types(function_type: Any) -> list[Any]:
    """Returns the trace types of a function's parameters, in order; None if one is unknown."""
    return [getattr(p, "type_constraint", None) for p in function_type.parameters.values()]


def nodes(function_type: Any) -> Iterator[tuple[str, Node]]:
    """Yields the trace types of a function's parameters and all nested ones, each with its path."""
    for name, found in zip(function_type.parameters, trace_types(function_type), strict=True):
        if found is not None:
            yield from walk_nodes(name, unfold(found))


def walk_nodes(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    """Yields a node and all nested ones, each with its path."""
    yield path, node
    if isinstance(node, ContainerNode):
        for suffix, child in node.children.items():
            yield from walk_nodes(path + suffix, child)


def objects(function_type: Any) -> Iterator[tuple[str, Any]]:
    """Yields the objects among the arguments and their parts that are alive, by path."""
    for path, node in nodes(function_type):
        if isinstance(node, ObjectNode) and (target := node.reference()) is not None:
            yield path, target
        elif isinstance(node, ValueNode) and _is_object(node.value):
            yield path, node.value


def _is_object(value: Any) -> bool:
    """Returns whether a value is an object that TensorFlow takes for a plain one.

    It does so with objects that support no weak references: those with ``__slots__``, the values of
    a dictionary and context variables. It refuses other views, which have no hash (2.21).
    """
    kind = type(value)
    is_python_class = bool(kind.__flags__ & _HEAP_TYPE)
    return (is_python_class and not kind.__weakrefoffset__) or kind in _HOLDING
