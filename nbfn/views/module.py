"""A module as a tree of its submodules and variables, as HTML; as text it is its `str`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from nbfn.modules.module.rows import Row
from nbfn.sessions.contents.model import Model, first
from nbfn.text import data_size, tensor_type

HTML_ROWS = 1000
_OPEN_ROWS = 40
"""Trees with more rows than this start with their submodules folded."""
_MUTED = "color:var(--jp-ui-font-color2,inherit);opacity:0.85"
_BRANCH = "margin-left:1.2em"


def tree_html(model: Model) -> str:
    """The tree as HTML that folds, without scripts and style sheets; every text is escaped."""
    shown, left = first(model.rows, HTML_ROWS)
    parts = [
        f"<strong>{escape(model.title)}</strong> "
        f'<span style="{_MUTED}">{escape(model.sizes)}</span>',
        *_branches(model, shown, folded=len(shown) > _OPEN_ROWS),
        *(f'<div style="{_MUTED}">{escape(line)}</div>' for line in left),
    ]
    return f'<div style="font-family:var(--jp-code-font-family,monospace)">{"".join(parts)}</div>'


def _branches(model: Model, rows: Sequence[Row], folded: bool) -> Iterator[str]:
    depth = 0  # how many modules are open
    for row in rows:
        while depth > row.depth:
            yield "</details>"
            depth -= 1
        yield _branch(row, model.training(row), folded)
        depth += row.kind == "module"
    yield "</details>" * depth


def _branch(row: Row, training: Sequence[str], folded: bool) -> str:
    path = escape("/".join(row.path) or "/", quote=True)
    details = [text for text in (*_details(row), *training) if text]
    told = "".join(f' <span style="{_MUTED}">{escape(text)}</span>' for text in details)
    if row.kind == "variable":
        return (
            f'<div style="{_BRANCH}" title="{path}">{escape(row.name)}: '
            f"{escape(tensor_type(row.dtype, row.shape))}{told}</div>"
        )
    is_open = "" if folded and row.path else " open"
    style = f' style="{_BRANCH}"' if row.path else ""
    return f'<details{is_open}{style}><summary title="{path}">{escape(row.heading)}{told}</summary>'


def _details(row: Row) -> Iterator[str]:
    if row.kind == "variable":
        if row.label != "params":
            yield row.label
        elif not row.trainable:
            yield "frozen"
    elif row.gives or row.takes:
        yield f"{row.takes} → {row.gives}"
    if row.same_as is not None:
        yield f"the same as {'/'.join(row.same_as) or '/'}"
    elif row.nbytes:
        yield data_size(row.nbytes)
