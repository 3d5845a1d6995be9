"""Finds obsolete captures of variables: unreachable from the notebook, needed by no trace.

Keras models are in reference cycles. So a model that the notebook no longer names, and its
variables, live until the garbage collector runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from nbfn.code import closure, is_user_module, plain_function
from nbfn.functions.traces.key import ObjectLeaf
from nbfn.functions.traces.trace import Trace
from nbfn.functions.traces.variable_names import public_names, walk
from nbfn.sessions.contents import kinds


def obsolete_captures(named: Iterable[tuple[str, Any]], functions: Iterable[Any]) -> frozenset[str]:
    """Returns the ids of captures that no longer belong to the session.

    These are captures that were garbage-collected. Also unreachable captures, if every trace that
    uses them is stale or was made for an unreachable model.
    """
    functions = list(functions)
    uses: dict[str, list[tuple[Any, Trace, Any]]] = {}
    for function in functions:
        for trace in function.traces:
            for capture in trace.captures:
                uses.setdefault(capture.id, []).append((function, trace, capture.target))
    if not uses:
        return frozenset()
    reached = _reachable_ids([*named, *_beyond(named, functions)])
    # Filled when needed: comparing the state that a trace has read takes time.
    stale: dict[str, frozenset[int]] = {}

    def is_needed(function: Any, trace: Trace, value: Any) -> bool:
        if value is None or id(value) in reached:
            return value is not None
        if function.id not in stale:
            stale[function.id] = function.stale_traces()
        return trace.number not in stale[function.id] and _can_be_called(function, trace, reached)

    return frozenset(id for id, some in uses.items() if not any(is_needed(*use) for use in some))


def _can_be_called(function: Any, trace: Trace, reached: set[int]) -> bool:
    """Returns whether the notebook still reaches the models that a trace was made for."""
    leaves = trace.key.leaves.values()
    targets = [
        leaf.reference() for leaf in leaves if isinstance(leaf, ObjectLeaf) and leaf.reference
    ]
    targets.append(getattr(function, "owner", None))
    return all(id(each) in reached for each in targets if _is_walked(each))


def _is_walked(value: Any) -> bool:
    return kinds.is_module_or_layer(value) or kinds.is_optimizer(value)


def _beyond(
    named: Iterable[tuple[str, Any]], functions: Iterable[Any]
) -> Iterator[tuple[str, Any]]:
    """Yields what functions close over, and what user-defined modules and classes hold."""
    for _, value in named:
        if inspect.isfunction(value):
            yield from closure(value).items()
        elif (inspect.ismodule(value) and is_user_module(value.__name__)) or (
            isinstance(value, type) and is_user_module(value.__module__)
        ):
            yield from public_names(vars(value))
    for function in functions:
        yield from closure(plain_function(function.python_function)).items()


def _reachable_ids(named: Iterable[tuple[str, Any]]) -> set[int]:
    """Returns the ids of everything reachable, including replicas of a strategy's variables."""
    found: set[int] = set()
    for _, value, owner in walk(named):
        found |= {id(value), id(owner)}
        replicas = getattr(value, "values", None) if isinstance(value, tf.Variable) else None
        if isinstance(replicas, tuple):
            found.update(map(id, replicas))
    return found
