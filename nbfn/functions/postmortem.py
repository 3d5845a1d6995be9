"""`postmortem`: the inputs of an operation that failed in a graph, and a debugger at its line."""

from __future__ import annotations

import math
import os
import pdb
import sys
import traceback
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import is_library
from nbfn.errors import NbfnError
from nbfn.functions.checking.check import trial_of
from nbfn.functions.inside.failure import Failure, failure_of
from nbfn.functions.traced.function import copy_of
from nbfn.functions.traced.traced_function import TracedFunction

_HANDLER = os.path.join("util", "traceback_utils.py"), "error_handler"


class PostmortemError(NbfnError, RuntimeError):
    """There is no failed call of a graph to examine."""


def failure_in(error: BaseException) -> Failure | None:
    """Returns the failed operation with its inputs; None if the error is not from a graph.

    Args:
        error: The error that a call of a traced function raised.

    Raises:
        Exception: What the function raises while it is traced once more.
    """
    called = _outermost_call(error)
    return None if called is None else failure_of(*called, error)


def seconds_of(error: BaseException) -> float | None:
    """Estimates the seconds that `failure_in` takes; None if it cannot find the inputs.

    The estimate uses the times of the function's traces and calls so far. It is infinite for a
    function of which nbfn has no record.
    """
    called = _outermost_call(error)
    if called is None:
        return None
    recorder = called[0].recorder
    if not recorder.traces:
        return math.inf
    running = recorder.run_seconds / max(recorder.calls, 1)
    return float(3 * recorder.trace_seconds / max(len(recorder.traces), 1) + 2 * running)


def postmortem(error: BaseException | None = None, *, debug: bool = True) -> Failure | None:
    """Opens the debugger at the line of a graph that failed, with eager tensors.

    The call is repeated eagerly; variables, Python state and random numbers are restored when the
    debugger is left.

    Args:
        error: The error; None for the last one that was shown.
        debug: Whether to open the debugger. If not, the failed operation is returned with its
            inputs.

    Returns:
        Without the debugger, the operation and its inputs.

    Raises:
        PostmortemError: If no call of a traced function has failed, or it does not fail eagerly.
    """
    error = error or getattr(sys, "last_value", None)
    called = None if error is None else _outermost_call(error)
    if error is None or called is None:
        raise PostmortemError(
            "the last error is not from a graph that ran; call the function again, and then "
            "nbfn.postmortem()"
        )
    if not debug:
        return failure_of(*called, error)
    with trial_of(*called) as trial:
        try:
            trial.eagerly()
        except Exception as raised:
            pdb.post_mortem(_to_user_line(raised.__traceback__))
            return None
    raise PostmortemError(
        f"`{called[0].label}` does not fail when it runs eagerly; nbfn.postmortem(debug=False) "
        "shows what the operation was given in the graph"
    )


def _to_user_line(entry: TracebackType | None) -> TracebackType | None:
    """Returns a traceback that ends at the innermost user line, for the debugger."""
    entries = list(traceback.walk_tb(entry))
    while entries and is_library(entries[-1][0].f_code.co_filename):
        entries.pop()
    shortened = None
    for frame, line in reversed(entries):
        shortened = TracebackType(shortened, frame, frame.f_lasti, line)
    return shortened or entry


def _outermost_call(error: BaseException) -> tuple[Any, Any, Any] | None:
    """Returns the outermost traced function whose graph raised an error, with the arguments.

    Functions whose Python raised it, while traced or run eagerly, are excluded.
    """
    if not isinstance(error, tf.errors.OpError) or _tensorflow.raised_in_python(error):
        return None
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        found = found or next(_call_in(frame), None)
        # User code below the call has failed, not a graph that the call ran.
        if not is_library(frame.f_code.co_filename):
            found = None
    if found is None:
        return None
    called, args, kwargs = found
    if isinstance(called, TracedFunction):
        return called, args, kwargs
    again, owner = copy_of(called)
    return again, (*owner, *args), kwargs


def _call_in(frame: FrameType) -> Iterator[tuple[Any, Any, Any]]:
    """Yields the call of a tf.function that a frame makes, if any."""
    code = frame.f_code
    if code is TracedFunction.__call__.__code__:
        variables = frame.f_locals
        yield variables["self"], variables["args"], variables["kwargs"]
    elif code.co_name == _HANDLER[1] and code.co_filename.endswith(_HANDLER[0]):
        # TensorFlow removes its own frames from the traceback, except that of this wrapper.
        args = frame.f_locals.get("args") or ()
        if args and isinstance(args[0], _tensorflow.Function):
            yield args[0], args[1:], frame.f_locals.get("kwargs") or {}
