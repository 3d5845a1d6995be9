"""The signature of TensorFlow 1.x code: which parameters are tensors, and which values are fixed.

RFC "Functions, not Sessions", section "Transitioning from 1.x".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn.functions.signatures.pattern import long_form, match
from nbfn.functions.traces.key import Key, TensorLeaf, ValueLeaf
from nbfn.text import shorten


@dataclass(frozen=True)
class FixedSignature:
    """The specifications and values of the parameters.

    Attributes:
        names: Names of the parameters.
        items: For each, a structure of specifications and Python values.
    """

    names: tuple[str, ...]
    items: tuple[Any, ...]

    @property
    def specs(self) -> list[tf.TensorSpec]:
        """The specifications of all tensors, in order, each with a name."""
        found: list[tf.TensorSpec] = []
        for name, item in zip(self.names, self.items, strict=True):
            leaves = tf.nest.flatten(item, expand_composites=True)
            found += [
                tf.TensorSpec(leaf.shape, leaf.dtype, leaf.name or name)
                for leaf in leaves
                if isinstance(leaf, tf.TensorSpec)
            ]
        return found

    @property
    def key(self) -> Key:
        """The key of a trace for these specifications."""
        leaves: dict[str, TensorLeaf | ValueLeaf | Any] = {}
        for name, item in zip(self.names, self.items, strict=True):
            flat = tf.nest.flatten(item)
            for i, leaf in enumerate(flat):
                path = f"{name}[{i}]" if tf.nest.is_nested(item) else name
                spec = isinstance(leaf, tf.TypeSpec)
                leaves[path] = TensorLeaf(leaf) if spec else ValueLeaf(leaf)
        return Key(leaves, {})

    def arguments(self, tensors: Sequence[Any]) -> list[Any]:
        """Returns the arguments for the Python code, with tensors in place of specifications."""
        rest = iter(tensors)
        packed = []
        for item in self.items:
            flat = [
                next(rest) if isinstance(leaf, tf.TensorSpec) else leaf
                for leaf in tf.nest.flatten(item, expand_composites=True)
            ]
            packed.append(tf.nest.pack_sequence_as(item, flat, expand_composites=True))
        return packed

    def tensors(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tf.Tensor]:
        """Converts the tensors of a call to the specifications.

        Raises:
            TypeError: If an argument is missing or unknown, or does not fit.
        """
        wanted = {
            name: item
            for name, item in zip(self.names, self.items, strict=True)
            if any(isinstance(leaf, tf.TypeSpec) for leaf in tf.nest.flatten(item))
        }
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature([inspect.Parameter(name, kind) for name in wanted])
        bound = signature.bind(*args, **kwargs).arguments
        return [tensor for name, item in wanted.items() for tensor in _fit(name, item, bound[name])]


def fixed_signature(func: Callable[..., Any], items: Sequence[Any]) -> FixedSignature:
    """Matches specifications and values with the parameters of a function.

    Raises:
        TypeError: If there are too few or too many, or a specification is invalid.
    """
    items = [long_form(item) for item in items]
    try:
        signature = inspect.signature(func)
    except ValueError:  # a built-in
        return FixedSignature(tuple(f"argument_{i}" for i in range(len(items))), tuple(items))
    bound = signature.bind(*items).arguments
    names: list[str] = []
    for name in bound:
        if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{i}" for i in range(len(bound[name]))]
        else:
            names.append(name)
    return FixedSignature(tuple(names), tuple(items))


def _fit(name: str, item: Any, value: Any) -> list[tf.Tensor]:
    """Returns the tensors of one argument."""
    if isinstance(item, tf.TypeSpec):
        return list(tf.nest.flatten(match(name, item, value)[1], expand_composites=True))
    try:
        tf.nest.assert_same_structure(item, value)
    except (TypeError, ValueError):
        found, expected = shorten(repr(value)), shorten(repr(item))
        raise TypeError(f"the structure of `{name}` is {found}, expected {expected}") from None
    tensors = []
    for leaf, part in zip(tf.nest.flatten(item), tf.nest.flatten(value), strict=True):
        if isinstance(leaf, tf.TypeSpec):
            tensors += _fit(name, leaf, part)
        elif part is not leaf and part != leaf:
            raise TypeError(f"`{name}` was fixed with {leaf!r} when wrapped, found {part!r}")
    return tensors
