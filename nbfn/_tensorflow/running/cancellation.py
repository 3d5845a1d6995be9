"""Cancels running graphs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from typing import Any

from nbfn._tensorflow.base import internal
from nbfn._tensorflow.graphs.function_graphs import called_graphs, graphs_in

_cancellation = internal("eager.cancellation")

# AutoGraph converts a `for` over a dataset to `Dataset.reduce` (TensorFlow 2.21).
_LOOPS = frozenset({"While", "StatelessWhile", "ReduceDataset"})
_OVER_DATA = "ReduceDataset"
_NOT_TO_BE_STOPPED = ("Iterator", "Collective", "Nccl", "Xla")
"""Parts of the names of operations that must not be cancelled: an iterator could not continue, and
a collective operation would break the following ones."""
_WITHOUT_EFFECT = frozenset({"ReadVariableOp"})
"""Stateful operations that change nothing."""


def _has_cancellation() -> bool:
    try:
        manager = _cancellation.CancellationManager()
        entered = _cancellation.CancellationManagerContext
        context = _cancellation.context()
        return context is None and not manager.is_cancelled and manager._impl and bool(entered)
    except AttributeError:
        return False


CAN_CANCEL: bool = bool(_has_cancellation())
"""Whether this TensorFlow can cancel a running graph."""


def can_be_stopped(concrete: Any) -> bool:
    """Returns whether a graph can be cancelled in a loop: it is local and not compiled by XLA."""
    if not CAN_CANCEL or not _may_loop(concrete.graph):
        return False
    definition = concrete.graph.as_graph_def()
    own = list(definition.node)
    called = [node for each in definition.library.function for node in each.node_def]
    types = {node.op for node in (*own, *called)}
    return (
        not types.isdisjoint(_LOOPS)
        and not any(part in each for each in types for part in _NOT_TO_BE_STOPPED)
        and not any(node.op == _OVER_DATA for node in called)
        and not any(map(_is_compiled, (getattr(concrete, "function_def", None), *own, *called)))
        and not any(_is_elsewhere(node.device) for node in (*own, *called))
        and not any(map(functools.partial(_has_effect, concrete.graph), _after_data(own)))
    )


def _may_loop(graph: Any) -> bool:
    """Returns whether a graph or a function that it calls may have a loop.

    A GraphDef shows it too, but takes 0.1 ms to make.
    """
    for each in graphs_in(graph):
        names = getattr(each, "_functions", None)
        if names is None or len(names) > len(list(called_graphs(each))):
            return True  # the content of some function is not known
        if any(op.type in _LOOPS for op in each.get_operations()):
            return True
    return False


def _after_data(nodes: list[Any]) -> Iterator[str]:
    """Yields the operations that depend on a loop over a dataset.

    They may run after cancellation, because some datasets then appear to be at their end.
    """
    waiting: dict[str, list[str]] = {}
    for node in nodes:
        for needed in node.input:
            waiting.setdefault(needed.lstrip("^").split(":")[0], []).append(node.name)
    new = [node.name for node in nodes if node.op == _OVER_DATA]
    met = set(new)
    while new:
        for name in waiting.get(new.pop(), ()):
            if name not in met:
                met.add(name)
                new.append(name)
                yield name


def _has_effect(graph: Any, name: str) -> bool:
    operation = graph.get_operation_by_name(name)
    return bool(operation.op_def.is_stateful) and operation.type not in _WITHOUT_EFFECT


def _is_compiled(node: Any) -> bool:
    """Returns whether XLA compiles an operation or function; True if unknown."""
    if node is None:
        return True
    return "_XlaMustCompile" in node.attr and bool(node.attr["_XlaMustCompile"].b)


def _is_elsewhere(device: str) -> bool:
    return "/job:" in device.replace("/job:localhost", "")


class Cancellation:
    """A cancellation manager for the functions that its thread runs while entered.

    TensorFlow has one manager for all threads. Other threads see this one as never cancelled, and
    it does not cancel functions that start after `cancel`.

    Attributes:
        is_cancelled: Whether `cancel` was called; a graph that fails ends without it.
    """

    is_cancelled = False

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._manager = _cancellation.CancellationManager()

    def enter(self) -> None:
        """Makes this the manager of functions that start from now on."""
        # This sets a global, which `leave` sets to None, whatever it was before (TensorFlow 2.21).
        # So this class is not entered inside of another manager: see `has_other_canceller`.
        _cancellation.CancellationManagerContext(self).__enter__()

    def leave(self) -> None:
        """Removes the manager."""
        _cancellation.CancellationManagerContext(self).__exit__(None, None, None)

    def cancel(self) -> None:
        """Cancels what runs; may be called on any thread."""
        self.is_cancelled = True
        self._manager.start_cancel()

    @property
    def _impl(self) -> Any:
        """The manager that TensorFlow uses when a function starts."""
        # The only attribute of a manager that `execute_with_cancellation` reads (TensorFlow 2.21).
        if threading.get_ident() != self._thread or self._manager.is_cancelled:
            # A manager that was cancelled would also cancel what starts later, such as the cell
            # that the user runs after an interrupt.
            return _cancellation.CancellationManager()._impl
        return self._manager._impl


def has_other_canceller() -> bool:
    """Returns whether another manager may cancel the functions that run now."""
    context = None if _cancellation is None else _cancellation.context()
    return context is not None and not isinstance(context, Cancellation)
