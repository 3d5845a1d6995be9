"""What was seen inside of a graph, as outlines."""

from __future__ import annotations

from typing import Any

from nbfn.functions.graphs.lines import LineTimes
from nbfn.functions.inside.failure import Failure
from nbfn.functions.inside.numerics import Numerics
from nbfn.functions.inside.origin import OperationOrigin
from nbfn.functions.inside.values import Values
from nbfn.outlines.outline import Outline, Table, place
from nbfn.sessions.messages.records import code_place
from nbfn.text import percent
from nbfn.views.pages.times_outline import milliseconds


def _code(origin: OperationOrigin) -> str:
    text = origin.spot.text or origin.name or origin.type
    within = f" (`{origin.name}`)" if origin.is_in_library else ""
    return f"{'gradient of ' if origin.is_gradient else ''}`{text}`{within}"


def numerics_outline(numerics: Numerics) -> Outline:
    """Returns the outline of the operations that gave NaN or infinity."""
    rows = [
        (place(code_place(each.site)), _code(each.origin), each.result, each.source)
        for each in numerics.findings
    ]
    header = ("where", "operation", "gave", "from")
    return _outline(numerics, "operations", header, rows, "passed" if numerics.ok else "failed")


def failure_outline(failure: Failure) -> Outline:
    """Returns the outline of an operation that failed."""
    rows = [(f"`{each.name}`", each.type, each.range, each.values) for each in failure.inputs]
    header = ("name", "dtype and shape", "range", "values")
    return _outline(failure, "given", header, rows, "failed")


def values_outline(values: Values) -> Outline:
    """Returns the outline of the intermediate values of a call."""
    rows = [
        (
            place(code_place(each.site)),
            f"`{each.name}`",
            each.extent.type if each.extent else "",
            each.extent.range if each.extent else "",
            each.extent.values if each.extent else "",
            f"{each.executions:,}",
        )
        for each in values.all
    ]
    header = ("where", "name", "dtype and shape", "range", "values", "computed")
    return _outline(values, "values", header, rows)


def lines_outline(times: LineTimes) -> Outline:
    """Returns the outline of the time of each line."""
    whole = times.seconds or 1.0
    rows = [
        (
            milliseconds(each.seconds),
            percent(each.seconds / whole),
            milliseconds(each.gradient_seconds) if each.gradient_seconds else "",
            f"{each.executions:,}",
            place(code_place(each.site)),
            f"`{each.text}`",
            ", ".join(each.ran_as),
        )
        for each in times.lines
    ]
    header = ("time", "share", "gradient", "executions", "where", "line", "ran as")
    return _outline(times, "slowest lines", header, rows)


def _outline(result: Any, name: str, header: Any, rows: Any, verdict: Any = None) -> Outline:
    notes = [f"note: {note}" for note in result.notes]
    return Outline(result.title, notes, (Table(name, header, rows, open=True),), verdict=verdict)
