"""Describes a module as rows: its submodules and variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from nbfn.modules.variables.tree import leaves, params_first

Shapes = Mapping[tuple[str, ...], tuple[str, str]]


@dataclass(frozen=True)
class Row:
    """One row: a module, or a variable.

    Attributes:
      path: names from the described module; ``()`` for itself.
      kind: ``"module"`` or ``"variable"``.
      label: a module's class, or an empty text for a structure of variables and for a module that
        no call has created yet; a variable's collection.
      shape: a variable's shape; None where it is unknown.
      dtype: name of a variable's dtype, or an empty text.
      nbytes: the size of a variable, or of all variables of a module and below; None if unknown.
      trainable: whether an optimizer would change it.
      takes: dtypes and shapes of a module's inputs in the last call.
      gives: likewise for its outputs.
      same_as: the path of an earlier row for the same module or variable, or None.
      depth: number of modules above it.
    """

    path: tuple[str, ...]
    kind: str
    label: str
    shape: tuple[int | None, ...] | None = None
    dtype: str = ""
    nbytes: int | None = None
    trainable: bool = False
    same_as: tuple[str, ...] | None = None
    takes: str = ""
    gives: str = ""
    depth: int = 0

    @property
    def name(self) -> str:
        """The path below the parent module; ``"/"`` for the described module."""
        return "/".join(self.path[max(self.depth - 1, 0) :]) or "/"


def rows_of(module: Any, shapes: Shapes | None = None) -> list[Row]:
    """Returns the rows of a module, its own variables, then its submodules, parents first."""
    rows = list(_rows(module, (), {}, {}))
    if not shapes:
        return rows
    top = module.path
    return [
        replace(row, takes=shapes[(*top, *row.path)][0], gives=shapes[(*top, *row.path)][1])
        if row.kind == "module" and (*top, *row.path) in shapes
        else row
        for row in rows
    ]


def _rows(
    module: Any, path: tuple[str, ...], modules: dict[int, Any], variables: dict[int, Any]
) -> Iterator[Row]:
    label, scope = type(module).__name__, module._internal.scope
    if id(module) in modules:
        yield Row(path, "module", label, same_as=modules[id(module)], depth=len(path))
        return
    modules[id(module)] = path
    children = module._known_children()
    tree = scope.tree() if scope is not None else {}
    below = [leaf for node in tree.values() for _, leaf in leaves(node)]
    nbytes = total_bytes(below) if scope is not None else None
    yield Row(path, "module", label, nbytes=nbytes, depth=len(path))
    own = {
        (*path, *at): (collection, leaf)
        for collection in params_first(tree)
        for at, leaf in leaves(tree[collection])
        if at[0] not in children or len(at) == 1
    }
    yield from _own_rows(path, own, variables)
    for name, child in children.items():
        yield from _rows(child, (*path, name), modules, variables)


def _own_rows(
    path: tuple[str, ...],
    own: Mapping[tuple[str, ...], tuple[str, Any]],
    variables: dict[int, Any],
) -> Iterator[Row]:
    """Yields rows of a module's own variables; structures and unknown modules become parts."""
    depth = len(path) + 1
    below: dict[str, dict[tuple[str, ...], tuple[str, Any]]] = {}
    for at, (collection, leaf) in own.items():
        if len(at) == depth:
            yield replace(variable_row(at, collection, leaf, variables), depth=depth)
        else:
            below.setdefault(at[depth - 1], {})[at] = collection, leaf
    for name, found in below.items():
        nbytes = total_bytes(leaf for _, leaf in found.values())
        yield Row((*path, name), "module", "", nbytes=nbytes, depth=depth)
        yield from _own_rows((*path, name), found, variables)


def variable_row(
    path: tuple[str, ...], collection: str, leaf: Any, first_paths: dict[int, tuple[str, ...]]
) -> Row:
    """Builds the row of a variable.

    Args:
      path: its path.
      collection: its collection.
      leaf: the variable.
      first_paths: the paths of earlier variables, by ``id``; this one is added.
    """
    before = first_paths.setdefault(id(leaf), path)
    shape = tf.TensorShape(leaf.shape)
    return Row(
        path,
        "variable",
        collection,
        tuple(shape.as_list()) if shape.rank is not None else None,
        leaf.dtype.name,
        total_bytes([leaf]),
        collection == "params" and getattr(leaf, "trainable", True),
        None if before == path else before,
    )


def total_bytes(found: Iterable[Any]) -> int | None:
    """Returns the bytes of variables, each counted once; None if a shape is unknown."""
    once = {id(leaf): leaf for leaf in found}.values()
    if not all(tf.TensorShape(leaf.shape).is_fully_defined() for leaf in once):
        return None
    return sum(int(math.prod(leaf.shape)) * int(leaf.dtype.size) for leaf in once)
