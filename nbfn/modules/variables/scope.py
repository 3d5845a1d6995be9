"""A module's place in a store: its path, with the variables and random draws found there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import tensorflow as tf

from nbfn.modules.errors import (
    CollectionNotFoundError,
    LazyInitError,
    NotFoundError,
    ParamNotFoundError,
    ParamShapeError,
    VariableNotFoundError,
    did_you_mean,
    show_names,
    show_path,
)
from nbfn.modules.variables.keys import as_number, fold
from nbfn.modules.variables.store import MISSING, Path, Store
from nbfn.modules.variables.tree import as_tensors, copy_tree, leaves

T = TypeVar("T")


class Scope:
    """The view of a store from one path.

    Attributes:
      store: the variables, permissions and streams of the whole application.
      path: names from the root to here.
      params: known parameters of this path with the right shape; only for a bound module, whose
        variables are never replaced.
    """

    __slots__ = ("params", "path", "store")

    def __init__(self, store: Store, path: Path = ()) -> None:
        self.store = store
        self.path = path
        self.params: dict[str, Any] = {}

    def child(self, *names: str) -> Scope:
        """Returns the scope ``names`` below this one."""
        return Scope(self.store, self.path + names)

    def __str__(self) -> str:
        return show_path(self.path)

    def label(self, module: Any) -> str:
        """Returns the class of the module in this scope, and where it is if it is not the root."""
        name = type(module).__name__
        return f"{name} at {self}" if self.path else name

    # -- variables -----------------------------------------------------------------------------

    def has(self, collection: str, name: str) -> bool:
        """Returns whether the variable exists."""
        return self.store.find(collection, self.path, name) is not MISSING

    def live(self, collection: str, name: str) -> Any:
        """Returns the variable: a tensor, or the ``tf.Variable`` if bound.

        Raises:
          NotFoundError: it does not exist.
        """
        leaf = self.store.find(collection, self.path, name)
        if leaf is MISSING:
            raise self.not_found(collection, name)
        return leaf if self.store.bound else as_tensors(leaf)

    def read(self, collection: str, name: str, default: Any = MISSING) -> Any:
        """Returns the current value as tensors.

        Raises:
          NotFoundError: it does not exist, and no default is given.
        """
        leaf = self.store.find(collection, self.path, name)
        if leaf is not MISSING:
            return as_tensors(leaf)
        if default is MISSING:
            raise self.not_found(collection, name)
        return default

    def write(self, collection: str, name: str, value: Any) -> None:
        """Writes the variable; creates it if it does not exist.

        Raises:
          ImmutableCollectionError: the collection is not mutable.
        """
        self.store.check_mutable(collection, self.path, name)
        if self.has(collection, name):
            self.store.assign(collection, self.path, name, value)
        else:
            self.store.create(collection, self.path, name, value)

    def ensure(self, collection: str, name: str, make: Callable[[], Any]) -> Any:
        """Returns the variable as `live` does; creates it if it is missing and may be created.

        Raises:
          NotFoundError: it is missing and its collection is not mutable.
        """
        if not self.has(collection, name):
            if collection not in self.store.mutable:
                raise self.not_found(collection, name)
            self.store.make(collection, self.path, name, self._make(name, make))
        return self.live(collection, name)

    def _make(self, name: str, make: Callable[[], Any]) -> Any:
        """Returns the initial value; in a lazy run, computed outside the graph."""
        if not self.store.lazy:
            return make()
        try:
            with tf.init_scope():
                return as_tensors(make())
        except Exception as error:
            # TensorFlow has several errors for a graph's tensor that is used outside the graph.
            if "scope" in str(error) or "symbolic" in str(error).lower():
                raise LazyInitError(
                    f"{self.child(name)} has an initial value that depends on an input, but "
                    "lazy_init knows only the inputs' shapes. Use init with real inputs."
                ) from error
            raise

    def not_found(self, collection: str, name: str) -> NotFoundError:
        """Returns the error for a missing variable, which lists what exists instead."""
        tree = self.store.tree.get(collection)
        what = "parameter" if collection == "params" else "variable"
        remedy = "Pass the variables that init returned for this module"
        if not tree:
            others = [each for each, values in self.store.tree.items() if values]
            only = f", only {show_names(others)} is not" if others else ""
            return CollectionNotFoundError(
                f"{self} needs the {what} {name!r}, but the collection {collection!r} is "
                f"empty{only}. {remedy}."
            )
        node = self.store.node(collection, self.path)
        kind = ParamNotFoundError if collection == "params" else VariableNotFoundError
        if node is not None:
            return kind(
                f"{self} needs the {what} {name!r} of the collection {collection!r}, but has "
                f"{show_names(node)}.{did_you_mean(name, node)} {remedy}."
            )
        # The nearest existing module shows where the trees differ.
        depth = len(self.path)
        while depth and self.store.node(collection, self.path[:depth]) is None:
            depth -= 1
        found = self.store.node(collection, self.path[:depth]) or {}
        return kind(
            f"{self} needs the {what} {name!r} of the collection {collection!r}, but "
            f"{show_path(self.path[:depth])} has no {self.path[depth]!r}, only "
            f"{show_names(found)}.{did_you_mean(self.path[depth], found)} {remedy}."
        )

    def tree(self) -> dict[str, Any]:
        """Returns what is stored here and below by collection, in new dicts."""
        found = ((c, self.store.node(c, self.path)) for c in self.store.tree)
        return {c: copy_tree(node) for c, node in found if node}

    def check_shape(
        self, collection: str, name: str, init_fn: Callable[..., Any], args: Any, kwargs: Any
    ) -> None:
        """Compares a variable's shape with that of its initializer, once."""
        stored = dict(leaves(self.store.find(collection, self.path, name)))
        if not _obviously_fits(stored, args, kwargs):
            for part, shape in _initial_shapes(init_fn, args, kwargs).items():
                self.compare_shape("/".join((name, *part)), shape, stored.get(part))
        self.store.checked.add((collection, self.path, name))

    def compare_shape(self, name: str, expected: Any, leaf: Any) -> None:
        """Raises `ParamShapeError` if a leaf's shape differs from the expected one."""
        found = None if leaf is None else _shape_of(leaf)
        if found is None or not found.is_compatible_with(expected):
            raise ParamShapeError(
                f"{self} has a stored value of shape {found} for {name!r}, but its initializer "
                f"gives {tf.TensorShape(expected)}. The variables belong to another configuration "
                "of this module, or the input has another shape than at init."
            )

    # -- random draws --------------------------------------------------------------------------

    def draw(self, stream: str) -> tf.Tensor:
        """Returns the next key of a stream at this path, int32 of shape [2].

        Raises:
          RngError: there is no such stream, and no ``params`` to fall back to.
        """
        key, count = self.store.draw(stream, self.path)
        return fold(key, self.path, count)

    def draw_number(self, stream: str) -> Any:
        """Returns the next key of a stream as a Python number, for code that takes a seed.

        Returns:
          The number; the key itself, a tensor, if it is known only when a traced function runs.

        Raises:
          RngError: there is no such stream.
        """
        key, count = self.store.draw(stream, self.path)
        if tf.is_symbolic_tensor(key) or tf.is_symbolic_tensor(count):
            return fold(key, self.path, count)
        with tf.init_scope():
            return as_number(fold(key, self.path, count))


