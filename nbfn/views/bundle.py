"""What a notebook stores of a view.

nbfn's own entry, which its JupyterLab extension draws with or without a kernel; the live widget for
other hosts of widgets; HTML that needs no script; and plain text.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

from nbfn import protocol
from nbfn.functions import Trace, TracedFunction
from nbfn.functions.calls.operation_times import Times
from nbfn.functions.calls.placement import Run
from nbfn.functions.calls.record import Observed
from nbfn.functions.graphs.operations import graph_of
from nbfn.functions.retraces.diff import TraceDiff
from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.traces.cause import Retraces
from nbfn.functions.traces.trace import EvictedError, Traces
from nbfn.functions.watching.watched_function import WatchedFunction
from nbfn.functions.watching.watched_object import WatchedObject
from nbfn.modules.lifecycle.fields import is_module
from nbfn.outlines.outline import Outline
from nbfn.outlines.session_outline import session_outline
from nbfn.package import __version__
from nbfn.sessions.contents.model import Model, model_of
from nbfn.sessions.contents.model_tree import model_outline
from nbfn.sessions.export.export import Export
from nbfn.sessions.load import LoadedSession
from nbfn.sessions.messages.feed import feed
from nbfn.sessions.session import Session
from nbfn.standalone import is_built
from nbfn.views.export_outline import export_outline
from nbfn.views.graphs.expressions import record_in_notebook
from nbfn.views.graphs.graph_outline import graph_outline, title_of
from nbfn.views.graphs.merged import merged_record
from nbfn.views.graphs.timed import timed
from nbfn.views.loaded import loaded_outline
from nbfn.views.shown import page_of


def bundle_of(shown: Any) -> dict[str, Any]:
    """Returns the MIME bundle of a displayed object; the text of a result is its `repr`."""
    match shown:
        case WatchedObject():
            shown.refresh()
            return _live("function", shown, feed().outline_of(shown)) | {"text/plain": repr(shown)}
        case TracedFunction() | WatchedFunction():
            return _live("function", shown, feed().outline_of(shown))
        case TracedCell():
            return _live("cell", shown, feed().outline_of(shown))
        case LoadedSession():
            return outline_bundle(loaded_outline(shown))
        case Session():
            return _live("session", None, session_outline(shown.shown))
        case Export():
            return outline_bundle(export_outline(shown))
        case _ if is_module(shown):
            model = model_of(shown)
            return _model_bundle(model) | ({} if model.variables else {"text/plain": repr(shown)})
        case Model():
            return _model_bundle(shown)
        case Trace() if shown.relaxed_at == shown.hits:
            # What `f.relax()` says as the last line of a cell, where a remedy puts it.
            is_new = shown.cause.code == "relaxed"
            text = shown.cause.sentence if is_new else "the only trace, which stays as it is"
            return outline_bundle(Outline(f"{title_of(shown)}: {text}"))
        case Trace():
            try:
                return graph_bundle(shown)
            except EvictedError as error:
                return outline_bundle(Outline(title_of(shown), [str(error)]))
        case Traces() | Retraces() | Run():
            return outline_bundle(page_of(shown))
        case Times():
            return times_bundle(shown) | {"text/plain": repr(shown)}
    graph = merged_record(shown) if isinstance(shown, TraceDiff) and _is_in_kernel() else None
    return outline_bundle(page_of(shown), graph) | {"text/plain": repr(shown)}


def _model_bundle(model: Model) -> dict[str, Any]:
    return outline_bundle(model_outline(model)) | {"text/plain": str(model)}


def graph_bundle(trace: Trace, label: str | None = None) -> dict[str, Any]:
    """Returns the MIME bundle of a trace's graph: a picture, HTML and text.

    Args:
        trace: The trace.
        label: The notebook's name for the function, if it is shown.

    Raises:
        EvictedError: If the trace has left the cache.
    """
    graph, title = graph_of(trace), title_of(trace, label)
    bundle = _static(graph_outline(graph, title))
    if not _is_in_kernel():
        return bundle
    record = record_in_notebook(title, graph, trace)
    bundle |= _saved_entry(
        protocol.SavedView(view="graph", graph=record, snapshot=_kernel_snapshot())
    )
    if needs_widget():
        from nbfn.views.widget import graph_widget, widget_view

        bundle |= widget_view(graph_widget(record))
    return bundle


def times_bundle(times: Times, call: str | None = None) -> dict[str, Any]:
    """Returns the MIME bundle of a call's times: the slowest operations and the coloured graph."""
    return outline_bundle(*timed(times, call))


def outline_bundle(outline: Outline, graph: protocol.GraphRecord | None = None) -> dict[str, Any]:
    """Returns the MIME bundle of an outline: a page, a picture of its graph, HTML and text."""
    if not _is_in_kernel():
        return _static(outline)
    page = outline.record()
    view = protocol.SavedView(view="page", page=page, graph=graph, snapshot=_kernel_snapshot())
    bundle = _static(outline) | _saved_entry(view)
    if graph is not None and needs_widget():
        from nbfn.views.widget import graph_widget, widget_view

        bundle |= widget_view(graph_widget(graph, page))
    return bundle


def _kernel_snapshot() -> protocol.SnapshotMessage:
    """Returns a snapshot that only identifies the kernel that made a result."""
    now = feed()
    return protocol.SnapshotMessage(
        epoch=now.epoch, seq=now.seq, nbfn=__version__, state=protocol.Rows()
    )


def _saved_entry(view: protocol.SavedView) -> dict[str, Any]:
    return {protocol.MIME_TYPE: view.model_dump(mode="json", exclude_none=True)}


def _live(
    view: Literal["function", "cell", "session"],
    shown: Observed | TracedCell | WatchedObject | None,
    outline: Outline,
) -> dict[str, Any]:
    """Returns the MIME bundle of a live object: text, HTML, the extension's view and a widget."""
    bundle = _static(outline)
    if _is_in_kernel():
        now = feed()
        target = None if shown is None else shown.id
        snapshot = (
            now.saved_snapshot()
            if target is None
            else now.saved_snapshot_of(target, outline.record())
        )
        bundle |= _saved_entry(protocol.SavedView(view=view, target=target, snapshot=snapshot))
    if needs_widget():
        from nbfn.views.widget import live_widget, widget_view

        bundle |= widget_view(live_widget(view, shown))
    return bundle


def _static(outline: Outline) -> dict[str, Any]:
    return {"text/plain": outline.text(), "text/html": outline.html()}


def metadata_of(bundle: dict[str, Any]) -> dict[str, Any]:
    """Returns the metadata for a MIME bundle; without it Colab draws no widget."""
    if "application/vnd.jupyter.widget-view+json" not in bundle:
        return {}
    from nbfn.views.widget import widget_metadata

    return widget_metadata()


def needs_widget() -> bool:
    """Returns whether an output needs a widget to be live.

    A widget is needed if no page with nbfn's extension is attached. Notebooks save a widget without
    its state, and some hosts then show an error; an unattended run would save initial states.
    """
    if not _is_in_kernel() or not _is_attended():
        return False
    return is_built() and not feed().has_page


def _is_attended() -> bool:
    """Returns whether the running cell may be watched: its front end accepts input requests."""
    from IPython.core.getipython import get_ipython

    parent: Any = getattr(get_ipython(), "get_parent", dict)() or {}
    return bool(parent.get("content", {}).get("allow_stdin", True))


def _is_in_kernel() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None
