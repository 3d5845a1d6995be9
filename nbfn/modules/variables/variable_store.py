"""The store of bound modules: ``tf.Variable``s, and random streams in variables."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import AssignmentError, VariableCreationError, show_names, show_path
from nbfn.modules.variables.filters import Filter
from nbfn.modules.variables.keys import fold
from nbfn.modules.variables.store import Draws, Path, Store
from nbfn.modules.variables.tree import leaves, map_leaves

_ROOM = 64
"""Initial number of counts; checkpoints written before more paths draw fit later traces."""
_drawing = threading.Lock()
"""Held while counts are read and changed, so that no two threads draw the same numbers."""


class Stream:
    """A random stream of a bound module, whose key and counts are variables."""

    def __init__(self, name: str, key: Any) -> None:
        """Creates the variables; the key is int32 of shape [2]."""
        self.key = tf.Variable(tf.cast(key, tf.int32), trainable=False, name=f"{name}/key")
        # One count for each module path that ever drew. It is one variable that can grow, because a
        # path may draw for the first time inside a trace, where no variable can be created.
        self.counts = tf.Variable(
            tf.zeros([_ROOM], tf.int32),
            trainable=False,
            shape=[None],
            name=f"{name}/counts",
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )
        self._slots: dict[Path, int] = {}
        # Whether it is a variable of a distribution strategy, shared by several replicas.
        self._replicated = isinstance(self.counts, tf.distribute.DistributedValues)

    def reseed(self, key: Any) -> None:
        """Restarts the stream from ``key``."""
        self.key.assign(tf.cast(key, tf.int32))
        self.counts.assign(tf.zeros_like(self.counts))

    def snapshot(self) -> Draws:
        """Returns a snapshot of the stream."""
        with tf.init_scope():
            size = int(tf.size(self.counts))
        slots = {path: slot for path, slot in self._slots.items() if slot < size}
        counts = self.counts.read_value()

        def later(path: Path) -> Any:
            # A graph reads the counts when it runs. A path that draws for the first time during a
            # trace has a count by then, which differs in each run.
            slot = self._slot(path)
            return _with_room(counts, slot)[slot]

        is_later = tf.is_symbolic_tensor(counts)
        return Draws(self.key_here(), counts, slots, later if is_later else None)

    def next_count(self, path: Path, draws: Any = 1) -> tf.Tensor:
        """Counts draws; returns the number of earlier draws at ``path`` (int32 scalar)."""
        slot = self._slot(path)
        if self._replicated:
            return self._next_in_replica(slot, draws)
        with _drawing if tf.executing_eagerly() else contextlib.nullcontext():
            if slot >= _ROOM:
                self.counts.assign(_with_room(self.counts, slot))
            count = tf.gather(self.counts, slot)
            self.counts.scatter_nd_add([[slot]], [draws])
        return count

    def _slot(self, path: Path) -> int:
        """Returns the index of a path among the counts, added if it is new."""
        # Replicas run in turn, and an assignment waits for all of them, so a lock would block.
        with contextlib.nullcontext() if self._replicated else _drawing, tf.init_scope():
            slot = self._slots.setdefault(path, len(self._slots))
            if slot >= int(tf.size(self.counts)):
                more = slot + _ROOM - int(tf.size(self.counts))
                self.counts.assign(tf.pad(self.counts, [[0, more]]))
        return slot

    def key_here(self) -> Any:
        """Returns the key; in a replica, the replica's own."""
        key, replica = self.key.read_value(), None
        if self._replicated:
            replica = tf.distribute.get_replica_context()
        return key if replica is None else fold(key, (), replica.replica_id_in_sync_group)

    def _next_in_replica(self, slot: int, draws: Any) -> tf.Tensor:
        counts = self.counts.read_value()
        # Variables of a strategy have no scatter_nd_add (TensorFlow 2.21).
        self.counts.assign_add(tf.one_hot(slot, tf.size(counts), draws, 0, dtype=tf.int32))
        return counts[slot]


def _with_room(counts: Any, slot: int) -> Any:
    """Returns the counts with room for a slot; a restored state may have fewer than a trace."""
    if slot < _ROOM:
        return counts
    return tf.pad(counts, [[0, tf.maximum(slot + 1 - tf.size(counts), 0)]])


