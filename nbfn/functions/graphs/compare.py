"""`diff`: compares two traces, or the newest traces of two functions."""

from __future__ import annotations

from typing import Any

from nbfn.functions.retraces import diff as traces
from nbfn.functions.retraces.diff import TraceDiff


def diff(a: Any, b: Any) -> TraceDiff:
    """Compares two traces: their keys, captures and operations.

    RFC "Functions, not Sessions", section "Derived/Related Graphs".

    Args:
        a: A trace, or a function, whose newest trace is compared.
        b: The same.

    Returns:
        The differences; ``str`` of it is readable.

    Raises:
        TypeError: If one is neither a trace nor a traced or watched function.
        ValueError: If a function has no trace yet.
        EvictedError: If a trace has left the cache.
    """
    return traces.diff(_trace_of(a), _trace_of(b))


def _trace_of(given: Any) -> Any:
    if hasattr(given, "graph_def"):
        return given
    made = getattr(given, "traces", None)
    if not isinstance(made, tuple):
        raise TypeError(
            f"expected a trace or a traced function to compare, found {type(given).__name__}"
        )
    if not made:
        raise ValueError(f"`{given.label}` has no trace yet; call it first")
    return made[-1]
