"""The live views: thin anywidget models over the feed."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from nbfn import protocol
from nbfn.functions import TracedFunction
from nbfn.functions.segments.cell import TracedCell
from nbfn.sessions.feed import feed

_STATIC = Path(__file__).parent / "static"
BUNDLE = _STATIC / "widget.js"

_widgets: dict[str, OneWidget] = {}


class View(anywidget.AnyWidget):
    """Base of the widgets. The front end draws `snapshot`, a message of the protocol."""

    _esm = BUNDLE if BUNDLE.exists() else "export default {}"
    _css = _STATIC / "widget.css" if BUNDLE.exists() else ""

    view = traitlets.Unicode().tag(sync=True)
    target = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    snapshot = traitlets.Dict().tag(sync=True)


class OneWidget(View):
    """The live view of one traced function or cell, which it holds weakly."""

    def __init__(self, view: str, shown: TracedFunction | TracedCell) -> None:
        self._shown = weakref.ref(shown)
        super().__init__(view=view, target=shown.id, snapshot=self._now(shown))
        feed().subscribe(self.receive)

    def receive(self, message: protocol.Snapshot | protocol.Patch) -> None:
        """Takes what changed, if it concerns what is shown."""
        shown = self._shown()
        if not isinstance(message, protocol.Patch) or shown is None or feed().has_page:
            return
        state = self.snapshot["state"]
        own = {self.target, *state["functions"]}
        worked_on = {row.function for row in message.put.work.values()}
        changed = {*message.put.cells, *message.put.functions, *worked_on}
        if own & changed or message.removed.work:
            self.snapshot = self._now(shown)

    @staticmethod
    def _now(shown: TracedFunction | TracedCell) -> dict[str, Any]:
        return feed().snapshot_of(shown).model_dump(mode="json")

    def close(self) -> None:
        """Stops updating; views that are displayed keep what they show."""
        feed().unsubscribe(self.receive)
        super().close()


class SessionWidget(View):
    """The live view of everything that is traced in this kernel."""

    def __init__(self) -> None:
        super().__init__(view="session")
        feed().subscribe(self.receive)

    def receive(self, _: protocol.Snapshot | protocol.Patch) -> None:
        """Takes what changed."""
        if not feed().has_page:
            self.snapshot = feed().snapshot().model_dump(mode="json")


_session_widget: SessionWidget | None = None


def function_widget(function: TracedFunction) -> OneWidget:
    """The one widget of a function; it ends with the function."""
    return _widget_of("function", function)


def cell_widget(cell: TracedCell) -> OneWidget:
    """The one widget of a traced cell; it ends with the cell."""
    return _widget_of("cell", cell)


def _widget_of(view: str, shown: TracedFunction | TracedCell) -> OneWidget:
    widget = _widgets.get(shown.id)
    if widget is None:
        widget = _widgets[shown.id] = OneWidget(view, shown)
        weakref.finalize(shown, _end, shown.id)
    return widget


def session_widget() -> SessionWidget:
    """The one widget of the session."""
    global _session_widget
    if _session_widget is None:
        _session_widget = SessionWidget()
    return _session_widget


def widget_view(widget: View) -> dict[str, Any]:
    """The MIME entry that shows a widget."""
    data, _ = _as_pair(widget._repr_mimebundle_())
    view = "application/vnd.jupyter.widget-view+json"
    return {view: data[view]} if view in data else {}


def _as_pair(bundle: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if isinstance(bundle, tuple):
        return bundle
    return bundle or {}, {}


def _end(id: str) -> None:
    widget = _widgets.pop(id, None)
    if widget is not None:
        feed().unsubscribe(widget.receive)
