"""Nested dicts of variables: the plain form used by ``init`` and ``apply``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import EagerTensor
from nbfn.modules.errors import VariablesStructureError, VariablesTypeError


def copy_tree(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Copies the containers, with the same leaves."""
    return map_leaves(lambda leaf, _: leaf, tree)  # type: ignore[no-any-return]


def params_first(collections: Iterable[str]) -> list[str]:
    """Returns the collections in alphabetical order, with ``params`` first."""
    return sorted(collections, key=lambda name: (name != "params", name))


def grown(tree: dict[str, Any], path: Iterable[str]) -> dict[str, Any]:
    """Returns the dict at a path of a tree; creates it if it is missing."""
    for part in path:
        tree = tree.setdefault(part, {})
    return tree


def map_leaves(fn: Callable[..., Any], value: Any, path: tuple[str, ...] = ()) -> Any:
    """Applies ``fn(leaf, path)`` to the leaves of dicts, lists and tuples; keeps the structure."""
    if type(value) is EagerTensor:  # the most frequent case; checking for a Mapping is slower
        return fn(value, path)
    if isinstance(value, Mapping):
        return {k: map_leaves(fn, v, (*path, k)) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [map_leaves(fn, v, (*path, str(i))) for i, v in enumerate(value)]
        if hasattr(value, "_fields"):
            return type(value)(*items)
        return items if isinstance(value, list) else tuple(items)
    return fn(value, path)


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields ``(path, leaf)`` of every leaf; dicts in the order of their sorted keys."""
    if isinstance(value, Mapping):
        for name in sorted(value, key=str):
            yield from leaves(value[name], (*path, name))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, str(index)))
    else:
        yield path, value


def as_tensor(value: Any) -> Any:
    """Converts a value to a tensor; composite (ragged, sparse) tensors are unchanged."""
    if isinstance(value, tf.Variable):
        return value.value()
    return value if tf.is_tensor(value) else tf.convert_to_tensor(value)


def as_tensors(value: Any) -> Any:
    """Converts every leaf to a tensor."""
    if tf.is_tensor(value) and not isinstance(value, tf.Variable):
        return value
    return map_leaves(lambda leaf, _: as_tensor(leaf), value)


def check_variables(variables: Any) -> Mapping[str, Mapping[str, Any]]:
    """Checks that variables are a dict of collections, each a dict with string keys.

    Raises:
      VariablesTypeError: it or a collection is not a dict, or a key is not a string.
      VariablesStructureError: a collection is nested in itself.
    """
    expected = 'Expected what init returns, such as {"params": {"Dense_0": {"kernel": ...}}}.'
    if not isinstance(variables, Mapping):
        raise VariablesTypeError(
            f"variables must be a dict of collections, found {type(variables).__name__}. {expected}"
        )
    for collection, tree in variables.items():
        if not isinstance(collection, str):
            raise VariablesTypeError(
                f"variables has the key {collection!r}, but collection names are strings. "
                f"{expected}"
            )
        if not isinstance(tree, Mapping):
            raise VariablesTypeError(
                f"the collection {collection!r} must be a dict, found {type(tree).__name__}. "
                f"{expected}"
            )
        _check_keys(tree, collection)
    params = variables.get("params", {})
    if len(params) == 1 and isinstance(params.get("params"), Mapping):
        raise VariablesStructureError(
            'variables["params"] contains only another "params": it was wrapped twice. '
            'Pass variables["params"] in its place, or {"params": params} with the inner dict.'
        )
    return variables


def _check_keys(tree: Mapping[Any, Any], where: str) -> None:
    for name, value in tree.items():
        if not isinstance(name, str):
            raise VariablesTypeError(
                f"variables has the key {name!r} in {where!r}, but names of modules and variables "
                "are strings."
            )
        if isinstance(value, Mapping):
            _check_keys(value, f"{where}/{name}")
