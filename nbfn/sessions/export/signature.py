"""A trace as a serving signature: flat, named inputs and outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import tf_function
from nbfn.functions.traces.key import ObjectLeaf, key_of


def serving_function(concrete: Any) -> Any:
    """A concrete function with flat, named tensors in and out.

    Returns:
        `concrete` itself if it is flat already; else one that calls it.
    """
    args, kwargs = concrete.structured_input_signature
    outputs = concrete.structured_outputs
    flat_outputs = isinstance(outputs, tf.Tensor) or (
        isinstance(outputs, dict)
        and bool(outputs)
        and all(isinstance(k, str) and isinstance(v, tf.Tensor) for k, v in outputs.items())
    )
    leaves = [*args, *kwargs.values()]
    if flat_outputs and all(isinstance(leaf, tf.TensorSpec) for leaf in leaves):
        return concrete
    return _flattened(concrete)


def _flattened(concrete: Any) -> Any:
    leaves = dict(_input_leaves(concrete))
    key = key_of(concrete.function_type)
    specs: dict[str, tf.TensorSpec] = {}
    parts: dict[str, list[str]] = {}
    for path, leaf in leaves.items():
        if isinstance(leaf, tf.TypeSpec):
            components = tf.nest.flatten(leaf, expand_composites=True)
            parts[path] = []
            for spec in components:
                name = _unique(path, specs)
                specs[name] = tf.TensorSpec(spec.shape, spec.dtype, name)
                parts[path].append(name)

    def value_of(path: str, leaf: Any, tensors: Mapping[str, Any]) -> Any:
        if isinstance(leaf, tf.TypeSpec):
            given = [tensors[name] for name in parts[path]]
            return tf.nest.pack_sequence_as(leaf, given, expand_composites=True)
        keyed = key.leaves.get(path)
        return keyed.reference() if isinstance(keyed, ObjectLeaf) and keyed.reference else leaf

    def serve(**tensors: Any) -> dict[str, Any]:
        args, kwargs = _filled(concrete, lambda path, leaf: value_of(path, leaf, tensors))
        outputs = concrete(*args, **kwargs)
        alone = tf.is_tensor(outputs) or isinstance(outputs, tf.Variable)
        return dict(_outputs("output_0" if alone else "output", outputs))

    return tf_function(serve, autograph=False).get_concrete_function(**specs)


def _unique(path: str, taken: Mapping[str, Any]) -> str:
    """An identifier made of a path, with a number if it is taken."""
    name = base = re.sub(r"\W+", "_", path).strip("_")
    count = 1
    while name in taken:
        count += 1
        name = f"{base}_{count}"
    return name


def _filled(
    concrete: Any, fill: Callable[[str, Any], Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The structured inputs with each leaf replaced, given its path as the key names it."""
    args, kwargs = concrete.structured_input_signature
    names = list(concrete.function_type.parameters)
    filled = tuple(_map(name, arg, fill) for name, arg in zip(names, args, strict=False))
    return filled, {name: _map(name, value, fill) for name, value in kwargs.items()}


def _input_leaves(concrete: Any) -> Iterator[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    _filled(concrete, lambda path, leaf: found.append((path, leaf)))
    yield from found


def _map(path: str, node: Any, fill: Callable[[str, Any], Any]) -> Any:
    if isinstance(node, dict):
        return {key: _map(f"{path}[{key!r}]", item, fill) for key, item in node.items()}
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        fields = zip(node._fields, node, strict=True)
        return type(node)(*(_map(f"{path}.{name}", item, fill) for name, item in fields))
    if isinstance(node, (list, tuple)):
        return type(node)([_map(f"{path}[{i}]", item, fill) for i, item in enumerate(node)])
    return fill(path, node)


def _outputs(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _outputs(str(key) if path == "output" else f"{path}_{key}", item)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from _outputs(path, dict(zip(value._fields, value, strict=True)))
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _outputs(f"{path}_{number}", item)
    elif value is not None:
        yield path, tf.convert_to_tensor(value)


def specification(concrete: Any) -> tuple[dict[str, tf.TensorSpec], dict[str, tf.TensorSpec]]:
    """Inputs and outputs of a serving function by name."""
    args, kwargs = concrete.structured_input_signature
    names = list(concrete.function_type.parameters)  # those of the specs are in lower case
    inputs = dict(zip(names, args, strict=False)) | kwargs
    outputs = concrete.structured_outputs
    if not isinstance(outputs, dict):
        outputs = {"output_0": outputs}
    return inputs, {
        name: tf.TensorSpec(tensor.shape, tensor.dtype, name) for name, tensor in outputs.items()
    }
