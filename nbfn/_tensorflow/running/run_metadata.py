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
    _drop_dead_servers(collector)
    collector.enable_graph_collection()
    collector.enable_run_metadata()
    try:
        result = call()
        return result, collector.export_run_metadata()
    finally:
        collector.disable_run_metadata()
        collector.disable_graph_collection()


def _drop_dead_servers(context: Any) -> None:
    """Removes servers that no longer answer from the cluster that the process is connected to.

    Metadata are collected from all of them, so that a single dead one fails every collection (seen
    with TensorFlow 2.21). Local work, and work on the other servers, continues.
    """
    server = getattr(context, "_server_def", None)
    if server is None or not all(map(context.__class__.__dict__.get, _OF_CLUSTERS)):
        return
    left = type(server)()
    left.CopyFrom(server)
    for job in list(left.cluster.job):
        if job.name == server.job_name:
            continue
        for task in list(job.tasks):
            if not context.check_alive(f"/job:{job.name}/replica:0/task:{task}"):
                del job.tasks[task]
        if not job.tasks:
            left.cluster.job.remove(job)
    if left != server:
        context.update_server_def(left)


_OF_CLUSTERS = ("check_alive", "update_server_def")
