"""The key of a trace: what distinguishes calls in the trace cache.

RFC "Functions, not Sessions", section "Trace Caches": dtype and shape of each tensor, structure of
nested arguments, value of each Python argument, and identity of other objects. Python values are
keyed by type as well (``1``, ``1.0`` and ``True`` differ).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.text import INTERNAL, shorten, sizes


class TensorLeaf:
    """A tensor or a variable, keyed by dtype and shape, or by the rest of its specification.

    Attributes:
        spec: The specification.
        kind: The specification's name without ``Spec``: Tensor, RaggedTensor, Variable, ...
        dtype: Name of the dtype, if the specification has one.
        shape: Static shape; None if the rank is unknown or the specification has no shape.
        token: Equal for leaves that key the same trace.
        takes_numbers: Whether Python numbers are converted to such tensors, because of `relax`.
    """

    __slots__ = ("dtype", "kind", "shape", "spec", "takes_numbers", "token")

    def __init__(self, spec: Any) -> None:
        # Read once: TensorFlow's properties take microseconds, and a miss is compared with every
        # trace.
        shape = getattr(spec, "shape", None)
        self.spec = spec
        self.kind = type(spec).__name__.removesuffix("Spec").removeprefix("_")
        self.dtype: str | None = getattr(getattr(spec, "dtype", None), "name", None)
        self.shape: tuple[int | None, ...] | None = (
            None if shape is None or shape.rank is None else tuple(shape.as_list())
        )
        rest = None if self.kind == "Tensor" else spec
        self.token = (self.kind, self.dtype, self.shape, rest)
        self.takes_numbers = False

    def serves(self, other: TensorLeaf) -> bool:
        """Returns whether a trace made for this serves a call that passes the other."""
        return self.token == other.token or bool(other.spec.is_subtype_of(self.spec))

    def takes(self, leaf: Leaf) -> bool:
        """Returns whether a leaf is a number that this tensor replaces after ``relax()``."""
        return (
            self.takes_numbers
            and isinstance(leaf, ValueLeaf)
            and number_fits(leaf.value, self.spec.dtype)
        )

    def __str__(self) -> str:
        if self.dtype is None or not hasattr(self.spec, "shape"):
            return shorten(str(self.spec))
        text = self.dtype + sizes(self.shape)
        return text if self.kind == "Tensor" else f"{self.kind} {text}"


class ValueLeaf:
    """A Python value, keyed by type and value.

    Attributes:
        value: The value.
        text: Its `repr`.
        in_spec: Whether it is part of a specification: a field of an ExtensionType.
        token: Equal for leaves that key the same trace.
    """

    __slots__ = ("in_spec", "text", "token", "value")

    def __init__(self, value: Any, in_spec: bool = False) -> None:
        self.value = value
        self.in_spec = in_spec
        self.text = repr(value)
        self.token = (type(value), self.text)

    def __str__(self) -> str:
        if self.value is None or isinstance(self.value, bool):
            return self.text
        return f"{type(self.value).__name__} {shorten(self.text)}"


@dataclass(frozen=True)
class ObjectLeaf:
    """Any other object, keyed by identity and held weakly."""

    type_name: str
    identity: int
    reference: weakref.ReferenceType[Any] | None

    @property
    def is_collected(self) -> bool:
        """Whether the object was garbage-collected: then no call can find its trace again."""
        return self.reference is not None and self.reference() is None

    @property
    def token(self) -> object:
        """Equal for leaves that key the same trace; a garbage-collected object equals no other."""
        return self if self.reference is None or self.is_collected else self.identity

    def __str__(self) -> str:
        return f"{self.type_name} object"


Leaf = TensorLeaf | ValueLeaf | ObjectLeaf


def number_fits(value: Any, dtype: Any) -> bool:
    """Returns whether a value is a number that this dtype represents as Python does."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    if dtype.is_integer:
        return isinstance(value, int) and bool(dtype.min <= value <= dtype.max)
    # Whole numbers with more bits than the mantissa would be rounded.
    return not float(value).is_integer() or abs(value) <= 2 ** (24 if dtype.size == 4 else 53)


