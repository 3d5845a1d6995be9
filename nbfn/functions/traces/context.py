"""The context of a call: what its trace depends on besides its arguments.

RFC "Functions, not Sessions", section "Trace Caches": the key contains the context in which the
function is called, such as the device that ``tf.device`` requests. Section "Summaries": TensorFlow
bakes the default writer into the trace. Here the writer and the condition are part of the key of
functions that write summaries, so that each call writes to its caller's writer. So are variables
among the arguments that the code also reads by another name: TensorFlow would take every variable
that is passed for the one that the code reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.serial import serial

_SUMMARIES = "summary"


class Strategy(NamedTuple):
    """The ``tf.distribute`` strategy of a call.

    Attributes:
        label: The name of its class, or the name to show.
        number: Distinguishes strategies of one class.
        is_replica: Whether the call is made in a replica.
        is_spread: Whether the call is spread over the replicas, by ``session.run``.
    """

    label: str
    number: object
    is_replica: bool = False
    is_spread: bool = False


class Context(NamedTuple):
    """The context of a call, as part of the trace cache's key.

    Attributes:
        device: The device that ``tf.device`` requests; empty if none.
        state: The number of the Python state that the guards found.
        summaries: The writer and condition of summaries; None if the function writes none.
        strategy: The ``tf.distribute`` strategy, if there is one.
        graph: The number of the ``tf.Graph``; 0 for eager calls and inside of other traces.
        shared: The variables that are arguments, and that the code also reads by other names: the
            path of each argument, and the variable's number.
    """

    device: str
    state: int
    summaries: object | None = None
    strategy: Strategy | None = None
    graph: object = 0
    shared: tuple[tuple[str, object], ...] = ()


def current_context(
    state: int,
    summaries: object | None = None,
    strategy: Strategy | None = None,
    shared: Iterable[tuple[str, tf.Variable]] = (),
) -> Context:
    """Returns the context of a call that begins now.

    Args:
        state: The number of the Python state.
        summaries: As `summaries_of` returns.
        strategy: The function's own strategy, if any.
        shared: The variables among the arguments that the code also reads, with their paths.
    """
    plain = tf.executing_eagerly() or tf.inside_function()
    graph = 0 if plain else serial(tf.compat.v1.get_default_graph())
    around = strategy or _strategy()
    numbers = tuple((path, serial(each)) for path, each in shared)
    return Context(_tensorflow.explicit_device(), state, summaries, around, graph, numbers)


def _strategy() -> Strategy | None:
    """Returns the current strategy.

    TensorFlow's own key does not distinguish two strategies of one class, and would run a trace
    with the replicas or workers of the other.
    """
    if not tf.distribute.has_strategy():
        return None
    strategy = tf.distribute.get_strategy()
    replica = not tf.distribute.in_cross_replica_context()
    return Strategy(type(strategy).__name__, serial(strategy), replica)


def summaries_of(attributes: Collection[Any]) -> object | None:
    """Returns the caller's summary writer and condition; None if the code names no summaries."""
    if _SUMMARIES not in attributes:
        return None
    writer, condition = _tensorflow.summary_state()
    return (
        None if writer is None else serial(writer),
        condition if isinstance(condition, bool) or condition is None else serial(condition),
    )