class Variable(Generic[T]):
    """A reference to a variable of a module: ``.value`` reads and writes it.

    Flax Module lifecycle, section "Variables".
    """

    __slots__ = ("_scope", "collection", "name")

    def __init__(self, scope: Scope, collection: str, name: str) -> None:
        self._scope = scope
        self.collection = collection
        self.name = name

    @property
    def value(self) -> Any:
        """The current value: a tensor, or a structure of tensors."""
        self._scope.store.check_open(self._scope.path)
        return self._scope.read(self.collection, self.name)

    @value.setter
    def value(self, value: T) -> None:
        self._scope.store.check_open(self._scope.path)
        self._scope.write(self.collection, self.name, value)

    def is_mutable(self) -> bool:
        """Returns whether ``.value`` may be set."""
        return self.collection in self._scope.store.mutable

    def __repr__(self) -> str:
        """Formats the variable's place; reads nothing."""
        return f"Variable({self.collection}:{self._scope.child(self.name)})"


def _obviously_fits(stored: dict[Path, Any], args: Any, kwargs: Any) -> bool:
    """Returns whether a value has the shape in an initializer's first argument, if it is one."""
    shape = args[0] if args else kwargs.get("shape")
    if stored.keys() != {()} or not isinstance(shape, (list, tuple, tf.TensorShape)):
        return False
    return list(_shape_of(stored[()])) == list(shape)


def _shape_of(leaf: Any) -> tf.TensorShape:
    """Returns the shape of a value, which may be a plain number."""
    return tf.TensorShape(leaf.shape if hasattr(leaf, "shape") else np.shape(leaf))


def _initial_shapes(fn: Callable[..., Any], args: Any, kwargs: Any) -> dict[Path, Any]:
    """Returns the shapes of ``fn(key, *args)`` without computing; empty if unknown."""
    try:
        # Building the operations in a separate graph infers the shapes without running them.
        with tf.Graph().as_default():
            value = fn(tf.zeros([2], tf.int32), *args, **kwargs)
            return {part: tf.convert_to_tensor(leaf).shape for part, leaf in leaves(value)}
    # E.g. it uses a tensor of a function being traced; errors appear when the value is used.
    except Exception:
        return {}
