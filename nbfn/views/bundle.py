"""What a notebook stores of a view.

nbfn's own entry, which its JupyterLab extension draws with or without a kernel; the live widget for
other hosts of widgets; HTML that needs no script; and plain text.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

from nbfn import protocol
from nbfn._version import __version__
from nbfn.functions import TracedFunction
from nbfn.functions.segments.cell import TracedCell
from nbfn.sessions.export.export import Export
from nbfn.sessions.load import LoadedSession
from nbfn.sessions.session import Session
from nbfn.views.cell import cell_outline
from nbfn.views.export import export_outline
from nbfn.views.function import function_outline
from nbfn.views.graph import GraphView
from nbfn.views.loaded import loaded_outline
from nbfn.views.outline import Outline
from nbfn.views.pages import page_of
from nbfn.views.session import session_outline

if TYPE_CHECKING:
    from nbfn.modules import Module


def function_bundle(function: TracedFunction) -> dict[str, Any]:
    """The MIME bundle of a traced function."""
    bundle = _static(function_outline(function)) | _saved("function", function)
    if needs_widget():
        from nbfn.views.widget import function_widget, widget_view

        bundle |= widget_view(function_widget(function))
    return bundle


def cell_bundle(cell: TracedCell) -> dict[str, Any]:
    """The MIME bundle of a cell in segments."""
    bundle = _static(cell_outline(cell)) | _saved("cell", cell)
    if needs_widget():
        from nbfn.views.widget import cell_widget, widget_view

        bundle |= widget_view(cell_widget(cell))
    return bundle


def session_bundle(session: Session) -> dict[str, Any]:
    """The MIME bundle of the session."""
    bundle = _static(session_outline(session)) | _saved("session", None)
    if needs_widget():
        from nbfn.views.widget import session_widget, widget_view

        bundle |= widget_view(session_widget())
    return bundle


def loaded_bundle(session: LoadedSession) -> dict[str, Any]:
    """The MIME bundle of a loaded model."""
    return _static(loaded_outline(session))


def export_bundle(export: Export) -> dict[str, Any]:
    """The MIME bundle of a written model, which does not change any more."""
    return _static(export_outline(export))


def module_bundle(module: Module) -> dict[str, Any]:
    """The MIME bundle of a module: its tree; of one without variables, text is its ``repr``."""
    from nbfn.views.module import ModuleTree

    tree = ModuleTree(module)
    text = tree.text() if tree.has_variables else repr(module)
    return {"text/plain": text, "text/html": tree.html()}


def result_bundle(result: Any) -> dict[str, Any]:
    """The MIME bundle of a result that has a page; text is its ``repr``."""
    return outline_bundle(page_of(result)) | {"text/plain": repr(result)}


def outline_bundle(outline: Outline | GraphView) -> dict[str, Any]:
    """The MIME bundle of an outline: a page, HTML and text. Of a graph there is no page."""
    bundle = _static(outline)
    if isinstance(outline, Outline) and _in_a_kernel():
        from nbfn.sessions.feed import feed

        now = feed()
        made_by = protocol.Snapshot(
            epoch=now.epoch, seq=now.seq, nbfn=__version__, state=protocol.State()
        )
        held = protocol.SavedView(view="page", page=outline.record(), snapshot=made_by)
        bundle[protocol.MIME_TYPE] = held.model_dump(mode="json", exclude_none=True)
    return bundle


def _saved(view: Literal["function", "cell", "session"], shown: Any) -> dict[str, Any]:
    """The entry that nbfn's JupyterLab extension draws, live or from what it holds."""
    if not _in_a_kernel():
        return {}
    from nbfn.sessions.feed import feed

    snapshot = feed().saved_snapshot() if shown is None else feed().saved_snapshot_of(shown)
    target = None if shown is None else shown.id
    held = protocol.SavedView(view=view, target=target, snapshot=snapshot)
    return {protocol.MIME_TYPE: held.model_dump(mode="json")}


def _static(outline: Outline | GraphView) -> dict[str, Any]:
    return {"text/plain": outline.text(), "text/html": outline.html()}


def needs_widget() -> bool:
    """Whether an output needs a widget to be live.

    It does in a kernel to which no page of nbfn's own is attached. A notebook keeps the widget of
    an output but not what it shows, and some hosts draw it before anything else: an error.
    """
    if not _in_a_kernel():
        return False
    from nbfn.sessions.feed import feed
    from nbfn.views.widget import BUNDLE

    return BUNDLE.exists() and not feed().has_page


def _in_a_kernel() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None
