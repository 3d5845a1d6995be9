"""The store of a transformed function's run, and its random streams."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import ImmutableCollectionError, RngError, show_names, show_path
from nbfn.modules.variables.filters import Filter
from nbfn.modules.variables.keys import fold
from nbfn.modules.variables.store import Draws, Path, Store, TensorStore
from nbfn.modules.variables.tree import leaves

Streams = dict[str, Draws]


def same_streams(store: Store) -> Streams:
    """Returns the current streams of a store, for a function that runs once."""
    return {name: store.snapshot_stream(name) for name in store.rngs}


def split_streams(
    store: Store, split: Mapping[Any, bool], root: Path, count: Any = None
) -> tuple[Streams, dict[str, Any]]:
    """Returns the streams for a function that runs several times.

    Args:
      store: the store of the modules outside.
      split: by filter of streams, whether each run has a separate key.
      root: the path at which the keys are drawn.
      count: the number of runs; None if unknown.

    Returns:
      The streams that all runs share, and the keys of the others: int32 of shape [count, 2], or,
      without a count, one key to split.
    """
    shared: Streams = {}
    keys: dict[str, Any] = {}
    for name in store.rngs:
        own = next((each for spec, each in split.items() if name in Filter.of(spec)), None)
        if own is None:
            continue
        if not own:
            shared[name] = store.snapshot_stream(name)
            continue
        key, number = store.draw(name, root)
        is_known = not (tf.is_symbolic_tensor(key) or tf.is_symbolic_tensor(number))
        # Outside the graph, so that known keys stay known to Keras's initializers.
        with tf.init_scope() if is_known else contextlib.nullcontext():
            own_key = fold(key, root, number)
            keys[name] = own_key if count is None else tf.random.split(own_key, count)
    return shared, keys


def own_streams(keys: Mapping[str, Any]) -> Streams:
    """Returns the streams of one of several runs, from its keys."""
    return {name: Draws(key) for name, key in keys.items()}


class Inner(TensorStore):
    """Holds tensors for one run of a transformed function, and records writes.

    Attributes:
      written: the variables that were written or created.
      made: the variables that were declared and did not exist, with their initial values.
      placed: whether the path or name of a module was read, so that the run depends on its place.
    """

    def __init__(
        self, outer: Store, label: str, tree: dict[str, Any], streams: Streams, mutable: Filter
    ) -> None:
        """Takes over the tree; ``mutable`` may be written inside if it is mutable outside."""
        super().__init__({}, streams, outer.mutable & mutable)
        self.tree = tree
        self.initializing = outer.initializing
        self.lazy = outer.lazy
        if not self.initializing and "params" not in self.mutable:
            self.memo = outer.memo  # it records that the variables exist
        self.wanted = outer.wanted
        self.keeps_sown = outer.sown is not None if outer.bound else outer.keeps_sown
        self.written: set[tuple[str, Path]] = set()
        self.made: dict[tuple[str, Path], Any] = {}
        self.placed = False
        self._outer = outer
        self._label = label

    def note_place(self) -> None:
        """Records that the run may depend on its place."""
        self.placed = True
        self._outer.note_place()

    def create(self, collection: str, path: Path, name: str, value: Any) -> Any:
        """Stores a value and records the write."""
        self.written.add((collection, (*path, name)))
        return super().create(collection, path, name, value)

    def make(self, collection: str, path: Path, name: str, value: Any) -> Any:
        """Stores a declared variable and records its initial value."""
        self.made[collection, (*path, name)] = value
        return self.create(collection, path, name, value)

    def writes(self) -> dict[tuple[str, Path], Any]:
        """Returns what was written, leaf by leaf."""
        found = {}
        for collection, path in sorted(self.written):
            value = self.find(collection, path[:-1], path[-1])
            if isinstance(value, Mapping):
                found.update({(collection, (*path, *at)): leaf for at, leaf in leaves(value)})
            else:
                found[collection, path] = value
        return found

    def check_mutable(self, collection: str, path: Path, name: str) -> None:
        """Refuses a write to a collection that is immutable here or outside."""
        if collection in self._outer.mutable and collection not in self.mutable:
            raise ImmutableCollectionError(
                f"{show_path(path)} writes the variable {name!r} of the collection {collection!r} "
                f"inside {self._label}, but that collection is shared by all runs there. Give it "
                "an axis (variable_axes), or for a loop carry it (variable_carry)."
            )
        super().check_mutable(collection, path, name)

    def draw(self, stream: str, path: Path) -> tuple[Any, Any]:
        """Returns the stream's key and the number of this draw."""
        if stream not in self.rngs and "params" not in self.rngs:
            if {stream, "params"} & self._outer.rngs.keys():
                raise RngError(
                    f"{show_path(path)} needs the random stream {stream!r} inside {self._label}, "
                    f"which has {show_names(self.rngs)}. Pass split_rngs={{{stream!r}: True}} "
                    "for other numbers in each run, or False for the same in all."
                )
            return self._outer.draw(stream, path)  # raises an error that says what is missing
        return super().draw(stream, path)
