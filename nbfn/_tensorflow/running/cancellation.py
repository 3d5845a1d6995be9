"""Graphs that can be stopped while they run, and what stops them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from typing import Any

from nbfn._tensorflow.base import internal

_cancellation = internal("eager.cancellation")

_LOOPS = frozenset({"While", "StatelessWhile", "ReduceDataset"})
_OVER_DATA = "ReduceDataset"
_NOT_TO_BE_STOPPED = ("Iterator", "Collective", "Nccl", "Xla")
"""Parts of names of operations that do not end well: an iterator would end for good, a collective
operation would spoil those that follow."""
_WITHOUT_EFFECT = frozenset({"ReadVariableOp"})
"""Operations that count as stateful and change nothing."""


def _has_cancellation() -> bool:
    try:
        manager = _cancellation.CancellationManager()
        entered = _cancellation.CancellationManagerContext
        known = _cancellation.context()
        return known is None and not manager.is_cancelled and manager._impl and bool(entered)
    except AttributeError:
        return False


CAN_CANCEL: bool = bool(_has_cancellation())
"""Whether this TensorFlow can stop a graph that runs."""


def can_be_stopped(concrete: Any) -> bool:
    """Whether a graph can be stopped in a loop: it runs on this machine, and not as XLA's code."""
    if not CAN_CANCEL:
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


def _after_data(nodes: list[Any]) -> Iterator[str]:
    """Names of the operations that wait for the end of a loop over a data set.

    They may run when it is stopped, because some data sets then look as if they were at their end.
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
    """Whether XLA compiles an operation or a function; true where that cannot be told."""
    if node is None:
        return True
    return "_XlaMustCompile" in node.attr and bool(node.attr["_XlaMustCompile"].b)


def _is_elsewhere(device: str) -> bool:
    return "/job:" in device.replace("/job:localhost", "")


class Cancellation:
    """What stops the functions that its thread runs while it is entered.

    TensorFlow has one such thing for all threads. To others this one is never cancelled, and it
    stops nothing that begins after it was.

    Attributes:
        is_cancelled: Whether it was asked to stop what runs. A graph that fails stops by itself.
    """

    is_cancelled = False

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._manager = _cancellation.CancellationManager()

    def enter(self) -> None:
        """Lets it stop what its thread runs from now on, in place of what held before."""
        _cancellation.CancellationManagerContext(self).__enter__()

    def leave(self) -> None:
        """Lets nothing stop what runs from now on."""
        _cancellation.CancellationManagerContext(self).__exit__(None, None, None)

    def cancel(self) -> None:
        """Stops what runs; from any thread."""
        self.is_cancelled = True
        self._manager.start_cancel()

    @property
    def _impl(self) -> Any:
        """What TensorFlow asks for when a function begins to run."""
        if threading.get_ident() != self._thread or self._manager.is_cancelled:
            return _cancellation.CancellationManager()._impl
        return self._manager._impl


def has_other_canceller() -> bool:
    """Whether something else than nbfn may cancel the functions that are run now."""
    known = None if _cancellation is None else _cancellation.context()
    return known is not None and not isinstance(known, Cancellation)
