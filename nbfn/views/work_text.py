"""Work that is under way, as text and HTML; shown while it lasts, and never stored."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nbfn.protocol import WorkRecord

_WIDTH = 20
"""Characters of a bar in text."""


def work_text(work: Sequence[WorkRecord]) -> str:
    """Returns one line for each piece of work."""
    return "\n".join(_line(row) for row in work)


def work_html(work: Sequence[WorkRecord]) -> str:
    """Returns the same as HTML with bars; all text is escaped."""
    return f'<div role="status">{"".join(map(_element, work))}</div>'


def _line(row: WorkRecord) -> str:
    share = _share(row)
    if share is None:
        return row.sentence
    full = int(share * _WIDTH)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {row.sentence}"


def _element(row: WorkRecord) -> str:
    share = _share(row)
    value = "" if share is None else f' value="{share:.3f}"'
    label = escape(row.name, quote=True)
    return (
        f'<div><progress{value} aria-label="{label}" style="vertical-align:middle"></progress> '
        f"<span>{escape(row.sentence)}</span></div>"
    )


def _share(row: WorkRecord) -> float | None:
    if row.done is None or not row.total:
        return None
    return min(1.0, row.done / row.total)
