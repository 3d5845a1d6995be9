"""Runs that collect their metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbfn._tensorflow.base import degraded, internal

_context = internal("eager.context")


def run_collecting(call: Callable[[], Any]) -> tuple[Any, Any]:
    """Makes a call and collects its ``RunMetadata``; None for that where it cannot be collected.

    Partition graphs are collected the first time that a function runs only.
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
