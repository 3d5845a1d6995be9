"""Converts a trace to a serving signature with flat, named tensors as inputs and outputs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import tf_function
from nbfn.functions.traces.key import ObjectLeaf, key_of, map_with_paths
from nbfn.sessions.export.resources import ExportError

# In the order in which tf.nest flattens the composite tensors (TensorFlow 2.21).
_PARTS = {
    tf.RaggedTensorSpec: ("values", "row_splits"),
    tf.SparseTensorSpec: ("indices", "values", "dense_shape"),
    tf.IndexedSlicesSpec: ("values", "indices", "dense_shape"),
}


def serving_function(concrete: Any, name: str) -> Any:
    """Returns a trace as a concrete function with flat, named tensors; unchanged if it is one.

    Raises:
        ExportError: If an input or output has no form in a SavedModel.
    """
    args, kwargs = concrete.structured_input_signature
    outputs = concrete.structured_outputs
    flat_outputs = isinstance(outputs, tf.Tensor) or (
        isinstance(outputs, dict)
        and bool(outputs)
        and all(_is_name(k) and isinstance(v, tf.Tensor) for k, v in outputs.items())
    )
    inputs = dict(zip(concrete.function_type.parameters, args, strict=False)) | kwargs
    are_apart = len({parameter.lower() for parameter in inputs}) == len(inputs)
    if (
        flat_outputs
        and are_apart
        and all(
            isinstance(leaf, tf.TensorSpec) and leaf.name == parameter and _is_name(parameter)
            for parameter, leaf in inputs.items()
        )
    ):
        return concrete
    return _flatten(concrete, name)


def input_names(concrete: Any) -> list[str]:
    """Returns the names of a trace's inputs in its serving function, in their order."""
    _, parts = _inputs(concrete)
    args, kwargs = _fill(concrete, lambda path, _: tuple(parts.get(path, ())))
    return [str(name) for name in tf.nest.flatten((args, kwargs))]


def _inputs(concrete: Any) -> tuple[dict[str, tf.TensorSpec], dict[str, list[str]]]:
    """Returns the specs of all input tensors by name, and the names of each input's tensors."""
    specs: dict[str, tf.TensorSpec] = {}
    parts: dict[str, list[str]] = {}
    for path, leaf in _input_leaves(concrete):
        if isinstance(leaf, tf.TypeSpec):
            parts[path] = []
            for part, spec in _components(path, leaf):
                # Names of inputs are compared in lower case: TensorFlow lowercases them.
                unique = _unique(part, {each.lower() for each in specs}, str.lower)
                specs[unique] = tf.TensorSpec(spec.shape, spec.dtype, unique)
                parts[path].append(unique)
    return specs, parts


def _flatten(concrete: Any, name: str) -> Any:
    for what, remedy in obstacles(concrete):
        raise ExportError(f"`{name}` {what}; {remedy}")
    key = key_of(concrete.function_type)
    specs, parts = _inputs(concrete)

    def value_of(path: str, leaf: Any, tensors: Mapping[str, Any]) -> Any:
        if isinstance(leaf, tf.TypeSpec):
            components = [tensors[name] for name in parts[path]]
            return tf.nest.pack_sequence_as(leaf, components, expand_composites=True)
        keyed = key.leaves.get(path)
        return keyed.reference() if isinstance(keyed, ObjectLeaf) and keyed.reference else leaf

    def serve(**tensors: Any) -> dict[str, Any]:
        args, kwargs = _fill(concrete, lambda path, leaf: value_of(path, leaf, tensors))
        found: dict[str, Any] = {}
        for path, output in _output_leaves(concrete(*args, **kwargs)):
            if not _is_composite(output):
                output = tf.convert_to_tensor(output)
            for part, tensor in _components(path, output):
                found[_unique(part, found)] = tensor
        return found

    # Keyword parameters keep the names; TensorFlow changes the names of specs.
    # `sanitize_spec_name` lowercases them (TensorFlow 2.21).
    return tf_function(serve, autograph=False).get_concrete_function(**specs)


