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

from nbfn import _tensorflow
from nbfn.serial import serial

_SUMMARIES = "summary"


class Context(NamedTuple):
    """The context of a call, as the trace cache keys it.

    Attributes:
        device: The device that ``tf.device`` asks for; empty if none does.
        state: The number that stands for what the guards see.
        summaries: The writer and condition of summaries; None where the function writes none.
    """

    device: str
    state: int
    summaries: object | None = None


def here(state: int, summaries: object | None = None) -> Context:
    """The context of a call that begins now."""
    return Context(_tensorflow.explicit_device(), state, summaries)


def renumbered(numbers: dict[int, int], context: Context | None) -> Context | None:
    """A context with the new number of its state."""
    return context and context._replace(state=numbers.get(context.state, 0))


def summaries_of(attributes: Collection[Any]) -> object | None:
    """What a function's key holds of the caller's summaries; None if its code names none."""
    if _SUMMARIES not in attributes:
        return None
    writer, condition = _tensorflow.summary_state()
    return (
        None if writer is None else serial(writer),
        condition if isinstance(condition, bool) or condition is None else serial(condition),
    )