class VariableStore(Store):
    """The store of a bound module: ``tf.Variable``s that are assigned and never replaced.

    Attributes:
      tracked: the modules through which TensorFlow tracks the variables.
      called: the input shapes of the last call from outside, by path.
      shapes: input and output types of the last call, as text, by path.
    """

    bound = True
    rngs: dict[str, Stream]

    def __init__(
        self,
        variables: Mapping[str, Mapping[str, Any]],
        rngs: dict[str, Any],
        mutable: Filter,
    ) -> None:
        """Creates a variable for each leaf; a leaf that is a ``tf.Variable`` is used as it is."""
        stored = {c: self._stored(c, (), tree) for c, tree in variables.items()}
        super().__init__(stored, {name: Stream(name, key) for name, key in rngs.items()}, mutable)
        # Weakly: the modules keep their stores, and a view may go before the others do.
        self.tracked: list[weakref.ref[Any]] = []
        self.called: dict[Path, list[Any]] = {}
        self.shapes: dict[Path, tuple[str, str]] = {}

    def create(self, collection: str, path: Path, name: str, value: Any) -> Any:
        """Stores a new variable; raises `VariableCreationError` inside a trace."""
        if not tf.executing_eagerly():
            raise VariableCreationError(
                f"{show_path(path)} would create the variable {name!r} of the collection "
                f"{collection!r} while a function is being traced. Bind the variables that init "
                "returns, or call the module once outside tf.function."
            )
        stored = super().create(collection, path, name, value)
        for module in self.modules_above(path):
            module._track()
        return stored

    def modules_above(self, path: Path | None = None) -> list[Any]:
        """Returns the tracked modules at or above a path; without one, all."""
        live = [module for reference in self.tracked if (module := reference()) is not None]
        return live if path is None else [m for m in live if m.path == path[: len(m.path)]]

    def track(self, module: Any) -> None:
        """Adds a module through which TensorFlow tracks the variables."""
        live = [ref for ref in self.tracked if ref() is not None and ref() is not module]
        self.tracked = [*live, weakref.ref(module)]

    def assign(self, collection: str, path: Path, name: str, value: Any) -> None:
        """Assigns the value to the variable, or a structure to its variables.

        Raises:
          AssignmentError: structure, shape or dtype differ; nothing is assigned in this case.
        """
        target = self.find(collection, path, name)
        where = f"{show_path((*path, name))} of the collection {collection!r}"
        new, old = dict(leaves(value)), dict(leaves(target))
        if new.keys() != old.keys():
            raise AssignmentError(
                f"{where} has the parts {show_names('/'.join(p) for p in old)}, but the new value "
                f"has {show_names('/'.join(p) for p in new)}."
            )
        values = {part: _fit(new[part], variable, where) for part, variable in old.items()}
        for part, variable in old.items():
            variable.assign(values[part], read_value=False)

    def reseed(self, rngs: Mapping[str, Any]) -> bool:
        """Restarts the named streams and adds new ones; returns whether any were added."""
        new = rngs.keys() - self.rngs.keys()
        if new and not tf.executing_eagerly():
            raise VariableCreationError(
                "reseed would create a new random stream while a function is being traced. Name "
                "the stream in bind(..., rngs=...)."
            )
        for name, key in rngs.items():
            if name in new:
                self.rngs[name] = Stream(name, key)
            else:
                self.rngs[name].reseed(key)
        return bool(new)

    def rng_variables(self) -> dict[str, dict[str, tf.Variable]]:
        """Returns the variables of the streams, by stream."""
        return {n: {"key": s.key, "counts": s.counts} for n, s in sorted(self.rngs.items())}

    def _stored(self, collection: str, path: Path, value: Any) -> Any:
        trainable = collection == "params"

        def variable(leaf: Any, at: Path) -> tf.Variable:
            if isinstance(leaf, tf.Variable):
                return leaf
            where = f"{show_path(at)} of the collection {collection!r}"
            if not tf.executing_eagerly():
                raise VariableCreationError(
                    f"{where} would become a tf.Variable while a function is being traced. "
                    "Call bind outside tf.function."
                )
            try:
                tensor = tf.convert_to_tensor(leaf)
            except (TypeError, ValueError) as error:
                raise AssignmentError(
                    f"{where} cannot be a tf.Variable: found {type(leaf).__name__}, expected a "
                    "tensor or an array."
                ) from error
            # How assignments of the replicas of a distribution strategy are combined.
            spread = tf.VariableAggregation
            how = spread.MEAN if tensor.dtype.is_floating else spread.ONLY_FIRST_REPLICA
            name = "/".join(at) or collection
            return tf.Variable(tensor, trainable=trainable, name=name, aggregation=how)

        return map_leaves(variable, value, path)

    def snapshot_stream(self, name: str) -> Draws:
        """Returns a snapshot of the stream, as a graph will find it when it runs."""
        return self.rngs[name].snapshot()

    def advance(self, name: str, path: Path, draws: Any) -> None:
        """Counts draws that were made elsewhere."""
        self.rngs[name].next_count(path, draws)

    def _count(self, name: str, path: Path) -> tuple[Any, tf.Tensor]:
        stream = self.rngs[name]
        return stream.key_here(), stream.next_count(path)


def fits(value: Any, variable: Any) -> bool:
    """Returns whether a variable can hold a tensor: it has its dtype, and a shape that fits."""
    return bool(value.dtype == variable.dtype and variable.shape.is_compatible_with(value.shape))


def _fit(value: Any, variable: tf.Variable, where: str) -> Any:
    try:
        tensor = tf.convert_to_tensor(value, None if tf.is_tensor(value) else variable.dtype)
    except (TypeError, ValueError) as error:
        raise AssignmentError(f"{where} cannot hold {value!r}: {error}") from error
    if not fits(tensor, variable):
        raise AssignmentError(
            f"{where} has dtype {variable.dtype.name} and shape {variable.shape}, but the new "
            f"value has {tensor.dtype.name} and {tensor.shape}. A bound variable is assigned, "
            "never replaced."
        )
    return tensor
