"""Signatures that cover several traces; `suggest` proposes one and `relax` uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from nbfn.errors import NbfnError
from nbfn.functions.signatures.pattern import PYTHON_VALUE, TRACE_ON_NEW_VALUE
from nbfn.functions.signatures.sizes import varied_sizes
from nbfn.functions.traces.key import ObjectLeaf, TensorLeaf, map_with_paths, number_fits
from nbfn.text import with_article

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace


_SPEC = re.compile(
    r"(?<![\w.])((Ragged|Sparse|)Tensor(Spec|Shape)|IndexedSlicesSpec|DatasetSpec)\b"
)
"""Classes as TensorFlow prints them in specifications, without their module."""

_PUBLIC = {"DatasetSpec": "tf.data.DatasetSpec"}


class RelaxError(NbfnError, ValueError):
    """No signature can cover the traces."""


@dataclass(frozen=True)
class Cover:
    """The least general signature that covers some traces.

    Attributes:
        args: Specifications and Python values for the positional parameters.
        kwargs: The same for the keyword parameters.
        numbers: Numbers of the traces that it covers, in order.
        converted: Positions, in the flat signature, of tensors that replace Python numbers.
        code: Python code that uses it, if there is any.
        number_paths: The paths of those tensors.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    numbers: tuple[int, ...] = field(compare=False)
    converted: tuple[int, ...] = ()
    code: str | None = field(default=None, compare=False)
    number_paths: frozenset[str] = frozenset()

    def convert(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Returns the arguments of a call, with numbers converted where the signature has tensors.

        Arguments of another structure, or with a tensor of another dtype, are returned unchanged: a
        Python number combines with tensors of any dtype, a tensor does not. So are those with
        another flag, for which the code may do with the number what no tensor can.
        """
        flat = self._flat_like(args, kwargs)
        specs = tf.nest.flatten((self.args, self.kwargs))
        if flat is None or any(map(_is_of_another_kind, specs, flat)):
            return args, kwargs
        for i in self.converted:
            if number_fits(flat[i], specs[i].dtype):
                flat[i] = tf.constant(flat[i], specs[i].dtype)
        packed: tuple[Any, Any] = tf.nest.pack_sequence_as((args, kwargs), flat)
        return packed

    def serves(self, args: Any, kwargs: Any) -> bool:
        """Returns whether a trace for this signature serves a call with these arguments."""
        flat = self._flat_like(args, kwargs)
        return flat is not None and all(
            map(_serves, tf.nest.flatten((self.args, self.kwargs)), flat)
        )

    def _flat_like(self, args: Any, kwargs: Any) -> list[Any] | None:
        """Returns the flat arguments; None if their structure differs."""
        try:
            tf.nest.assert_same_structure((self.args, self.kwargs), (args, kwargs))
        except (TypeError, ValueError):
            return None
        flat: list[Any] = tf.nest.flatten((args, kwargs))
        return flat

    @property
    def arguments(self) -> tuple[Any, Any]:
        """The arguments to trace for, with the objects themselves."""
        args, kwargs = with_objects((self.args, self.kwargs))
        return args, kwargs

    def among(self, others: Sequence[Cover]) -> tuple[Cover, ...]:
        """Returns the other live, different covers, followed by this one."""
        return (*(each for each in others if each != self and each.is_alive), self)

    @property
    def is_alive(self) -> bool:
        """Whether every object in it is alive."""
        leaves = tf.nest.flatten((self.args, self.kwargs))
        return all(each.target is not None for each in leaves if isinstance(each, ObjectSpec))

    def mark(self, trace: Trace) -> None:
        """Marks a trace for this signature as one that also serves numbers."""
        for path in self.number_paths:
            leaf = trace.key.leaves.get(path)
            if isinstance(leaf, TensorLeaf):
                leaf.takes_numbers = True

    def others(self) -> Iterator[Cover]:
        """Yields the same cover with its numbers in other dtypes."""
        flat = tf.nest.flatten((self.args, self.kwargs))
        for dtypes in (
            # In the order in which they are tried: first the dtype of most tensors.
            {tf.int32: tf.float32, tf.float32: tf.float32},
            {tf.int32: tf.int64, tf.float32: tf.float64},
            {tf.int32: tf.float64, tf.float32: tf.float64},
        ):
            changed = list(flat)
            for i in self.converted:
                changed[i] = tf.TensorSpec((), dtypes.get(flat[i].dtype, flat[i].dtype))
            args, kwargs = tf.nest.pack_sequence_as((self.args, self.kwargs), changed)
            yield Cover(args, kwargs, self.numbers, self.converted)

    def __str__(self) -> str:
        """Source text for ``input_signature=``, which has no keyword-only parameters."""
        return _text(tf.nest.map_structure(_pattern_of, self.args))

    def __repr__(self) -> str:
        parts = [_text(item) for item in self.args]
        parts += [f"{name}={_text(item)}" for name, item in self.kwargs.items()]
        return f"({', '.join(parts)})"


class ObjectSpec:
    """An object in a signature, held weakly; equal only to itself."""

    def __init__(self, leaf: ObjectLeaf) -> None:
        self._leaf = leaf

    @property
    def target(self) -> Any | None:
        """The object; None if it was garbage-collected."""
        return None if self._leaf.reference is None else self._leaf.reference()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectSpec) and self._leaf.token == other._leaf.token

    def __hash__(self) -> int:
        return hash(self._leaf.identity)

    def __repr__(self) -> str:
        return f"<{with_article(self._leaf.type_name)}>"


class NumberSpec(tf.TensorSpec):  # type: ignore[misc]
    """The specification of a tensor that replaces Python numbers."""


def signature_of(trace: Trace) -> Any:
    """Returns the ``structured_input_signature`` of a trace with more detail than TensorFlow's.

    It has an `ObjectSpec` for each object, which keys a trace of its own, and a `NumberSpec` for
    each tensor that replaces numbers.
    """
    args, kwargs = trace.concrete_function.structured_input_signature
    specs: dict[str, Any] = {}
    for path, leaf in trace.key.leaves.items():
        if isinstance(leaf, ObjectLeaf):
            specs[path] = ObjectSpec(leaf)
        elif isinstance(leaf, TensorLeaf) and leaf.takes_numbers:
            specs[path] = NumberSpec((), leaf.spec.dtype)
    if not specs:
        return args, kwargs

    def detailed(path: str, leaf: Any) -> Any:
        return specs.get(path, leaf)

    named = zip(trace.key.parameters, args, strict=False)
    return (
        tuple(map_with_paths(detailed, value, path) for path, value in named),
        {path: map_with_paths(detailed, value, path) for path, value in kwargs.items()},
    )


def cover(traces: Sequence[Trace]) -> Cover:
    """Finds the least general signature that covers the newest trace and similar ones.

    Traces are similar if they only differ in shapes of tensors and values of Python numbers.

    Args:
        traces: The traces, oldest first.

    Raises:
        RelaxError: If there is no trace yet.
    """
    if not traces:
        raise RelaxError("there is no trace to relax yet; call the function first")
    signatures = list(map(signature_of, traces))
    newest = signatures[-1]
    general = tf.nest.flatten(newest, expand_composites=False)
    covered = []
    for trace, signature in zip(traces, signatures, strict=True):
        merged = _merge(general, newest, signature)
        if merged is not None:
            general = merged
            covered.append(trace.number)
    converted = tuple(i for i, item in enumerate(general) if isinstance(item, NumberSpec))
    for i in converted:
        general[i] = tf.TensorSpec((), general[i].dtype)
    args, kwargs = tf.nest.pack_sequence_as(newest, general)
    return Cover(tuple(args), dict(kwargs), tuple(covered), converted)


def _merge(general: list[Any], structure: Any, other: Any) -> list[Any] | None:
    """Returns a signature that covers both; None if they differ in more than shapes and numbers."""
    try:
        tf.nest.assert_same_structure(structure, other, expand_composites=False)
    except (TypeError, ValueError):
        return None
    merged = []
    for left, right in zip(general, tf.nest.flatten(other), strict=True):
        if left is right or (type(left) is type(right) and left == right):
            merged.append(left)
        elif _is_number(left) and _is_number(right):
            # The dtypes that `tf.constant` gives to Python numbers.
            whole = _is_whole(left) and _is_whole(right)
            merged.append(NumberSpec((), tf.int32 if whole else tf.float32))
        elif isinstance(left, tf.TypeSpec) and isinstance(right, tf.TypeSpec):
            both = _common(left, right)
            if both is None:
                return None
            merged.append(both)
        else:
            return None
    return merged


def _is_of_another_kind(item: Any, value: Any) -> bool:
    """Returns whether a value has another dtype than an item, or is another flag."""
    if isinstance(item, tf.TypeSpec | ObjectSpec) or _is_number(item):
        dtype = getattr(value, "dtype", None)
        return isinstance(item, tf.TensorSpec) and dtype is not None and item.dtype != dtype
    return not _serves(item, value)


def _serves(item: Any, value: Any) -> bool:
    """Returns whether an item of a signature accepts a value."""
    if isinstance(item, ObjectSpec):
        return item.target is value and value is not None
    if isinstance(item, tf.TensorSpec):
        if isinstance(value, tf.Variable) or not hasattr(value, "dtype"):
            return False
        return bool(item.dtype == value.dtype and item.shape.is_compatible_with(value.shape))
    if isinstance(item, tf.TypeSpec):
        return bool(item.is_compatible_with(value))
    return type(item) is type(value) and bool(item == value)


def with_objects(signature: Any) -> Any:
    """Replaces each `ObjectSpec` of a signature by its object, so that it can be traced."""
    return tf.nest.map_structure(
        lambda item: item.target if isinstance(item, ObjectSpec) else item, signature
    )


def _is_number(item: Any) -> bool:
    """Returns whether an item is a Python number, or a tensor that replaces numbers."""
    return isinstance(item, int | float | NumberSpec) and not isinstance(item, bool)


def _is_whole(item: Any) -> bool:
    return isinstance(item, int) or getattr(item, "dtype", None) == tf.int32


def _common(left: tf.TypeSpec, right: tf.TypeSpec) -> tf.TypeSpec | None:
    if isinstance(left, tf.TensorSpec) and isinstance(right, tf.TensorSpec):
        if left.dtype != right.dtype:
            return None
        if isinstance(left, NumberSpec) or isinstance(right, NumberSpec):
            return NumberSpec((), left.dtype) if left.shape == right.shape else None
        shape = left.shape.most_specific_compatible_shape(right.shape)
        return tf.TensorSpec(shape, left.dtype, left.name)
    return left.most_specific_common_supertype([right])  # type: ignore[no-any-return]


def _pattern_of(item: Any) -> Any:
    # `VariableSpec` is not public (TensorFlow 2.21).
    if isinstance(item, ObjectSpec) or type(item).__name__ == "VariableSpec":
        return TRACE_ON_NEW_VALUE
    return item if isinstance(item, tf.TypeSpec) else PYTHON_VALUE


def _text(item: Any) -> str:
    if isinstance(item, tf.TensorSpec):
        shape = None if item.shape.rank is None else item.shape
        return f"tf.TensorSpec({shape}, tf.{item.dtype.name})"
    if isinstance(item, tuple):
        name = type(item).__name__ if hasattr(item, "_fields") else ""
        return f"{name}({', '.join(map(_text, item))}{',' if len(item) == 1 else ''})"
    if isinstance(item, list):
        return f"[{', '.join(map(_text, item))}]"
    if isinstance(item, dict):
        return "{" + ", ".join(f"{key!r}: {_text(value)}" for key, value in item.items()) + "}"
    if hasattr(type(item), "__attrs_attrs__"):
        fields = [(each.name, getattr(item, each.name)) for each in type(item).__attrs_attrs__]
        return f"{type(item).__name__}({', '.join(f'{n}={_text(v)}' for n, v in fields)})"
    if isinstance(item, tf.TypeSpec):
        return _SPEC.sub(lambda found: _PUBLIC.get(found[0], f"tf.{found[0]}"), repr(item))
    return repr(item)


def buckets(traces: Sequence[Any]) -> str:
    """Advises to pad varying sizes to a few sizes, each of which has its own trace."""
    advice = []
    for path, axes in varied_sizes(traces).items():
        for axis, sizes in enumerate(axes):
            if len(sizes) > 1:
                powers = sorted({1 << (size - 1).bit_length() for size in sizes})
                listed = ", ".join(map(str, powers))
                advice.append(
                    f"Keep axis {axis} of `{path}` static, and pad it to one of {listed}: "
                    "tf.pad(...) before the call"
                )
    return ". ".join(advice)
