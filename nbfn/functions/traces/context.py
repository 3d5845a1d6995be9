"""The context of a call: what its trace depends on besides its arguments.

RFC "Functions, not Sessions", section "Trace Caches": the key holds the context in which the
function is called, such as the device that ``tf.device`` asks for.
"""

from __future__ import annotations

from typing import NamedTuple

from nbfn import _tensorflow


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
