"""How code in the notebook speaks of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbfn.functions import Trace
from nbfn.functions.traces.trace import EvictedError
from nbfn.functions.watching.watched_function import WatchedFunction
from nbfn.sessions.session import session


def spoken_function(trace: Trace) -> str | None:
    """The expression by which the notebook finds the function of a trace; None if it has none."""
    return next((name for name, function in _functions() if trace in function.traces), None)


def save_line(trace: Trace) -> str | None:
    """The magic's line that saves a trace's graph to the file whose name follows.

    None if the notebook has no name for its function.
    """
    function = spoken_function(trace)
    return None if function is None else f"%tf_graph {function} --trace {trace.number} --save"


def trace_of(concrete: Any) -> Trace | None:
    """The trace of a concrete function; None if no function of the notebook has it any more."""
    for _, function in _functions():
        for trace in function.traces:
            try:
                if trace.concrete_function is concrete:
                    return trace  # type: ignore[no-any-return]
            except EvictedError:
                pass
    return None


def spoken_trace(trace: Trace) -> str | None:
    """Python that gives the trace, such as ``train_step.traces[0]``; None if no name leads to it.

    It is right as long as no older trace leaves the cache.
    """
    for name, function in _functions():
        if trace in function.traces:
            watched = isinstance(function, WatchedFunction)
            owner = f"nbfn.watch({name})" if watched else name
            return f"{owner}.traces[{function.traces.index(trace)}]"
    return None


def values_at_lines(trace: Trace) -> dict[tuple[str, int], list[str]]:
    """What the newest look at the values of a trace's function saw, by file and line."""
    found: dict[tuple[str, int], list[str]] = {}
    for _, function in _functions():
        if trace in function.traces:
            for site, text in function.recorder.values:
                if site.file is not None and site.line is not None:
                    found.setdefault((site.file, site.line), []).append(text)
            break
    return found


def _functions() -> Iterator[tuple[str, Any]]:
    here = session()
    yield from here.functions.items()
    for name, cell in here.cells.items():
        for number, function in enumerate(cell.functions):
            yield f"{name}.functions[{number}]", function
