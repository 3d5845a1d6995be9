"""The graphs of functions that a graph calls, such as a loop's body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def called_graphs(graph: Any) -> Iterator[tuple[str, Any]]:
    """Name and graph of each function that was traced for a graph, as far as they are at hand.

    A function that was loaded, or that this TensorFlow keeps elsewhere, is not among them: its
    definition tells less, since it has neither lines nor the shapes of all results.
    """
    for name, function in getattr(graph, "_functions", {}).items():
        traced = getattr(function, "_cached_graph", None)
        if traced is not None:
            yield str(name), traced
