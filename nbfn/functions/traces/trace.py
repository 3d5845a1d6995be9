"""A trace: one graph in the trace cache of a function."""

from __future__ import annotations

import functools
import itertools
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.graphs.carve import carve
from nbfn.functions.retraces.diff import TraceDiff, diff
from nbfn.functions.traces.capture import Captures, captures_of
from nbfn.functions.traces.cause import Cause
from nbfn.functions.traces.context import Context
from nbfn.functions.traces.key import Key, ObjectLeaf
from nbfn.functions.traces.sample import Sample
from nbfn.site import Cell, Site
from nbfn.state.guarded import GuardedState
from nbfn.state.state import Change, Fingerprints
from nbfn.state.values.fingerprints import content_of, objects_in
from nbfn.text import count, duration, listed

if TYPE_CHECKING:
    from nbfn.functions.traced.traced_function import TracedFunction

_ids = itertools.count(1)

_MAX_LEAVES = 100
# The oldest is forgotten: in that state, the trace then counts as stale.
_MAX_EARLIER = 16


class EvictedError(NbfnError, ReferenceError):
    """The graph of a trace was requested after the trace left the cache."""


class Trace:
    """One trace of a function. It holds the graph weakly: the trace cache owns it.

    RFC "Functions, not Sessions", section "Trace Caches".

    Attributes:
        id: Unique in this process.
        number: Its number among the function's traces, from 1; never used again.
        key: Its key in the trace cache.
        cause: Why it was made.
        site: The call that made it.
        trace_seconds: The time that tracing took.
        time: When it was made, in seconds since 1970.
        hits: Calls that it served without tracing.
        relaxed_at: The value of `hits` when ``relax()`` last returned it; None if it never did.
        run_seconds: Time spent in its calls, tracing excluded.
        captures: The captures, in order of first use.
        operations: Number of operations in its graph, without nested functions.
        context: The context that it was made in.
        state: The Python state that it bakes in; of several in which it serves, the newest.
        last_used: Increases with each use of any trace; the least recently used has the lowest.
        compiled: The shapes for which XLA has compiled it.
        lost: Names of captured variables that no longer exist.
        sample: A copy of the inputs of the call that made it, if small.
        watched: Weak references with callbacks to what it depends on.
    """

    def __init__(
        self,
        number: int,
        concrete: Any,
        key: Key,
        cause: Cause,
        site: Site,
        trace_seconds: float,
        roots: Iterator[tuple[str, Any]],
    ) -> None:
        self.id = f"trace-{next(_ids)}"
        self.number = number
        self.key = key
        self.cause = cause
        self.site = site
        self.trace_seconds = trace_seconds
        self.time = time.time()
        self.hits = 0
        self.relaxed_at: int | None = None
        self.run_seconds = 0.0
        self.captures: Captures = captures_of(concrete, roots)
        self.operations = len(concrete.graph.get_operations())
        self.context: Context | None = None
        self.state = GuardedState()
        self._earlier: deque[GuardedState] = deque(maxlen=_MAX_EARLIER)
        self.last_used = 0
        self.compiled: set[str] = set()
        self.lost: list[str] = []
        self.sample: Sample | None = None
        self.watched: list[weakref.ReferenceType[Any]] = []
        self._guarded: list[weakref.ReferenceType[Any]] = []
        self._concrete = weakref.ref(concrete)

    def watch_objects(self, unusable: list[int]) -> None:
        """Appends its number to `unusable` when an object that it was made for dies.

        No call can find it any more then.
        """
        number = self.number
        for leaf in self.key.leaves.values():
            target = leaf.reference() if isinstance(leaf, ObjectLeaf) and leaf.reference else None
            if target is not None:
                # It may run on any thread and inside of any allocation, so it takes no lock:
                # `append` of a list is atomic in CPython.
                self.watched.append(weakref.ref(target, lambda _: unusable.append(number)))

    def differs_in_state_alone(self, key: Key, context: Context | None) -> bool:
        """Returns whether it fits calls of this key and context but for the Python state."""
        if context is None or self.context is None or not self.serves_calls:
            return False
        own = {path: leaf.token for path, leaf in self.key.leaves.items()}
        return (
            own == {path: leaf.token for path, leaf in key.leaves.items()}
            and self.key.containers == key.containers
            and self.context == context._replace(state=self.context.state)
        )

    def watch_guarded(self, references: Iterable[Callable[[], Any]], unusable: list[int]) -> None:
        """Appends its number to `unusable` when an object that its code has read dies.

        Objects of an earlier state in which it served no longer count.

        Args:
            references: Weak references to the currently guarded objects.
            unusable: As for `watch_objects`.
        """
        number = self.number
        # An object of an earlier state may have died before the trace served in this one.
        while number in unusable:
            unusable.remove(number)
        self._guarded.clear()
        read = self.state.fingerprints.values()
        read_objects = {found for each in read for found in objects_in(each.content)}
        for reference in references:
            target = reference()
            if target is not None and content_of(target) in read_objects:
                self._guarded.append(weakref.ref(target, lambda _: unusable.append(number)))

    def also_serves(self, context: Context | None, state: GuardedState) -> None:
        """Notes that it serves in another state, in which a new trace did the same."""
        self._earlier.append(self.state)
        self.context, self.state = context, state

    def changed_roots(self, now: Fingerprints, partial: bool = False) -> list[Change]:
        """Returns what the user has changed since; see `GuardedState.changed_roots`.

        Nothing has changed in any state in which it serves.
        """
        found = self.state.changed_roots(now, partial)
        if all(each.changed_roots(now, partial) for each in self._earlier):
            return found
        return []

    def objects(self) -> Iterator[Any]:
        """Yields the objects that it was made for, arguments and others, if still alive."""
        leaves = self.key.leaves.values()
        references = [e.reference for e in leaves if isinstance(e, ObjectLeaf) and e.reference]
        for reference in (*references, *self._guarded):
            if (found := reference()) is not None:
                yield found

    @property
    def is_keyed(self) -> bool:
        """Whether the objects that it was made for still exist."""
        leaves = self.key.leaves.values()
        return not any(isinstance(each, ObjectLeaf) and each.is_collected for each in leaves)

    @property
    def signature(self) -> str:
        """The key as text, such as ``images: float32[64, 10], training: True``."""
        return self.key.text(_MAX_LEAVES)

    @property
    def serves_calls(self) -> bool:
        """Whether calls can find it; the trace that only created variables serves none."""
        return self.cause.code != "variable_creation"

    @property
    def cell(self) -> Cell | None:
        """The cell that made it, if any."""
        return self.site.cell

    def live_concrete(self) -> Any | None:
        """Returns the ``ConcreteFunction``; None if the trace has left the cache."""
        return self._concrete()

    @property
    def concrete_function(self) -> Any:
        """The ``ConcreteFunction``.

        Raises:
            EvictedError: If the trace has left the cache.
        """
        concrete = self._concrete()
        if concrete is None:
            raise EvictedError(
                f"trace {self.number} has left the cache, and its graph was freed; "
                "call the function again to make a new one"
            )
        return concrete

    @property
    def graph(self) -> Any:
        """The ``tf.Graph``. Raises `EvictedError` if the trace has left the cache."""
        return self.concrete_function.graph

    def graph_def(self) -> Any:
        """Returns the ``GraphDef`` with its function library. Raises `EvictedError` as `graph`."""
        return self.graph.as_graph_def()

    @functools.cached_property
    def nbytes(self) -> int:
        """Size of its GraphDef in bytes, with nested functions; 0 if the graph was freed."""
        return 0 if self._concrete() is None else int(self.graph_def().ByteSize())

    @functools.cached_property
    def can_be_stopped(self) -> bool:
        """Whether an interrupt may cancel its graph."""
        concrete = self._concrete()
        return concrete is not None and _tensorflow.can_be_stopped(concrete)

    def diff(self, other: Trace) -> TraceDiff:
        """Compares this trace with another; see `nbfn.functions.retraces.diff.diff`."""
        return diff(self, other)

    def carve(self, inputs: Any, outputs: Any, prune: bool = False) -> TracedFunction:
        """Makes a function of the part of the graph between some tensors.

        See `nbfn.functions.graphs.carve.carve` for the arguments and errors.
        """
        return carve(self, inputs, outputs, prune)

    def __repr__(self) -> str:
        return (
            f"<Trace {self.number} ({self.signature}) {count(self.hits, 'hit')}, "
            f"{duration(self.trace_seconds)} to trace: {self.cause.sentence}>"
        )


class Traces(tuple[Trace, ...]):
    """The traces of a function, oldest first."""

    __slots__ = ()

    def __repr__(self) -> str:
        return listed("trace", self)