@dataclass(frozen=True)
class Key:
    """A call's arguments as the trace cache sees them.

    Attributes:
        leaves: Each leaf by its path, such as ``batch['images'][0]``.
        containers: Each nested structure by its path, described as text.
        parameters: The names of the parameters, in order.
    """

    leaves: dict[str, Leaf]
    containers: dict[str, str]
    parameters: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text()

    @property
    def shown(self) -> dict[str, Leaf]:
        """The leaves that user code passes."""
        if not any(name.startswith(INTERNAL) for name in self.parameters):
            return self.leaves
        return {path: leaf for path, leaf in self.leaves.items() if not path.startswith(INTERNAL)}

    def text(self, most: int | None = None) -> str:
        """Formats each leaf with its path, such as ``images: float32[64, 10], training: True``.

        Beyond `most` leaves, only their number is shown.
        """
        shown = self.shown
        listed = [f"{path}: {leaf}" for path, leaf in islice(shown.items(), most)]
        more = len(shown) - len(listed)
        return ", ".join([*listed, f"… and {more} more"] if more else listed)


def key_of(function_type: Any) -> Key:
    """Returns the key of a trace, from its function type."""
    leaves: dict[str, Leaf] = {}
    containers: dict[str, str] = {}
    for path, node in _nodes(function_type):
        if isinstance(node, _tensorflow.ContainerNode):
            containers[path] = _describe(node)
        elif isinstance(node, _tensorflow.ValueNode):
            leaves[path] = ValueLeaf(node.value, node.in_spec)
        elif isinstance(node, _tensorflow.ObjectNode):
            # May be dead already: the trace type holds it weakly.
            target = node.reference()
            reference = None if target is None else weakref.ref(target)
            leaves[path] = ObjectLeaf(type(target).__name__, id(target), reference)
        else:
            leaves[path] = TensorLeaf(node.spec)
    return Key(leaves, containers, tuple(function_type.parameters))


def map_with_paths(fill: Callable[[str, Any], Any], value: Any, path: str) -> Any:
    """Replaces each leaf of a structured argument by ``fill(path, leaf)``, with the key's paths."""
    if isinstance(value, dict):
        return type(value)(
            {key: map_with_paths(fill, item, f"{path}[{key!r}]") for key, item in value.items()}
        )
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = zip(value._fields, value, strict=True)
        return type(value)(*(map_with_paths(fill, item, f"{path}.{n}") for n, item in fields))
    if isinstance(value, list | tuple):
        return type(value)(
            map_with_paths(fill, item, f"{path}[{i}]") for i, item in enumerate(value)
        )
    return fill(path, value)


def leaves_in(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yields the leaves of a structured argument, with the key's paths."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves_in(item, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        names = getattr(value, "_fields", None)
        for i, item in enumerate(value):
            yield from leaves_in(item, f"{path}.{names[i]}" if names else f"{path}[{i}]")
    else:
        yield path, value


def variables_in(value: Any, path: str) -> Iterator[tuple[str, tf.Variable]]:
    """Yields the variables in a structured argument, with the key's paths."""
    return (each for each in leaves_in(value, path) if isinstance(each[1], tf.Variable))


def _nodes(function_type: Any) -> Iterator[tuple[str, Any]]:
    """Yields each node of the function type, with the parts of composite specifications."""
    for path, node in _tensorflow.nodes(function_type):
        if isinstance(node, _tensorflow.TensorNode):
            yield from _tensorflow.walk_nodes(path, _tensorflow.unfold_spec(node.spec))
        else:
            yield path, node


def _describe(node: _tensorflow.ContainerNode) -> str:
    if node.kind in ("list", "tuple"):
        return f"{node.kind} of {len(node.children)}"
    if node.kind == "dict":
        return "dict with " + (", ".join(key[1:-1] for key in node.children) or "no keys")
    return node.kind
