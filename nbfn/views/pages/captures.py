"""What traces captured, as an outline."""

from __future__ import annotations

from nbfn.functions.traces.capture import Captures
from nbfn.modules.module.rows import show_bytes
from nbfn.text import count
from nbfn.views.function import captures_table
from nbfn.views.outline import Outline


def captures_outline(captures: Captures, title: str | None = None) -> Outline:
    """What the page of captures says; without a title of its own, it is their number."""
    said = count(len(captures), "capture")
    sizes = [each.nbytes for each in captures if each.nbytes is not None]
    if sizes:
        said += f", {show_bytes(sum(sizes))}"
    lines = [
        f"`{each.name}` no longer exists; only its trace refers to it"
        for each in captures
        if not each.is_alive
    ]
    table = captures_table(captures, open=True)
    if title is None:
        return Outline(said, lines, (table,))
    return Outline(title, [said, *lines], (table,))
