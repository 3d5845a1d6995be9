"""The key of a trace: what the trace cache tells calls apart by.

RFC "Functions, not Sessions", section "Trace Caches": dtype and shape of each tensor, structure of
nested arguments, value of each Python argument, and identity of other objects. Python values are
keyed by type as well (``1``, ``1.0`` and ``True`` differ).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbfn import _tensorflow
from nbfn.text import shorten


@dataclass(frozen=True)
class TensorLeaf:
    """A tensor, keyed by dtype and shape, or a composite tensor keyed by its specification."""

    spec: Any

    @property
    def dtype(self) -> str | None:
        """Name of the dtype, where the specification has one."""
        dtype = getattr(self.spec, "dtype", None)
        return getattr(dtype, "name", None)

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """Static shape; None where the rank is unknown or the specification has no shape."""
        shape = getattr(self.spec, "shape", None)
        if shape is None or shape.rank is None:
            return None
        return tuple(shape.as_list())

    @property
    def kind(self) -> str:
        """The specification's name without ``Spec``: Tensor, RaggedTensor, Variable, ..."""
        return type(self.spec).__name__.removesuffix("Spec").removeprefix("_")

    def __str__(self) -> str:
        if self.dtype is None or not hasattr(self.spec, "shape"):
            return shorten(str(self.spec))
        shape = self.shape
        text = self.dtype + ("" if shape is None else f"[{', '.join(map(str, shape))}]")
        if shape is None:
            text += "[...]"
        return text if self.kind == "Tensor" else f"{self.kind} {text}"


@dataclass(frozen=True)
class ValueLeaf:
    """A Python value, keyed by type and value."""

    value: Any

    def same(self, other: ValueLeaf) -> bool:
        """Whether both key the same trace."""
        return type(self.value) is type(other.value) and repr(self.value) == repr(other.value)

    def __str__(self) -> str:
        if self.value is None or isinstance(self.value, bool):
            return str(self.value)
        return f"{type(self.value).__name__} {shorten(repr(self.value))}"


@dataclass(frozen=True)
class ObjectLeaf:
    """Any other object, keyed by identity and held weakly."""

    type_name: str
    identity: int
    reference: weakref.ReferenceType[Any] | None

    @property
    def alive(self) -> bool:
        """Whether the object still exists; if not, no call can find its trace again."""
        return self.reference is not None and self.reference() is not None

    def __str__(self) -> str:
        return f"{self.type_name} object" + ("" if self.alive else " (gone)")


Leaf = TensorLeaf | ValueLeaf | ObjectLeaf


@dataclass(frozen=True)
class Key:
    """A call's arguments as the trace cache sees them.

    Attributes:
        leaves: Each leaf by its path, such as ``batch['images'][0]``.
        containers: Each nested structure by its path, described as text.
    """

    leaves: dict[str, Leaf]
    containers: dict[str, str]

    def __str__(self) -> str:
        return ", ".join(f"{path}: {leaf}" for path, leaf in self.leaves.items())


def key_of(function_type: Any) -> Key:
    """The key of a trace, from its function type."""
    leaves: dict[str, Leaf] = {}
    containers: dict[str, str] = {}
    for path, node in _walk(function_type):
        if isinstance(node, _tensorflow.Container):
            containers[path] = _describe(node)
        elif isinstance(node, _tensorflow.Value):
            leaves[path] = ValueLeaf(node.value)
        elif isinstance(node, _tensorflow.Object):
            target = node.reference()
            reference = None if target is None else weakref.ref(target)
            leaves[path] = ObjectLeaf(type(target).__name__, id(target), reference)
        else:
            leaves[path] = TensorLeaf(node.spec)
    return Key(leaves, containers)


def _walk(function_type: Any) -> Iterator[tuple[str, Any]]:
    for name, node in _tensorflow.parameters(function_type):
        yield from _descend(name, node)


def _descend(path: str, node: Any) -> Iterator[tuple[str, Any]]:
    yield path, node
    if isinstance(node, _tensorflow.Container):
        for suffix, child in node.children.items():
            yield from _descend(path + suffix, child)


def _describe(node: _tensorflow.Container) -> str:
    if node.kind in ("list", "tuple"):
        return f"{node.kind} of {len(node.children)}"
    if node.kind == "dict":
        return "dict with " + (", ".join(key[1:-1] for key in node.children) or "no keys")
    return node.kind
