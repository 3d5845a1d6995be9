"""Renders a live view as a self-contained page, without a kernel or network.

The page only needs a browser with scripts. It is built from a record, without TensorFlow.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from nbfn import protocol
from nbfn.package import __version__

STATIC = Path(__file__).parent / "views" / "static"
"""Folder of the built bundle of the views."""

# `blob:`, because `_SCRIPT` imports the bundles from objects in memory: the page has no server.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' blob:; "
    "img-src data: blob:"
)
"""Content security policy: the page loads and sends nothing."""

_SCRIPT = """
const text = id => document.getElementById(id).textContent;
const load = source => import(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})));
const traits = JSON.parse(text('nbfn-traits'));
const listeners = {};
const model = {
  get: name => traits[name],
  on: (event, listener) => (listeners[event] ??= new Set()).add(listener),
  off: (event, listener) => listeners[event]?.delete(listener),
  send: ({ type }) => {
    if (type === 'request_pictures') {
      const message = { type: 'pictures', source: text('nbfn-pictures') };
      setTimeout(() => listeners['msg:custom']?.forEach(listener => listener(message)));
    }
  }
};
const el = document.getElementById('nbfn-view');
const { default: widget } = await load(text('nbfn-widget'));
widget.render({ model, el });
document.getElementById('nbfn-fallback').remove();
"""


def is_built() -> bool:
    """Returns whether the front end is built; in a source tree, ``make`` builds it."""
    return all((STATIC / name).exists() for name in ("widget.js", "widget.css", "pictures.js"))


def fragment(snapshot: protocol.SnapshotMessage, fallback: str) -> str:
    """Renders the view of a session as HTML with its scripts, for a page with `POLICY`.

    `fallback` is shown where scripts do not run.
    """
    traits = {"view": "session", "target": None, "snapshot": snapshot.model_dump(mode="json")}
    return "".join(
        (
            f"<style>{_file('widget.css')}</style>",
            f'<div id="nbfn-fallback">{fallback}</div><div id="nbfn-view"></div>',
            _data("nbfn-traits", json.dumps(traits | {"kept": True}), "application/json"),
            _data("nbfn-widget", _file("widget.js"), "text/plain"),
            _data("nbfn-pictures", _file("pictures.js"), "text/plain"),
            f'<script type="module">{_SCRIPT}</script>',
        )
    )


def document(snapshot: protocol.SnapshotMessage, title: str, fallback: str) -> str:
    """Renders a page with the view of a session; `fallback` is shown where scripts do not run."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>body {{ font: 14px/1.5 system-ui, sans-serif; margin: 24px auto; max-width: 960px;
  padding: 0 16px; }}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{fragment(snapshot, fallback) if is_built() else fallback}
<footer><p>nbfn {escape(__version__)}</p></footer>
</body>
</html>
"""


def _file(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _data(id: str, text: str, type: str) -> str:
    """Renders a text for a script of the page to read; the text cannot close the element."""
    # JSON allows this form of `<`. The bundles need none: esbuild writes `<\/script` in their texts
    # (0.28).
    safe = text.replace("<", "\\u003c") if type.endswith("json") else text
    return f'<script type="{type}" id="{id}">{safe}</script>'
