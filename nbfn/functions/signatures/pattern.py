"""Patterns of an input signature that tf.TensorSpec cannot express.

RFC "Functions, not Sessions", section "Input Signatures": the short form ``(dtype, shape)``, lists
of any length, Python values, and arguments that are traced again for each new value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.text import sizes


class SignatureError(NbfnError, TypeError):
    """An argument does not match the input signature, or the signature is malformed."""


@dataclass(frozen=True)
class _Marker:
    name: str

    def __repr__(self) -> str:
        return f"nbfn.{self.name}"

    def __reduce__(self) -> str:  # copies and pickles are the marker itself
        return self.name


PYTHON_VALUE = _Marker("PYTHON_VALUE")
"""In an input signature: a Python value; each value has a trace of its own."""

TRACE_ON_NEW_VALUE = _Marker("TRACE_ON_NEW_VALUE")
"""In an input signature: anything, traced as if there were no signature.

``(TRACE_ON_NEW_VALUE, shape)`` is a tensor of any dtype, with one trace for each dtype.
"""


@dataclass(frozen=True)
class ListOf:
    """In an input signature: a list of similar tensors; each length has its own trace.

    Attributes:
        element: The specification of each element, or its short form.
        length: The required length; None for any.
    """

    element: Any
    length: int | None = None


@dataclass(frozen=True)
class _AnyDtype:
    shape: tf.TensorShape


def is_short(item: Any) -> bool:
    """Returns whether this is the short form ``(dtype, shape)`` of a specification."""
    if not (isinstance(item, tuple) and len(item) == 2):
        return False
    kind, shape = item
    return (isinstance(kind, tf.DType) or kind is TRACE_ON_NEW_VALUE) and (
        shape is None
        or isinstance(shape, tf.TensorShape)
        or (
            isinstance(shape, Sequence)
            and all(size is None or isinstance(size, int) for size in shape)
        )
    )


def long_form(item: Any) -> Any:
    """Expands the short forms in a specification or a nest of them."""
    if is_short(item):
        kind, shape = item
        if kind is TRACE_ON_NEW_VALUE:
            return _AnyDtype(tf.TensorShape(shape))
        return tf.TensorSpec(shape, kind)
    if isinstance(item, ListOf):
        return ListOf(long_form(item.element), item.length)
    if isinstance(item, dict):
        return {key: long_form(value) for key, value in item.items()}
    if isinstance(item, (list, tuple)) and not hasattr(item, "_fields"):
        return type(item)(map(long_form, item))
    return item


def read_signature(signature: Any) -> tuple[Any, Pattern | None]:
    """Reads an ``input_signature``.

    Returns:
        The signature for TensorFlow, if TensorFlow supports it; else None and a pattern.
    """
    if signature is None or not isinstance(signature, (list, tuple)):
        return signature, None
    written = (long_form(signature),) if is_short(signature) else long_form(signature)
    if all(isinstance(leaf, tf.TypeSpec) for leaf in tf.nest.flatten(written)):
        return (signature if written == signature else written), None
    patterns = (_Marker, ListOf, _AnyDtype)
    if not any(isinstance(leaf, patterns) for leaf in tf.nest.flatten(written)):
        return signature, None
    return None, Pattern(tuple(written))


@dataclass(frozen=True)
class Pattern:
    """An input signature that TensorFlow does not support, with one item for each argument.

    Further arguments are traced as if there were no signature.
    """

    items: tuple[Any, ...]

    def by_value(self, function: Any) -> frozenset[str]:
        """Returns the parameters of which each value has a trace of its own."""
        names = _tensorflow.parameter_names(function)
        pairs = zip(names, self.items, strict=False)
        return frozenset(name for name, item in pairs if isinstance(item, _Marker))

    def match(self, function: Any, args: Any, kwargs: Any) -> tuple[Any, Any, dict[str, Any]]:
        """Matches a call, or specifications.

        Returns:
            What to trace for, the arguments, converted to tensors where the pattern requires it,
            and the keyword arguments.

        Raises:
            SignatureError: If an argument does not match.
        """
        names = list(_tensorflow.parameter_names(function))
        args, kwargs = _tensorflow.canonical(function, args, kwargs)
        if len(args) < len(self.items):
            raise SignatureError(
                f"the input signature has {len(self.items)} items, but the call gives {len(args)} "
                "arguments"
            )
        names += [f"argument {i + 1}" for i in range(len(names), len(args))]
        items = (*self.items, *[TRACE_ON_NEW_VALUE] * (len(args) - len(self.items)))
        pairs = [match(n, p, v) for n, p, v in zip(names, items, args, strict=False)]
        return tuple(spec for spec, _ in pairs), tuple(value for _, value in pairs), kwargs


def pattern_of_call(function: Any, args: Any, kwargs: Any) -> Pattern:
    """Returns a call's arguments as a pattern: tensors by specification, others by value."""
    args, _ = _tensorflow.canonical(function, args, kwargs)
    return Pattern(tuple(tf.nest.map_structure(_pattern_of, value) for value in args))


