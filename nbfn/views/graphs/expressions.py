"""Finds Python expressions for traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbfn import protocol
from nbfn.functions import Trace
from nbfn.functions.graphs.operations import Graph
from nbfn.functions.graphs.time_attribution import GraphTimes
from nbfn.functions.traces.trace import EvictedError
from nbfn.functions.watching.watched_function import WatchedFunction
from nbfn.sessions.session import session
from nbfn.views.graphs.graph_record import graph_record


def record_in_notebook(
    title: str, graph: Graph, trace: Trace | None, times: GraphTimes | None = None
) -> protocol.GraphRecord:
    """Returns the record of a trace's graph, with what the notebook's name for it makes possible.

    The expression for the trace is right as long as no older trace leaves the cache.
    """
    for name, function in _functions():
        if trace in function.traces:
            assert trace is not None
            owner = f"nbfn.watch({name})" if isinstance(function, WatchedFunction) else name
            values: dict[tuple[str, int], list[str]] = {}
            for site, text in function.recorder.values:
                if site.file is not None and site.line is not None:
                    values.setdefault((site.file, site.line), []).append(text)
            return graph_record(
                title,
                graph,
                trace=f"{owner}.traces[{function.traces.index(trace)}]",
                save=f"%tf_graph {name} --trace {trace.number} --save",
                times=times,
                values=values,
            )
    return graph_record(title, graph, times=times)


def trace_of(concrete: Any) -> Trace | None:
    """Returns the trace of a concrete function; None if no function of the notebook has it."""
    for _, function in _functions():
        for trace in function.traces:
            try:
                if trace.concrete_function is concrete:
                    return trace  # type: ignore[no-any-return]
            except EvictedError:
                pass
    return None


def _functions() -> Iterator[tuple[str, Any]]:
    here = session()
    yield from here.functions.items()
    for name, cell in here.cells.items():
        for number, function in enumerate(cell.functions):
            yield f"{name}.functions[{number}]", function
