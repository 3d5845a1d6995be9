"""Collects the metadata of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbfn._tensorflow.base import degraded, internal

_context = internal("eager.context")


def run_collecting(call: Callable[[], Any]) -> tuple[Any, Any]:
    """Makes a call and returns its result and ``RunMetadata``; None instead if unsupported.

    Partition graphs are collected only when a function runs for the first time.
    """
    collector: Any = _context.context() if _context is not None else None
    needed = ("enable_graph_collection", "enable_run_metadata", "export_run_metadata")
    if not all(hasattr(collector, name) for name in needed):
        degraded("on which device operations run")
        return call(), None
    collector.enable_graph_collection()
    collector.enable_run_metadata()
    try:
        result = call()
        return result, collector.export_run_metadata()
    finally:
        collector.disable_run_metadata()
        collector.disable_graph_collection()
