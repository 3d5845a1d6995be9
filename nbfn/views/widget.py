"""The live views: thin anywidget models over the feed."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from nbfn import protocol
from nbfn.functions import TracedFunction
from nbfn.sessions.feed import feed

_STATIC = Path(__file__).parent / "static"
BUNDLE = _STATIC / "widget.js"

_widgets: dict[str, FunctionWidget] = {}


class View(anywidget.AnyWidget):
    """Base of the widgets. The front end draws `snapshot`, a message of the protocol."""

    _esm = BUNDLE if BUNDLE.exists() else "export default {}"
    _css = _STATIC / "widget.css" if BUNDLE.exists() else ""

    view = traitlets.Unicode().tag(sync=True)
    target = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    snapshot = traitlets.Dict().tag(sync=True)


class FunctionWidget(View):
    """The live view of one traced function, which it holds weakly."""

    def __init__(self, function: TracedFunction) -> None:
        self._function = weakref.ref(function)
        super().__init__(
            view="function",
            target=function.id,
            snapshot=feed().snapshot_of(function).model_dump(mode="json"),
        )
        feed().subscribe(self.receive)

    def receive(self, message: protocol.Snapshot | protocol.Patch) -> None:
        """Takes what changed, if it concerns the function."""
        function = self._function()
        if not isinstance(message, protocol.Patch) or function is None:
            return
        worked_on = {row.function for row in message.put.work.values()}
        if self.target in {*message.put.functions, *worked_on} or message.removed.work:
            self.snapshot = feed().snapshot_of(function).model_dump(mode="json")

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
        self.snapshot = feed().snapshot().model_dump(mode="json")


_session_widget: SessionWidget | None = None


def function_widget(function: TracedFunction) -> FunctionWidget:
    """The one widget of a function; it ends with the function."""
    widget = _widgets.get(function.id)
    if widget is None:
        widget = _widgets[function.id] = FunctionWidget(function)
        weakref.finalize(function, _end, function.id)
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


def _end(function_id: str) -> None:
    widget = _widgets.pop(function_id, None)
    if widget is not None:
        feed().unsubscribe(widget.receive)