def _components(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the tensors, or their specs, that make up a value or its specification."""
    spec = value if isinstance(value, tf.TypeSpec) else tf.type_spec_from_value(value)
    flat = tf.nest.flatten(value, expand_composites=True)
    if isinstance(spec, tf.TensorSpec):
        yield path, flat[0]
    elif hasattr(spec.value_type, "__annotations__") and issubclass(
        spec.value_type, tf.experimental.ExtensionType
    ):
        for field in vars(spec):
            inner = getattr(value, field, None)
            if isinstance(inner, tf.TypeSpec) or tf.is_tensor(inner) or _is_composite(inner):
                yield from _components(f"{path}_{field}", inner)
            elif not field.startswith("_"):
                for name, leaf in _output_leaves(inner, f"{path}_{field}"):
                    if tf.is_tensor(leaf) or isinstance(leaf, tf.TypeSpec):
                        yield from _components(name, leaf)
    else:
        names = next((names for kind, names in _PARTS.items() if isinstance(spec, kind)), ())
        for number, tensor in enumerate(flat):
            part = names[number] if number < len(names) else f"{(*names[-1:], 'part')[0]}_{number}"
            yield f"{path}_{part}", tensor


def _is_composite(value: Any) -> bool:
    return isinstance(value, (tf.RaggedTensor, tf.SparseTensor, tf.experimental.ExtensionType))


def obstacles(concrete: Any) -> Iterator[tuple[str, str]]:
    """Yields each input and output that has no form in a SavedModel, with a remedy."""
    for path, spec in _input_leaves(concrete):
        if isinstance(spec, tf.TypeSpec):
            yield from _of_input(path, spec)
    for path, value in _output_leaves(concrete.structured_outputs):
        yield from _of_output(path, value)


def _of_input(path: str, spec: tf.TypeSpec) -> Iterator[tuple[str, str]]:
    dtypes = {part.dtype for part in tf.nest.flatten(spec, expand_composites=True)}
    if isinstance(spec, (tf.data.DatasetSpec, tf.data.IteratorSpec)):
        kind = "dataset" if isinstance(spec, tf.data.DatasetSpec) else "iterator"
        remedy = "export a function of one batch of tensors"
    # `VariableSpec` is not public, and has the dtype of the value (TensorFlow 2.21).
    elif tf.resource in dtypes or type(spec).__name__ == "VariableSpec":
        kind = "variable"
        remedy = "read it from an enclosing name or an attribute instead, or pass a tensor"
    elif tf.variant in dtypes:
        kind, remedy = type(spec).__name__, "pass tensors"
    else:
        return
    yield f"takes the {kind} `{path}`, which a SavedModel cannot take", remedy


def _of_output(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, (tf.data.Dataset, tf.data.Iterator)):
        kind, remedy = "a dataset or an iterator", "return tensors"
    elif tf.is_tensor(value) or isinstance(value, tf.Variable) or _is_composite(value):
        return
    else:
        with contextlib.suppress(TypeError, ValueError):
            tf.convert_to_tensor(value)
            return
        kind = type(value).__name__
        remedy = "return tensors, or lists, tuples and dicts of them"
    yield f"returns {kind} (`{path}`), which has no form in a SavedModel", remedy


def _is_name(path: Any) -> bool:
    """Returns whether a SavedModel can use a value as the name of a tensor."""
    return isinstance(path, str) and path.isidentifier() and path.isascii()


def _unique(path: str, taken: Collection[str], fold: Callable[[str], str] = str) -> str:
    """Makes a name from a path, numbered if the name, after `fold`, is taken."""
    word = path if _is_name(path) else re.sub(r"\W+", "_", path, flags=re.ASCII).strip("_")
    name = base = word or "value"
    count = 1
    while fold(name) in taken:
        count += 1
        name = f"{base}_{count}"
    return name


def _fill(concrete: Any, fill: Callable[[str, Any], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Replaces each leaf of the structured inputs by `fill`, called with its path and the leaf."""
    args, kwargs = concrete.structured_input_signature
    names = _parameters(concrete)
    filled = tuple(map_with_paths(fill, arg, name) for name, arg in zip(names, args, strict=False))
    return filled, {name: map_with_paths(fill, value, name) for name, value in kwargs.items()}


def _parameters(concrete: Any) -> list[str]:
    """Returns the names of the parameters.

    TensorFlow numbers those of wrapped TensorFlow 1 code, ``arg_0``; their specifications have the
    names that the code gave.
    """
    args, _ = concrete.structured_input_signature
    parameters = concrete.function_type.parameters
    named = {getattr(arg, "name", None): arg for arg in args}
    is_numbered = all(re.fullmatch(r"arg_\d+", name) for name in parameters)
    if is_numbered and None not in named and len(named) == len(parameters):
        return [str(name) for name in named]
    return list(parameters)


def _input_leaves(concrete: Any) -> Iterator[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    _fill(concrete, lambda path, leaf: found.append((path, leaf)))
    yield from found


def _output_leaves(outputs: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields each leaf of a structure with its name: a key, a field, or ``output_0``."""
    if outputs is None:
        return
    if isinstance(outputs, Mapping):
        named = [(str(key), item) for key, item in outputs.items()]
        items = [(f"{path}_{key}" if path else key, item) for key, item in named]
    elif isinstance(outputs, tuple) and hasattr(outputs, "_fields"):
        yield from _output_leaves(dict(zip(outputs._fields, outputs, strict=True)), path)
        return
    elif isinstance(outputs, (list, tuple)):
        items = [(f"{path or 'output'}_{number}", item) for number, item in enumerate(outputs)]
    else:
        yield path or "output_0", outputs
        return
    for name, item in items:
        yield from _output_leaves(item, name)


def specification(concrete: Any) -> tuple[dict[str, tf.TensorSpec], dict[str, tf.TensorSpec]]:
    """Returns the inputs and outputs of a serving function by name."""
    args, kwargs = concrete.structured_input_signature
    names = list(concrete.function_type.parameters)  # TensorFlow lowercases the names in specs
    inputs = dict(zip(names, args, strict=False)) | kwargs
    outputs = concrete.structured_outputs
    if not isinstance(outputs, dict):
        outputs = {"output_0": outputs}
    return inputs, {
        name: tf.TensorSpec(tensor.shape, tensor.dtype, name) for name, tensor in outputs.items()
    }
