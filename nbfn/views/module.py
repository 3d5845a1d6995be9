"""A module as a tree of its submodules and variables, as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from nbfn.modules import Module
from nbfn.modules.module.rows import Row, as_text, show_bytes, show_tensor
from nbfn.text import count

HTML_ROWS = 1000
TEXT_ROWS = 100
_OPEN_ROWS = 40
"""Trees with more rows than this start with their submodules folded."""
_MUTED = "color:var(--jp-ui-font-color2,inherit);opacity:0.85"
_BRANCH = "margin-left:1.2em"


class ModuleTree:
    """The tree of one module; nothing in it changes when the module does.

    Attributes:
        has_variables: Whether there is a variable in it.
    """

    def __init__(self, module: Module) -> None:
        """Reads the module's tree, and computes nothing."""
        self._title = type(module).__name__
        self._rows: Sequence[Row] = ()
        self._problem = ""
        try:
            self._rows = module.describe()
        except Exception as error:  # setup is the user's, and a display never fails
            self._problem = f"setup cannot run now: {type(error).__name__}: {error}"
        self.has_variables = any(row.kind == "variable" for row in self._rows)

    def text(self) -> str:
        """As plain text, indented."""
        shown, left = _first(self._rows, TEXT_ROWS)
        return "\n".join([f"{self._title}: {self._sizes()}", as_text(shown), *left])

    def html(self) -> str:
        """As HTML that folds, without scripts and style sheets; every text is escaped."""
        shown, left = _first(self._rows, HTML_ROWS)
        parts = [
            f"<strong>{escape(self._title)}</strong> "
            f'<span style="{_MUTED}">{escape(self._sizes())}</span>',
            *_branches(shown, folded=len(shown) > _OPEN_ROWS),
            *(f'<div style="{_MUTED}">{escape(line)}</div>' for line in left),
        ]
        return (
            f'<div style="font-family:var(--jp-code-font-family,monospace)">{"".join(parts)}</div>'
        )

    def _sizes(self) -> str:
        if self._problem:
            return self._problem
        variables = [r for r in self._rows if r.kind == "variable" and r.same_as is None]
        if not variables:
            return "unbound or without variables"
        known = all(row.nbytes is not None for row in variables)
        size = f", {show_bytes(sum(row.nbytes or 0 for row in variables))}" if known else ""
        trained = sum(row.trainable for row in variables)
        return f"{count(len(variables), 'variable')}, {trained} trainable{size}"


def _first(rows: Sequence[Row], limit: int) -> tuple[Sequence[Row], list[str]]:
    left = len(rows) - limit
    if left <= 0:
        return rows, []
    return rows[:limit], [f"... and {left:,} more; module['path'] shows a part of the tree"]


def _branches(rows: Sequence[Row], folded: bool) -> Iterator[str]:
    depth = 0  # how many modules are open
    for row in rows:
        while depth > row.depth:
            yield "</details>"
            depth -= 1
        yield _branch(row, folded)
        depth += row.kind == "module"
    yield "</details>" * depth


def _branch(row: Row, folded: bool) -> str:
    path = escape("/".join(row.path) or "/", quote=True)
    details = [text for text in _details(row) if text]
    told = "".join(f' <span style="{_MUTED}">{escape(text)}</span>' for text in details)
    if row.kind == "variable":
        return (
            f'<div style="{_BRANCH}" title="{path}">{escape(row.name)}: '
            f"{escape(show_tensor(row.dtype, row.shape))}{told}</div>"
        )
    is_open = "" if folded and row.path else " open"
    style = f' style="{_BRANCH}"' if row.path else ""
    return (
        f"<details{is_open}{style}>"
        f'<summary title="{path}">{escape(row.name)}: {escape(row.label)}{told}</summary>'
    )


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
        yield show_bytes(row.nbytes)
