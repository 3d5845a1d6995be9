"""How long each operation of a call took, the slowest first, as an outline."""

from __future__ import annotations

from nbfn.functions.calls.operation_times import Times
from nbfn.functions.graphs.operations import graph_of_concrete
from nbfn.functions.graphs.time_attribution import GraphTimes, graph_times
from nbfn.outlines.outline import Outline, Table, Words
from nbfn.protocol import Phrase
from nbfn.sessions.messages.records import code_place
from nbfn.site import site_of
from nbfn.text import count, percent

_TEXT_ROWS = 20


def times_outline(
    times: Times, call: str | None = None, found: GraphTimes | None = None
) -> Outline:
    """Returns the outline of a call's times, with those of its graph if they are known."""
    number = count(len(times.operations), "operation")
    title = f"{number} ran, {milliseconds(times.seconds)} together"
    if not times.operations:
        return Outline(
            call or title,
            [
                "TensorFlow reported no operation: XLA runs a function with `jit_compile=True` as "
                "one program"
            ],
        )
    if found is None:
        concrete = times.concrete_function
        found = None if concrete is None else graph_times(graph_of_concrete(concrete), times)
    whole = times.seconds or 1.0
    places = {ran.name: operation for _, operation, ran in (found.found if found else ())}
    rows: list[tuple[Words, ...]] = []
    for each in times.operations:
        operation = places.get(each.name)
        line: Words = ""
        if operation is not None and operation.line is not None:
            site = site_of(operation.file, operation.line)
            line = Phrase(text=str(site), cell=code_place(site))
        rows.append(
            (
                milliseconds(each.seconds),
                percent(each.seconds / whole),
                f"{each.executions:,}",
                each.type,
                each.name,
                line,
            )
        )
    lines: list[Words] = [] if call is None else [title]
    if found is None:
        lines.append("the graph was freed, and with it the lines")
    elif found.others:
        names = ", ".join(f"`{each.name}`" for each in found.others[:3])
        more = ", …" if len(found.others) > 3 else ""
        share = percent(found.other_seconds / whole)
        lines.append(
            f"{share} of it in {count(len(found.others), 'operation')} that the optimiser made, "
            f"whose place in the graph is not known: {names}{more}"
        )
    header = ("time", "share", "executions", "type", "operation", "line")
    return Outline(
        call or title,
        lines,
        (Table("slowest operations", header, rows, open=True, text_rows=_TEXT_ROWS),),
    )


def milliseconds(seconds: float) -> str:
    """Returns the time of an operation as text."""
    return f"{seconds * 1000:,.3f} ms"
