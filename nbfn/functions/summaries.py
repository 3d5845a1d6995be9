"""Summaries inside functions: the writer and the condition are those of the call.

RFC "Functions, not Sessions", section "Summaries". TensorFlow bakes the writer that was the default
when the trace was made into it. Here both are part of the key of functions that write summaries, so
that each call writes where its caller says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbfn import _tensorflow
from nbfn.functions.guards.fingerprints import serial

if TYPE_CHECKING:
    from nbfn.functions.recording.recorder import Recorder

_NAMES = frozenset({"summary"})


def summaries_of(recorder: Recorder) -> object | None:
    """What a function's key holds of the caller's summaries; None if its code names none."""
    if not (recorder.guards.attributes & _NAMES):
        return None
    writer, condition = _tensorflow.summary_state()
    return (
        None if writer is None else serial(writer),
        condition if isinstance(condition, bool) or condition is None else serial(condition),
    )
