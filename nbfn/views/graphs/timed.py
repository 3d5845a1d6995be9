"""The graph of a call whose operations were timed: its page, and the record of its picture."""

from __future__ import annotations

from nbfn import protocol
from nbfn.functions.calls.operation_times import Times
from nbfn.functions.graphs.operations import graph_of, graph_of_concrete
from nbfn.functions.graphs.time_attribution import graph_times
from nbfn.outlines.outline import Outline
from nbfn.views.graphs.expressions import record_in_notebook, trace_of
from nbfn.views.graphs.graph_outline import title_of
from nbfn.views.pages.times_outline import times_outline


def timed(times: Times, call: str | None = None) -> tuple[Outline, protocol.GraphRecord | None]:
    """Returns the page of a call's times, and the record of its graph; None if that was freed."""
    concrete = times.concrete_function
    if concrete is None or not times.operations:
        return times_outline(times, call), None
    trace = trace_of(concrete)
    graph = graph_of_concrete(concrete) if trace is None else graph_of(trace)
    found = graph_times(graph, times)
    title = concrete.name if trace is None else title_of(trace)
    title = title if call is None else f"{call}: {title}"
    record = record_in_notebook(title, graph, trace, found)
    return times_outline(times, call, found), record