def _pattern_of(value: Any) -> Any:
    if isinstance(value, tf.Variable):
        return TRACE_ON_NEW_VALUE
    if tf.is_tensor(value) or hasattr(value, "__array_interface__"):
        return tf.type_spec_from_value(
            value if tf.is_tensor(value) else tf.convert_to_tensor(value)
        )
    return PYTHON_VALUE


def match(path: str, pattern: Any, value: Any) -> tuple[Any, Any]:
    """Returns what to trace for and what to call with, for an argument or a part of one.

    A specification in place of a tensor is both.

    Raises:
        SignatureError: If the value does not match the pattern.
    """
    if pattern is TRACE_ON_NEW_VALUE:
        if isinstance(value, tf.Variable) or not tf.is_tensor(value):
            return value, value
        return tf.type_spec_from_value(value), value
    if pattern is PYTHON_VALUE:
        if tf.is_tensor(value) or isinstance(value, tf.TypeSpec):
            raise SignatureError(
                f"`{path}` is a tensor, but the input signature expects a Python value"
            )
        return value, value
    if isinstance(pattern, _AnyDtype):
        tensor = value if isinstance(value, tf.TensorSpec) else tf.convert_to_tensor(value)
        return match(path, tf.TensorSpec(pattern.shape, tensor.dtype), tensor)
    if isinstance(pattern, tf.TensorSpec):
        return pattern, _tensor(path, pattern, value)
    if isinstance(pattern, tf.TypeSpec):
        if not pattern.is_compatible_with(value):
            raise SignatureError(
                f"`{path}` is {_describe(value)}, but the input signature expects {pattern}"
            )
        return pattern, value
    if isinstance(pattern, ListOf):
        return _list(path, pattern, value)
    return _nest(path, pattern, value)


def _tensor(path: str, spec: tf.TensorSpec, value: Any) -> Any:
    try:
        is_given = tf.is_tensor(value) or isinstance(value, tf.TensorSpec)
        tensor = value if is_given else tf.convert_to_tensor(value, spec.dtype)
    except (TypeError, ValueError) as error:
        raise SignatureError(
            f"`{path}` is {_describe(value)}, which is not a {spec.dtype.name} tensor: {error}"
        ) from None
    if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
        advice = f"; write tf.cast({path}, tf.{spec.dtype.name})"
        raise SignatureError(
            f"`{path}` is {tensor.dtype.name}{sizes(tensor.shape)}, but the input signature "
            f"expects {spec.dtype.name}{sizes(spec.shape)}{advice * (tensor.dtype != spec.dtype)}"
        )
    return tensor


def _list(path: str, pattern: ListOf, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, (list, tuple)):
        raise SignatureError(
            f"`{path}` is {_describe(value)}, but the input signature expects a list"
        )
    if pattern.length not in (None, len(value)):
        raise SignatureError(
            f"`{path}` has {len(value)} elements, but the input signature expects {pattern.length}"
        )
    return _rebuilt(value, [match(f"{path}[{i}]", pattern.element, v) for i, v in enumerate(value)])


def _nest(path: str, pattern: Any, value: Any) -> tuple[Any, Any]:
    if isinstance(pattern, Mapping):
        if not isinstance(value, Mapping) or pattern.keys() != value.keys():
            keys = ", ".join(map(repr, pattern))
            raise SignatureError(
                f"`{path}` is {_describe(value)}, but the input signature expects a dict with "
                f"{keys}"
            )
        matched = {key: match(f"{path}[{key!r}]", p, value[key]) for key, p in pattern.items()}
        return {k: spec for k, (spec, _) in matched.items()}, {
            k: v for k, (_, v) in matched.items()
        }
    if isinstance(pattern, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(pattern) != len(value):
            raise SignatureError(
                f"`{path}` is {_describe(value)}, but the input signature "
                f"expects a {type(pattern).__name__} of {len(pattern)}"
            )
        pairs = zip(pattern, value, strict=True)
        return _rebuilt(value, [match(f"{path}[{i}]", p, v) for i, (p, v) in enumerate(pairs)])
    raise SignatureError(
        f"the input signature holds {pattern!r} for `{path}`; expected a tf.TypeSpec, "
        "(dtype, shape), nbfn.PYTHON_VALUE, nbfn.TRACE_ON_NEW_VALUE, or a nest of them"
    )


def _rebuilt(like: Any, pairs: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    kind = tuple if isinstance(like, tuple) else list
    return kind(spec for spec, _ in pairs), kind(value for _, value in pairs)


def _describe(value: Any) -> str:
    if tf.is_tensor(value):
        return f"a {value.dtype.name} tensor"
    if isinstance(value, Mapping):
        return "a dict with " + (", ".join(map(repr, value)) or "no keys")
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"{type(value).__name__} {value!r}"
