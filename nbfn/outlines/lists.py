"""What the rows of functions, cells and models say in a list, and the numbers that sort them."""

from __future__ import annotations

from collections.abc import Iterable

from nbfn import protocol
from nbfn.outlines.outline import place_text
from nbfn.text import count, data_size, duration, significant


def function_row(row: protocol.FunctionRecord) -> protocol.FunctionRecord:
    """Returns the row of a function with its words."""
    measures = [
        "calls not counted" if row.calls is None else count(row.calls, "call"),
        count(row.traces, "trace"),
        count(row.retraces, "retrace"),
        duration(row.trace_seconds),
        duration(row.run_seconds),
        data_size(row.nbytes),
    ]
    name, space, cell = row.name.partition(" (")
    title = f"{name}{row.parameters}{space}{cell}"
    return row.model_copy(update={"title": title, "note": measures[1], "measures": measures})


def cell_row(
    row: protocol.TracedCellRecord, functions: Iterable[tuple[int, float, int]]
) -> protocol.TracedCellRecord:
    """Returns the row of a cell with its words.

    Args:
        row: The row.
        functions: Of each of its functions: number of traces, seconds to trace, size in bytes.
    """
    traces, seconds, nbytes = (sum(column) for column in zip((0, 0.0, 0), *functions, strict=True))
    took = duration(row.seconds)
    measures = [
        count(row.runs, "run"),
        count(int(traces), "trace"),
        took,
        duration(seconds),
        data_size(nbytes),
    ]
    ratio = row.speedup
    note = took if ratio is None else f"{took} · {significant(ratio, 2 if ratio < 99.5 else 3)}×"
    place = "" if row.cell is None else place_text(row.cell)
    if row.name.endswith(f"({place})"):  # as of several cells with the same name
        place = ""
    return row.model_copy(update={"place": place, "note": note, "measures": measures})


def model_note(label: str, parameters: int | None) -> str:
    """Returns what the row of a model says of it."""
    size = count(parameters, "parameter") if parameters else "no variables yet"
    return f"{label.lstrip('_')}, {size}"
