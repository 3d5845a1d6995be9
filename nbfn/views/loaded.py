"""A loaded model as an outline."""

from __future__ import annotations

from nbfn.functions import Trace
from nbfn.functions.traces.capture import short_device
from nbfn.outlines.outline import Outline, Table
from nbfn.sessions.load import LoadedSession
from nbfn.text import count, data_size, tensor_type

_MAX_NAMES = 4


def loaded_outline(session: LoadedSession) -> Outline:
    """Returns the outline of a loaded model."""
    functions = [
        (name, trace.signature, _captures(trace))
        for name, each in session.functions.items()
        for trace in each.traces
    ]
    traced = {name for name, *_ in functions}
    functions += [
        (name, each.parameters[1:-1], "")
        for name, each in session.functions.items()
        if name not in traced
    ]
    variables = [
        (name, tensor_type(v.dtype.name, v.shape), short_device(v.device))
        for name, v in session.variables.items()
    ]
    return Outline(
        f"loaded from {session.path}: {count(len(session.functions), 'function')}, "
        f"{count(len(variables), 'variable')} ({data_size(session.nbytes)})",
        (),
        (
            Table("signatures", ("function", "called with", "captures"), functions),
            Table("variables", ("name", "dtype and shape", "device"), variables),
            Table("tables", ("name",), [(name,) for name in session.tables]),
        ),
    )


def _captures(trace: Trace) -> str:
    names = [capture.name for capture in trace.captures]
    return ", ".join(names[:_MAX_NAMES]) + (", ..." if len(names) > _MAX_NAMES else "")
