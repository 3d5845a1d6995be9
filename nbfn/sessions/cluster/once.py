"""Exports under a strategy: one model, for one device, written by one process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions import Trace, TracedFunction, function
from nbfn.sessions.cluster.spread import StrategyError, name_of
from nbfn.sessions.cluster.strategy import used


def is_chief() -> bool:
    """Returns whether this process writes what is written once: models, checkpoints, logs."""
    resolver = getattr(used(), "cluster_resolver", None)
    kind, number = getattr(resolver, "task_type", None), getattr(resolver, "task_id", None)
    if resolver is None or not kind:
        return True
    if kind == "worker" and "chief" not in resolver.cluster_spec().jobs:
        return bool(number == 0)
    return bool(kind == "chief")


def written_by_chief(path: Path) -> Path:
    """Returns the path to which this process writes when the chief writes to `path`.

    All workers have to write, because reading variables that are aggregated on read, such as those
    of metrics, is a collective operation. The others write to a folder that is removed when they
    exit.
    """
    if is_chief():
        return path
    folder = tempfile.mkdtemp(prefix="nbfn-worker-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / path.name


def for_one_device(leaf: Any) -> Any:
    """Returns a function retraced for one device, with the signatures that replicas have called.

    A graph for replicas contains a call per replica and collective operations between them, which
    block forever when the model is served. Functions that do not run on replicas are returned as
    they are.

    Raises:
        StrategyError: If the function changes variables of the strategy or communicates itself.
    """
    if not isinstance(leaf, TracedFunction) or not any(map(is_spread, leaf.traces)):
        return leaf
    traced: TracedFunction = leaf
    alone: TracedFunction = function(traced.python_function, input_signature=traced.input_signature)
    alone.known_as = traced.known_as
    for trace in traced.traces:
        args, kwargs = trace.concrete_function.structured_input_signature
        with _collectives() as requested:
            concrete = alone.get_concrete_function(*args, **kwargs)
        if _tensorflow.assigns(concrete.graph):
            _refuse(traced, "changes variables, of which each replica has a copy")
        if requested:
            _refuse(traced, f"communicates between replicas by itself ({', '.join(requested)})")
        alone.traces[-1].sample = trace.sample
    return alone


@contextmanager
def _collectives() -> Iterator[list[str]]:
    """Yields a list of the collective operations requested in the block."""
    context: Any = tf.distribute.get_replica_context()
    requested: list[str] = []

    def noting(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            requested.append(name)
            return method(*args, **kwargs)

        return call

    names = ("all_reduce", "all_gather", "merge_call")
    for name in names:
        setattr(context, name, noting(name, getattr(context, name)))
    try:
        yield requested
    finally:
        for name in names:
            # The attribute of the instance hid the class's method.
            delattr(context, name)


def is_spread(trace: Trace) -> bool:
    """Returns whether a trace was made for the replicas of a strategy."""
    strategy = trace.context.strategy if trace.context is not None else None
    return strategy is not None and strategy.is_spread


def _refuse(traced: TracedFunction, why: str) -> None:
    raise StrategyError(
        f"`{traced.label}` runs on the replicas of {name_of(used())} and {why}; a model is "
        "served on one device. Export the functions that predict; to train elsewhere, save the "
        "variables with tf.train.Checkpoint and make the step there"
    )
