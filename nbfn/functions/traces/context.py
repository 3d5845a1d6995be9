"""The context of a call: what its trace depends on besides its arguments.

RFC "Functions, not Sessions", section "Trace Caches": the key holds the context in which the
function is called, such as the device that ``tf.device`` asks for. Section "Summaries": TensorFlow
bakes the writer that was the default when the trace was made into it. Here the writer and the
condition are part of the key of functions that write summaries, so that each call writes where its
caller says.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.serial import serial

_SUMMARIES = "summary"


class Strategy(NamedTuple):
    """The ``tf.distribute`` strategy of a call.

    Attributes:
        label: The name of its class, or what is shown for it.
        number: Tells strategies of one class apart.
        is_replica: Whether the call is one of its replicas'.
        is_spread: Whether the call is spread over the replicas, by ``session.run``.
    """

    label: str
    number: object
    is_replica: bool = False
    is_spread: bool = False


class Context(NamedTuple):
    """The context of a call, as the trace cache keys it.

    Attributes:
        device: The device that ``tf.device`` asks for; empty if none does.
        state: The number that stands for what the guards see.
        summaries: The writer and condition of summaries; None where the function writes none.
        strategy: The ``tf.distribute`` strategy, if there is one.
        graph: The number of the ``tf.Graph``; 0 for eager calls and inside of other traces.
    """

    device: str
    state: int
    summaries: object | None = None
    strategy: Strategy | None = None
    graph: object = 0


def here(state: int, summaries: object | None = None, strategy: Strategy | None = None) -> Context:
    """The context of a call that begins now; `strategy` is the function's own, if it has one."""
    plain = tf.executing_eagerly() or tf.inside_function()
    graph = 0 if plain else serial(tf.compat.v1.get_default_graph())
    around = strategy or _strategy()
    return Context(_tensorflow.explicit_device(), state, summaries, around, graph)


def _strategy() -> Strategy | None:
    """The strategy under which the call is.

    TensorFlow's own key does not tell two strategies of one class apart, and so would run a trace
    with the replicas, or the workers, of another.
    """
    if not tf.distribute.has_strategy():
        return None
    strategy = tf.distribute.get_strategy()
    replica = not tf.distribute.in_cross_replica_context()
    return Strategy(type(strategy).__name__, serial(strategy), replica)


def summaries_of(attributes: Collection[Any]) -> object | None:
    """What a function's key holds of the caller's summaries; None if its code names none."""
    if _SUMMARIES not in attributes:
        return None
    writer, condition = _tensorflow.summary_state()
    return (
        None if writer is None else serial(writer),
        condition if isinstance(condition, bool) or condition is None else serial(condition),
    )
