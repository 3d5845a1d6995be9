"""The live views for hosts without nbfn's own extension: thin anywidget models over a feed."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import anywidget
import traitlets

from nbfn import protocol
from nbfn.functions.calls.record import Observed
from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.watching.watched_object import WatchedObject
from nbfn.sessions.messages.feed import Feed, feed
from nbfn.sessions.messages.records import parts_of
from nbfn.standalone import STATIC, is_built

BUNDLE = STATIC / "widget.js"
PICTURES = STATIC / "pictures.js"

_widgets: dict[str, View] = {}

_metadata: dict[str, Any] = {}
"""What anywidget gave last; it is the same for all widgets."""

MAX_GRAPHS = 10
"""Maximum number of graphs kept for pages that draw them again; each may be megabytes."""

_graphs: deque[GraphWidget] = deque()

MAX_ENDED = 50
"""Maximum number of widgets kept of objects that no longer exist."""

_ended: deque[View] = deque()


class _Widget(anywidget.AnyWidget):
    """Base class: loads the bundle of the views, and on demand that of the pictures."""

    _esm = BUNDLE if is_built() else "export default {}"
    _css = STATIC / "widget.css" if is_built() else ""

    view = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Answers a page that looks at a picture."""
        if content == {"type": "request_pictures"}:
            source = PICTURES.read_text(encoding="utf-8")
            self.send(protocol.Pictures(source=source).model_dump(mode="json"))


class GraphWidget(_Widget):
    """The picture of a graph, alone or on a page; it does not change."""

    graph = traitlets.Dict().tag(sync=True)
    page = traitlets.Dict(None, allow_none=True).tag(sync=True)


class View(_Widget):
    """A view. The front end draws `snapshot`, and what the patches that follow it change."""

    target = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    snapshot = traitlets.Dict().tag(sync=True)

    def __init__(self, view: str, target: str | None, source: Feed) -> None:
        self._source = source
        super().__init__(view=view, target=target)
        source.subscribe(self.receive, targets=[] if target is None else [target])
        if source is not feed():
            feed().subscribe(self._flush)

    def receive(self, message: protocol.SnapshotMessage | protocol.Patch | protocol.Pages) -> None:
        """Takes a message of its feed."""
        if isinstance(message, protocol.SnapshotMessage):
            self.snapshot = message.model_dump(mode="json")
        elif isinstance(message, protocol.Pages) or not feed().has_page:
            self.send(message.model_dump(mode="json"))

    def close(self) -> None:
        """Stops updating; what is displayed stays."""
        self._source.unsubscribe(self.receive)
        feed().unsubscribe(self._flush)
        super().close()

    def _flush(self, _: protocol.SnapshotMessage | protocol.Patch) -> None:
        self._source.flush()

    def _on_message(self, widget: Any, content: Any, buffers: Any) -> None:
        """Answers a page that has missed a part of the state, or that shows an outline."""
        if not self._source.answer(self.receive, content):
            super()._on_message(widget, content, buffers)


def live_widget(view: str, shown: Observed | TracedCell | WatchedObject | None) -> View:
    """Returns the one widget of a function, cell or object, or of the session if None."""
    if shown is None:
        if view not in _widgets:
            _widgets[view] = View(view, None, feed())
        return _widgets[view]
    if shown.id not in _widgets:
        # Not when an object ends: that may be on any thread, in the middle of anything.
        while len(_ended) > MAX_ENDED:
            _ended.popleft().close()
        own = weakref.ref(shown)

        def scope() -> tuple[list[Any], list[Any]]:
            alive = own()
            functions = [] if alive is None else list(parts_of(alive))
            return functions, [alive] if isinstance(alive, TracedCell) else []

        _widgets[shown.id] = View(view, shown.id, Feed(scope, environment=feed().environment))
        weakref.finalize(shown, _end, shown.id).atexit = False
    return _widgets[shown.id]


def graph_widget(graph: protocol.GraphRecord, page: protocol.Page | None = None) -> GraphWidget:
    """Returns a widget that shows a graph and its page; closes the oldest of many."""
    widget = GraphWidget(
        view="graph" if page is None else "page",
        graph=graph.model_dump(mode="json", exclude_none=True),
        page=None if page is None else page.model_dump(mode="json", exclude_none=True),
    )
    _graphs.append(widget)
    if len(_graphs) > MAX_GRAPHS:
        _graphs.popleft().close()
    return widget


def widget_view(widget: _Widget) -> dict[str, Any]:
    """Returns the MIME entry that shows a widget."""
    # Data and metadata; None only of a widget without a view (anywidget 0.11.0).
    bundle: Any = widget._repr_mimebundle_() or ({}, {})
    data, metadata = bundle
    _metadata.clear()
    _metadata.update(metadata)
    view = "application/vnd.jupyter.widget-view+json"
    return {view: data[view]} if view in data else {}


def widget_metadata() -> dict[str, Any]:
    """Returns the metadata of a widget's MIME entry. In Colab: where its host is loaded from."""
    return dict(_metadata)


def _end(id: str) -> None:
    """Stops updating the widget of a deleted object; its last state stays displayed."""
    widget = _widgets.pop(id, None)
    if widget is not None:
        feed().unsubscribe(widget._flush)
        _ended.append(widget)
