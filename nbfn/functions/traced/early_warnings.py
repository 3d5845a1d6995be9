"""Warnings at a function's first trace and first hit, before a problem costs much."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import CodeType
from typing import Any

from nbfn import _tensorflow
from nbfn.code import is_user_module, plain_function
from nbfn.errors import NbfnWarning, report_failure
from nbfn.functions.effects.data_loops import endless_loop
from nbfn.functions.effects.remarks import remarks
from nbfn.functions.recording.recorded import Recorded
from nbfn.functions.retraces.definitions import MAX_IN_A_LOOP, Definition
from nbfn.functions.traced.graph_problems import graph_problems
from nbfn.functions.traces.trace import Trace
from nbfn.site import warn

_examined: weakref.WeakValueDictionary[int, CodeType] = weakref.WeakValueDictionary()
"""Code that was already examined, by ``id``, because CPython compares code objects by content.

A cell that runs again has new code objects.
"""


def warn_of_first_trace(function: Recorded, definition: Definition | None, trace: Trace) -> None:
    """Warns of side effects that no later call repeats, and of functions made in a loop."""
    try:
        _warn(function, definition, trace)
    except NbfnWarning:  # the user's warning filters make it an error
        raise
    except Exception as error:
        report_failure(f"could not look for what `{function.label}` does only while traced", error)


def _warn(function: Recorded, definition: Definition | None, trace: Trace) -> None:
    python = plain_function(function.python_function)
    is_user_code = is_user_module(getattr(python, "__module__", None))
    if is_user_code and definition is not None and definition.note_first_trace(trace.site):
        warn(
            f"`{function.label}` ({function.site}) was made {MAX_IN_A_LOOP} times, and each was "
            "traced and called once. Make it once, above the loop or the function that makes it, "
            "and pass what differs as an argument"
        )
    if not function.checked_effects:
        function.checked_effects = True
        if mark_examined(getattr(python, "__code__", None)):
            return
        problems = graph_problems(function.python_function, trace.graph)
        if problems:
            warn(f"`{function.label}`, in its first trace:\n  " + "\n  ".join(problems))
        graph_time = _tensorflow.graph_time_functions(trace.graph)
        found = remarks(function.python_function, function.owner, graph_time)
        if found.lines:
            lines = "\n  ".join(found.lines)
            text = f"`{function.label}` does this only while it is traced:\n  {lines}"
            if found.are_prints:
                function.pending_warning = text
            else:
                warn(text)


def warn_before_first_trace(function: Recorded, args: Sequence[Any]) -> None:
    """Warns of a Python loop through a dataset, which never ends while it is traced."""
    try:
        loop = endless_loop(plain_function(function.python_function), args)
    except Exception as error:
        report_failure(f"could not look for loops over data in `{function.label}`", error)
        return
    if loop is not None:
        line, called, data = loop
        warn(
            f"`{function.label}`, line {line}: `{called}` iterates in Python over `{data}`, which "
            "never ends while the function is traced. Loop over the data set itself; "
            f"nbfn.progress({data}) shows how far it is"
        )


def warn_of_first_hit(function: Recorded) -> None:
    """Warns of prints with the first call that does not print; before, nothing is lost."""
    if function.pending_warning is not None:
        text, function.pending_warning = function.pending_warning, None
        warn(text)


def mark_examined(code: CodeType | None) -> bool:
    """Returns whether this code was already examined; from now on it is.

    Methods and closures share code.
    """
    if code is None:
        return False
    if _examined.get(id(code)) is code:
        return True
    _examined[id(code)] = code
    return False
