"""Adds the inputs of a failed operation to its error, as a note."""

from __future__ import annotations

import tensorflow as tf

from nbfn.errors import report_failure
from nbfn.functions.postmortem import failure_in, seconds_of

MAX_SECONDS = 5.0
"""Maximum duration of a call that is repeated automatically."""

_DONE = "_nbfn_values"
_HINT = "nbfn.postmortem() opens the debugger there, with eager tensors"


def add_values(error: BaseException) -> None:
    """Adds the inputs of a failed operation to its error, once.

    To find them, the call is repeated if it is quick and all its changes can be undone.
    """
    if not isinstance(error, tf.errors.OpError) or hasattr(error, _DONE):
        return
    # Before the attempt, so that one that fails is not repeated.
    setattr(error, _DONE, True)
    try:
        note = _note(error)
    except Exception as other:  # the error is shown anyway
        report_failure("could not look at what an operation was given", other)
        return
    if note:
        error.add_note(note)


def _note(error: BaseException) -> str | None:
    seconds = seconds_of(error)
    if seconds is None:
        return None
    if seconds > MAX_SECONDS:
        return "nbfn.postmortem(debug=False) shows what the operation was given"
    failure = failure_in(error)
    if failure is None or failure.origin is not None:
        return None if failure is None else f"{failure.sentence}. {_HINT}"
    return "; ".join(failure.notes) or None
