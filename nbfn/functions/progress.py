"""Loops that report their progress, in Python and in a graph."""

from __future__ import annotations

import itertools
import secrets
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.underway.work import Extent, Work, working

T = TypeVar("T")

_process = secrets.token_hex(4)
_ids = itertools.count(1)


@dataclass(frozen=True)
class GraphLoop:
    """A loop in a graph that counts its steps."""

    name: str
    unit: str
    counter: _tensorflow.Counter

    def extent(self) -> Extent | None:
        """Returns its progress; None if no graph has begun it yet."""
        extent = self.counter.read()
        if extent is None:
            return None
        done, total = extent
        # `tf.data` has negative numbers for sizes that are infinite (-1) or unknown (-2).
        return done, total if total >= 0 else None


_loops: weakref.WeakKeyDictionary[Any, list[GraphLoop]] = weakref.WeakKeyDictionary()
"""The loops of each graph, including nested graphs."""
_lock = threading.Lock()


class ProgressError(NbfnError, TypeError):
    """The argument of `progress` cannot be iterated over."""


class Progress(Generic[T]):
    """The iterable that `progress` returns; yields the elements of its argument.

    Attributes:
        name: The name of the loop.
        unit: The unit of its steps.
    """

    def __init__(self, iterable: Iterable[T], name: str, unit: str) -> None:
        self.name = name
        self.unit = unit
        self._iterable = iterable

    def __len__(self) -> int:
        total = self._total()
        if total is None:
            raise TypeError(f"the length of {type(self._iterable).__name__} is not known")
        return total

    def _total(self) -> int | None:
        iterable = self._iterable
        if isinstance(iterable, tf.data.Dataset):
            total = int(iterable.cardinality()) if tf.executing_eagerly() else -1
            return total if total >= 0 else None
        if _is_symbolic(iterable):
            return None
        try:
            return len(iterable)  # type: ignore[arg-type]
        except Exception:  # the length is optional
            return None

    def __iter__(self) -> Iterator[T]:
        if _stays_in_graph(self._iterable) and not tf.is_tensor(self._iterable):
            raise ProgressError(
                f"in a graph only AutoGraph's `for` goes through a "
                f"{type(self._iterable).__name__}; instead of enumerate(nbfn.progress(…)) or "
                "zip(nbfn.progress(…), …) write nbfn.progress(enumerate(…)) or "
                "nbfn.progress(zip(…))"
            )
        return self._iterate()

    def _iterate(self) -> Iterator[T]:
        elements = iter(self._iterable)  # for a symbolic tensor TensorFlow raises
        with working(Work("loop", self.name, self.unit, total=self._total())) as work:
            while True:
                try:
                    yield next(elements)  # without keeping a reference
                except StopIteration:
                    return
                work.done += 1

    def __repr__(self) -> str:
        return f"nbfn.progress({self._iterable!r}, {self.name!r})"


def progress(iterable: Iterable[T], name: str | None = None, unit: str = "steps") -> Progress[T]:
    """Makes a loop report its progress: ``for batch in nbfn.progress(dataset):``.

    A loop in Python stays in Python, and a loop over a tensor or a ``tf.data.Dataset`` that
    AutoGraph converts stays in the graph. There it counts in a small int64 resource, which no graph
    captures; nothing else changes, and the function can be exported. A function that XLA compiles
    does not count. A function that counts can neither be vectorized nor, once traced, be called
    from a function that XLA compiles.

    Args:
        iterable: A tensor (iterated along its first axis), a ``tf.data.Dataset``, or any Python
            iterable.
        name: The name of the loop.
        unit: The unit of the steps.

    Raises:
        ProgressError: If it is not iterable.
    """
    kind = type(iterable)
    if not hasattr(kind, "__iter__") and not hasattr(kind, "__getitem__"):
        raise ProgressError(
            f"progress needs something to loop over, found {type(iterable).__name__} "
            f"{iterable!r:.60}; for a number of steps give range(n), or tf.range(n) in a function"
        )
    return Progress(iterable, name or "loop", unit)


def graph_loops() -> list[GraphLoop]:
    """Returns the counting loops of all live graphs."""
    with _lock:
        return list({id(loop): loop for loops in _loops.values() for loop in loops}.values())


def _loop(
    iterated: Progress[Any],
    body: Callable[[Any], None],
    over: Callable[[Any, Callable[[Any], None]], None],
) -> None:
    """Replaces AutoGraph's loop by one that counts."""
    iterable = iterated._iterable
    if not _stays_in_graph(iterable):
        # Python unrolls the loop: it is the trace that takes long.
        over(iter(iterated), body)
        return
    if _tensorflow.compiles_with_xla() or _is_other_replica():
        over(iterable, body)
        return

    counter = _tensorflow.Counter(f"nbfn/progress/{_process}/{next(_ids)}")
    loop = GraphLoop(iterated.name, iterated.unit, counter)
    with _lock:
        for graph in _tensorflow.enclosing_graphs():
            _loops.setdefault(graph, []).append(loop)

    def counted(each: Any) -> None:
        body(each)
        counter.count()

    with tf.control_dependencies([counter.begin(_total_in_graph(iterable))]):
        over(iterable, counted)


def _stays_in_graph(iterable: Any) -> bool:
    if tf.executing_eagerly():
        return False
    return tf.is_tensor(iterable) or isinstance(iterable, _IN_GRAPHS)


_IN_GRAPHS = (
    *(tf.data.Dataset, tf.data.Iterator),
    *(tf.distribute.DistributedDataset, tf.distribute.DistributedIterator),
)
"""Types that a graph can iterate over, besides tensors."""


def _is_symbolic(iterable: Any) -> bool:
    return tf.is_tensor(iterable) and not isinstance(iterable, _tensorflow.EagerTensor)


def _is_other_replica() -> bool:
    """Returns whether a replica other than the first is traced; only the first counts."""
    replica = tf.distribute.get_replica_context()
    number = 0 if replica is None else replica.replica_id_in_sync_group
    static = tf.get_static_value(number) if tf.is_tensor(number) else number
    return static is not None and int(static) != 0


def _total_in_graph(iterable: Any) -> Any:
    if isinstance(iterable, tf.data.Dataset):
        return iterable.cardinality()
    if isinstance(iterable, _IN_GRAPHS):
        return tf.constant(-1, tf.int64)
    if isinstance(iterable, tf.RaggedTensor):
        return tf.cast(iterable.nrows(), tf.int64)
    return tf.shape(iterable, tf.int64)[0]


_tensorflow.register_loop(Progress, _loop)
