"""Stores of variables: tensors for one ``apply``, or ``tf.Variable``s for a bound module.

A store contains what all modules of one application share: the tree of variables by collection, the
mutable collections, and the random streams. A module accesses it only through its ``Scope``, so
module code is the same for both kinds:

* ``TensorStore``: leaves are tensors. Writing replaces a leaf in a private copy of the tree; draws
  are counted in Python. It lives as long as one ``apply`` or ``init``.
* ``VariableStore`` (in ``variable_store``): leaves are ``tf.Variable``s. Writing assigns and never
  replaces, so functions that were already traced see the new value; draws are counted in variables,
  so they advance inside a traced function. It lives as long as a module that is bound to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbfn.modules.errors import (
    ImmutableCollectionError,
    RngError,
    ScopeClosedError,
    TransformError,
    show_names,
    show_path,
)
from nbfn.modules.variables.filters import Filter
from nbfn.modules.variables.tree import as_tensors, copy_tree, grown

Path = tuple[str, ...]
MISSING: Any = object()


@dataclass(frozen=True)
class Draws:
    """A snapshot of a random stream: its key, and how often each path drew from it.

    Attributes:
      key: int32 of shape [2].
      counts: the numbers of draws, ints or an int32 vector.
      slots: the index of each path in ``counts``.
      later: returns the number for a path that is not in `slots`; None if it is 0.
    """

    key: Any
    counts: Any = ()
    slots: Mapping[Path, int] = field(default_factory=dict)
    later: Callable[[Path], Any] | None = None

    def base(self, path: Path) -> Any:
        """Returns how often the path has drawn."""
        if path in self.slots:
            return self.counts[self.slots[path]]
        return 0 if self.later is None else self.later(path)


class Store:
    """The common base of both kinds of store.

    Attributes:
      tree: the variables, ``{collection: {module: {...: {name: leaf}}}}``.
      rngs: the random streams by name.
      mutable: the collections that may be written.
      initializing: whether this application is ``init``.
      bound: whether leaves are ``tf.Variable``s.
      adopted: modules from outside that were adopted, by id: the original (kept alive, so that its
        id is not reused) and its clone in this store.
      checked: the parameters whose shape was compared with their initializer's.
      suspended: by thread, the transformation that currently works on copies of the modules.
      keeps_sown: whether sown values are kept, for a store inside another one.
      memo: what modules cache from call to call, by path.
      wanted: which outputs of methods are captured, as ``wanted(module, method name)``.
      lazy: whether only shapes of inputs are known, so that initial values are computed outside.
      sown: where sown values go (bound modules only, see ``Module.capture``).
    """

    bound = False

    def __init__(
        self,
        tree: dict[str, Any],
        rngs: dict[str, Any],
        mutable: Filter,
        initializing: bool = False,
    ) -> None:
        self.tree = tree
        self.rngs = rngs
        self.mutable = mutable
        self.initializing = initializing
        self.closed = False
        self.adopted: dict[int, tuple[Any, Any]] = {}
        self.checked: set[tuple[str, Path, str]] = set()
        self.memo: dict[Path, Any] = {}
        self.suspended: dict[int, str] = {}
        self.keeps_sown = True
        self.wanted: Callable[[Any, str], bool] | None = None
        self.lazy = False
        self.sown: dict[str, Any] | None = None

    # -- variables -----------------------------------------------------------------------------

    def node(self, collection: str, path: Path) -> Mapping[str, Any] | None:
        """Returns the dict of the module at ``path``, or None."""
        node = self.tree.get(collection)
        for part in path:
            # Checking the exact class first is several times as fast.
            if type(node) is not dict and not isinstance(node, Mapping):
                return None
            node = node.get(part)
        return node if type(node) is dict or isinstance(node, Mapping) else None

    def find(self, collection: str, path: Path, name: str) -> Any:
        """Returns the stored leaf (or structure of leaves), or ``MISSING``."""
        node = self.node(collection, path)
        return MISSING if node is None else node.get(name, MISSING)

    def create(self, collection: str, path: Path, name: str, value: Any) -> Any:
        """Stores a new variable and returns it as stored."""
        stored = self._stored(collection, (*path, name), value)
        grown(self.tree, (collection, *path))[name] = stored
        return stored

    def make(self, collection: str, path: Path, name: str, value: Any) -> Any:
        """Like `create`, for the initial value of a declared variable."""
        return self.create(collection, path, name, value)

    def assign(self, collection: str, path: Path, name: str, value: Any) -> None:
        """Writes an existing variable."""
        raise NotImplementedError

    def check_mutable(self, collection: str, path: Path, name: str) -> None:
        """Raises `ImmutableCollectionError` if the collection may not be written here."""
        if collection not in self.mutable:
            where = "bind" if self.bound else "apply"
            raise ImmutableCollectionError(
                f"{show_path(path)} writes the variable {name!r} of the collection "
                f"{collection!r}, which is not mutable here. Name it: "
                f"{where}(..., mutable=[{collection!r}])."
            )

    def note_place(self) -> None:
        """Called when a module's path or name is read."""

    def check_open(self, path: Path) -> None:
        """Raises `ScopeClosedError` after the ``apply``, `TransformError` where copies are used."""
        if self.closed:
            raise ScopeClosedError(
                f"The module at {show_path(path)} belongs to an apply or init that has returned, "
                "so its variables no longer exist. Return values instead of modules, or use "
                "module.bind(variables), whose modules live on."
            )
        if self.suspended and threading.get_ident() in self.suspended:
            label = self.suspended[threading.get_ident()]
            raise TransformError(
                f"The module at {show_path(path)} is used inside {label}, but was not passed to "
                "it: a closure hides modules from transformations. Pass it as an argument, or "
                "wrap the function as nn.Partial(fn, [module])."
            )

    def _stored(self, _collection: str, _path: Path, _value: Any) -> Any:
        raise NotImplementedError

    # -- random streams ------------------------------------------------------------------------

    def draw(self, stream: str, path: Path) -> tuple[Any, Any]:
        """Counts a draw at ``path``; returns the stream's key and the number of the draw.

        Raises:
          RngError: neither the stream nor ``params`` exists.
        """
        name = stream if stream in self.rngs else "params"
        if name not in self.rngs:
            raise RngError(
                f"{show_path(path)} needs the random stream {stream!r}, but there is "
                f"{show_names(self.rngs)}. Pass {self._with_stream(stream)}."
            )
        return self._count(name, path)

    def _with_stream(self, stream: str) -> str:
        keys = "nn.key(0)" if stream == "params" else f"{{{stream!r}: nn.key(0)}}"
        if self.initializing:
            return f"init({keys}, ...)"
        return f"{'bind' if self.bound else 'apply'}(..., rngs={keys})"

    def _count(self, name: str, path: Path) -> tuple[Any, Any]:
        raise NotImplementedError

    def snapshot_stream(self, name: str) -> Draws:
        """Returns a snapshot of a stream, for a function that draws from it elsewhere."""
        raise NotImplementedError

    def advance(self, name: str, path: Path, draws: Any) -> None:
        """Counts draws that were made elsewhere from a snapshot of the stream."""
        raise NotImplementedError


class TensorStore(Store):
    """The store of one ``apply`` or ``init``: tensors in private dicts.

    Attributes:
      drawn: number of draws by stream and path in this store.
    """

    def __init__(
        self,
        variables: Mapping[str, Mapping[str, Any]],
        rngs: dict[str, Draws],
        mutable: Filter,
        initializing: bool = False,
    ) -> None:
        """Copies the dicts of the mutable collections, so that the caller's are not changed."""
        tree = {c: copy_tree(t) if c in mutable else t for c, t in variables.items()}
        super().__init__(tree, rngs, mutable, initializing)
        self.drawn: dict[tuple[str, Path], int] = {}

    def assign(self, collection: str, path: Path, name: str, value: Any) -> None:
        """Replaces the leaf in the private dict."""
        self.create(collection, path, name, value)

    def result(self) -> dict[str, Any]:
        """Returns the mutable collections as plain dicts of tensors."""
        return {
            c: {name: as_tensors(value) for name, value in tree.items()}
            for c, tree in self.tree.items()
            if c in self.mutable
        }

    def _stored(self, _collection: str, _path: Path, value: Any) -> Any:
        return as_tensors(value)

    def snapshot_stream(self, name: str) -> Draws:
        """Returns a snapshot of the stream, including the draws so far."""
        stream = self.rngs[name]
        paths = sorted({*stream.slots, *(path for n, path in self.drawn if n == name)})
        counts = [stream.base(path) + self.drawn.get((name, path), 0) for path in paths]
        later = None if stream.later is None else stream.base
        return Draws(stream.key, counts, {path: i for i, path in enumerate(paths)}, later)

    def advance(self, name: str, path: Path, draws: Any) -> None:
        """Counts draws that were made elsewhere."""
        self.drawn[name, path] = self.drawn.get((name, path), 0) + draws

    def _count(self, name: str, path: Path) -> tuple[Any, Any]:
        stream, count = self.rngs[name], self.drawn.get((name, path), 0)
        self.drawn[name, path] = count + 1
        return stream.key, stream.base(path) + count
