"""Content of views, from which text, HTML and page records are rendered.

Text and HTML are deterministic: no ids or addresses; the only times are the session's totals. So a
saved notebook stays the same when nothing has changed. Times and sizes are for pages only.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal, Protocol

from nbfn import protocol
from nbfn.package import page_of_cause
from nbfn.protocol import Phrase
from nbfn.text import CauseLike, cut, reasons, visible

MAX_ROWS = 200
"""How many rows of a table are shown; the others are counted."""

MAX_NEWEST = 10
"""How many rows are shown of a table that grows with each run: the newest."""

PAGE_NEWEST = 50
"""How many of them a page gets, which shows them in steps."""

MAX_TREE = 1000
"""How many rows of a tree are shown."""

OPEN_TREE = 40
"""Trees with more rows than this are closed by default, except the outermost part."""

MAX_OPEN = 50
"""A table with more rows than this is closed by default where it cannot be shown in steps."""

MAX_CELL = 300
"""Maximum number of characters shown of a table cell."""

_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
_HANGING = "padding-left:1.5em;text-indent:-1.5em"
_INSIDE = "margin-left:1.2em"
_BRANCH = ' style="margin-left:1.2em"'
# Only JupyterLab and its kin have this variable.
_MUTED = "color:var(--jp-ui-font-color2,inherit);opacity:0.85"
_SIDES = "width:100%;max-width:72em;table-layout:fixed;overflow-wrap:anywhere"
# Colours that let a light and a dark page, and its text, shine through.
_BEFORE = ";background-color:rgba(255,80,70,0.16)"
_AFTER = ";background-color:rgba(50,170,80,0.18)"

Words = str | Phrase
"""Words, in which backticks enclose code; or words that lead to code, to a place or to a page."""


@dataclass(frozen=True)
class Table:
    """A table with a title, which folds. A plain one is shown without its empty columns.

    Attributes:
        title: What its rows are.
        header: The columns.
        rows: The cells of each row.
        total: How many rows there are, if `rows` are only the first of them.
        open: Whether it is open by default.
        kind: ``"sides"``: the last two columns are two sides of the same, to be compared.
            ``"code"``: the lines of a cell. ``"tree"``: rows may be parts of a row above; the first
            two columns are the name and what it is, and the other empty ones are left out.
        text_rows: How many rows the text has, which cannot fold.
        newest: How many rows are shown of one that grows with each run: the last; None for all.
        page_only: Columns that only pages have, from 0: times, sizes, what takes much room.
        details: Columns that pages show on demand where there is little room, from 0.
        page_rows: What pages have instead of the rows, if they show more.
        depths: How deep each row of a tree is.
        closed: Rows of a tree that are closed at first, however small it is; from 0.
    """

    title: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[Words]]
    total: int | None = None
    open: bool = False
    kind: Literal["plain", "sides", "code", "tree"] = "plain"
    text_rows: int = MAX_ROWS
    newest: int | None = None
    page_only: frozenset[int] = frozenset()
    details: Collection[int] = ()
    page_rows: Sequence[Sequence[Words]] | None = None
    depths: Sequence[int] = ()
    closed: Collection[int] = ()

    @property
    def count(self) -> int:
        """Number of rows, including those left out."""
        return len(self.rows) if self.total is None else self.total

    @property
    def shown(self) -> list[list[Words]]:
        """The rows of text and HTML."""
        rows = self.rows[:MAX_ROWS] if self.newest is None else self.rows[-self.newest :]
        return [[_clip(cell) for cell in self._stored_cells(row)] for row in rows]

    # It writes to `__dict__` directly, which a frozen dataclass allows.
    @functools.cached_property
    def _columns(self) -> list[int]:
        """The columns that pages have, from 0."""
        rows = self.rows if self.page_rows is None else self.page_rows
        every = range(len(self.header))
        if self.kind not in ("plain", "tree"):
            return list(every)
        always = 2 if self.kind == "tree" else 0
        return [n for n in every if n < always or any(row[n] != "" for row in rows)]

    def _stored_cells(self, row: Sequence[Words]) -> list[Words]:
        return [row[column] for column in self._columns if column not in self.page_only]

    def _omitted_text(self, shown: int) -> str:
        left = self.count - shown
        return f"and {left:,} {'more' if self.newest is None else 'earlier'}" if left else ""

    def text(self) -> list[str]:
        """As lines of plain text."""
        shown = self._tree() if self._is_tree else self.shown[: self.text_rows]
        header = [_text(name) for name in self._stored_cells(self.header)]
        rows = [header, *([_text(cell) for cell in row] for row in shown)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
        aligned = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        rest = self._omitted_text(len(shown))
        return [f"{self.title}:", *(f"  {line}" for line in aligned), *([f"  {rest}"] * bool(rest))]

    @property
    def _is_tree(self) -> bool:
        """Whether text and HTML have the tree; others have rows of their own."""
        return self.kind == "tree" and self.page_rows is None

    def _tree(self) -> list[list[Words]]:
        """Returns the rows of the text, indented; omits the deepest until the others fit."""
        deepest = max(self.depths, default=0)
        while deepest and sum(each <= deepest for each in self.depths) > self.text_rows:
            deepest -= 1
        rows = [
            [f"{'  ' * depth}{_text(name)}", *more]
            for depth, (name, *more) in zip(self.depths, self.rows, strict=False)
            if depth <= deepest
        ]
        return [[_clip(cell) for cell in self._stored_cells(row)] for row in rows[: self.text_rows]]

    def html(self) -> str:
        """As HTML that folds."""
        if self._is_tree:
            return "".join(self._branches())
        style = f' style="{_SIDES}"' if self.kind == "sides" else ""
        head = "".join(
            f'<th style="{_CELL}">{_html(name)}</th>' for name in self._stored_cells(self.header)
        )
        shown = self.shown
        body = "".join(f"<tr>{''.join(self._cells(row))}</tr>" for row in shown)
        table = f"<table{style}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return _folding(
            f"{escape(self.title)} ({self.count:,})",
            table + self._omitted_text(len(shown)),
            self.open and self.count <= MAX_OPEN,
        )

    def _cells(self, row: Sequence[Words]) -> Iterator[str]:
        styles = [_CELL] * len(row)
        if self.kind == "sides" and row[-2] != row[-1]:
            styles[-2] += _BEFORE if row[-2] else ""
            styles[-1] += _AFTER if row[-1] else ""
        for cell, style in zip(row, styles, strict=True):
            yield f'<td style="{style}">{_html(cell)}</td>'

    def _branches(self) -> Iterator[str]:
        """Yields nested HTML: name, type, then muted details."""
        shown, is_folded = self.rows[:MAX_TREE], len(self.rows) > OPEN_TREE
        path: list[str] = []
        for number, (row, depth) in enumerate(zip(shown, self.depths, strict=False)):
            while len(path) > depth:
                path.pop()
                yield "</details>"
            name, what, *more = [_text(cell) for cell in self._stored_cells(row)]
            title = escape("/".join([*path[1:], name] if depth else ["/"]), quote=True)
            text = escape(": ".join(part for part in (name, what) if part))
            text += "".join(
                f' <span style="{_MUTED}">{escape(each)}</span>' for each in more if each
            )
            is_part = [*self.depths, 0][number + 1] > depth
            if is_part:
                is_open = "" if is_folded and depth else " open"
                yield f'<details{is_open}{_BRANCH * bool(depth)}><summary title="{title}">'
                yield f"{text}</summary>"
                path.append(name)
            else:
                yield f'<div{_BRANCH} title="{title}">{text}</div>'
        yield "</details>" * len(path)
        yield self._omitted_text(len(shown))

    def record(self) -> protocol.PageTable:
        """Returns the record for pages."""
        grows = self.newest is not None
        every = self.rows if self.page_rows is None else self.page_rows
        most = MAX_ROWS if self.kind != "tree" else MAX_TREE
        rows = every[-PAGE_NEWEST:][::-1] if grows else every[:most]
        columns = self._columns
        return protocol.PageTable(
            title=self.title,
            header=[self.header[column] for column in columns],
            rows=[[_clip(row[column]) for column in columns] for row in rows],
            total=self.count + len(every) - len(self.rows),
            open=self.open,
            kind=self.kind,
            depths=list(self.depths[: len(rows)]),
            closed=sorted(each for each in self.closed if each < len(rows)),
            newest=grows,
            details=[i for i, column in enumerate(columns) if column in self.details],
        )


@dataclass(frozen=True)
class Outline:
    """A headline, sentences, tables, and outlines within it, which fold.

    Attributes:
        title: The headline.
        lines: Sentences below it.
        tables: Tables below those; empty ones are left out.
        groups: Outlines of its parts.
        open: Whether it is open by default, within another.
        diagram: A picture of what the tables say, for pages.
        verdict: What came of a check, if it is of one.
        call: What the last call was, of a function or a cell.
        status: A sentence that stands beside the title on pages, and below it in text.
        facts: Times and sizes, for pages.
        summary: Title of the collapsible section with facts, tables and groups.
    """

    title: str
    lines: Sequence[Words] = ()
    tables: Sequence[Table] = field(default_factory=tuple)
    groups: Sequence[Outline] = ()
    open: bool = False
    diagram: protocol.Diagram | None = None
    verdict: protocol.Verdict | None = None
    call: protocol.CallKind | None = None
    status: Words = ""
    facts: Sequence[Words] = ()
    summary: str = ""

    def text(self) -> str:
        """As plain text."""
        lines = [line for line in (self.status, *self.lines, self.summary) if line]
        parts = [_sign(self.verdict) + self.title, *(f"  {_text(line)}" for line in lines)]
        for table in self.tables:
            if table.rows:
                parts += ["", *table.text()]
        for group in self.groups:
            parts += ["", *(f"  {line}".rstrip() for line in group.text().splitlines())]
        return visible("\n".join(parts))

    def html(self) -> str:
        """As HTML without scripts and style sheets; every text is escaped."""
        return visible(f"<div>{_title(self)}{self._inner()}</div>")

    def _inner(self) -> str:
        lines = [line for line in (self.status, *self.lines) if line]
        shown = "".join(f'<div style="{_HANGING}">{_html(line)}</div>' for line in lines)
        parts = [table.html() for table in self.tables if table.rows]
        parts += [
            _folding(
                _title(group),
                f'<div style="{_INSIDE}">{group._inner()}</div>',
                group.open,
            )
            for group in self.groups
        ]
        inner = "".join(parts)
        if not self.summary:
            return shown + inner
        return shown + (
            _folding(self.summary, inner, False) if inner else f"<div>{self.summary}</div>"
        )

    def record(self) -> protocol.Page:
        """Returns the record for pages."""
        return protocol.Page(
            title=self.title,
            call=self.call,
            status=self.status or None,
            lines=list(self.lines),
            facts=list(self.facts),
            summary=self.summary or None,
            tables=[table.record() for table in self.tables if table.rows],
            groups=[group.record() for group in self.groups],
            open=self.open,
            diagram=self.diagram,
            verdict=self.verdict,
        )


class RemedyLike(Protocol):
    """A remedy, as the functions have it or as a record."""

    @property
    def sentence(self) -> str:
        """The advice."""

    @property
    def code(self) -> str | None:
        """Python that works when pasted into a cell."""


def advice(remedy: RemedyLike | None, cell: protocol.CodePlace | None = None) -> Words:
    """Returns a remedy as words: with code for the cell that needs it, or a sentence; or none."""
    if remedy is None:
        return ""
    if remedy.code is None:  # with a cell it would be drawn as a link to that cell
        return remedy.sentence
    return Phrase(text=remedy.sentence, code=remedy.code, cell=cell)


def reason(causes: Sequence[CauseLike], before: str = "", after: str = "") -> Phrase:
    """Joins causes, linked to the documentation of the first."""
    text = before + reasons(causes) + after
    return Phrase(text=text, page=page_of_cause(causes[0].code) if causes else None)


def place(cell: protocol.CodePlace | None) -> Words:
    """Returns a place in user code as words that link to it."""
    return place_text(cell) if cell is None else Phrase(text=place_text(cell), cell=cell)


def place_text(cell: protocol.CodePlace | None) -> str:
    """Returns a place in user code as text, such as ``In [3], line 2``."""
    if cell is not None and cell.execution_count is not None:
        name = f"In [{cell.execution_count}]"
    elif cell is not None and (cell.file or cell.id):
        name = cell.file or "this cell"
    else:
        return "unknown place"
    return name if cell.line is None else f"{name}, line {cell.line}"


def _title(outline: Outline) -> str:
    return f"<strong>{_sign_html(outline.verdict)}{markup(outline.title)}</strong>"


SIGNS: dict[protocol.Verdict | None, tuple[str, str]] = {
    "passed": ("✓", "#2da44e"),
    "failed": ("✗", "#e5534b"),
    "refused": ("⊘", "#e5534b"),
    "unverified": ("?", "#c69026"),
}
"""Mark and colour of each verdict; the colours suit light and dark pages."""


def _sign(verdict: protocol.Verdict | None) -> str:
    return f"{SIGNS[verdict][0]} " if verdict else ""


def _sign_html(verdict: protocol.Verdict | None) -> str:
    if verdict is None:
        return ""
    sign, colour = SIGNS[verdict]
    return f'<span style="color:{colour}">{sign}</span> '


def _clip(words: Words) -> Words:
    if isinstance(words, str):
        return cut(words, MAX_CELL)
    if isinstance(words, Phrase) and words.page is not None:
        return words.model_copy(update={"text": cut(words.text, MAX_CELL)})
    return words


def _text(words: Words) -> str:
    if isinstance(words, str):
        return words
    if words.code is None:
        return _sign(words.verdict) + words.text
    return f"{words.text}: {'; '.join(words.code.splitlines())}"


def _html(words: Words) -> str:
    if isinstance(words, str):
        return markup(words)
    shown = _sign_html(words.verdict) + markup(words.text)
    if words.hint is not None:
        shown = f'<span title="{escape(words.hint)}">{shown}</span>'
    if words.page is not None and words.page.startswith("https:"):
        shown = f'<a href="{escape(words.page)}" target="_blank" rel="noopener">{shown}</a>'
    if words.code is None:
        return shown
    code = escape(words.code)
    return (
        f"{shown}: <code>{code}</code>"
        if "\n" not in code
        # `pre` would inherit the indent of `_HANGING`.
        else f'{shown}:<pre style="text-indent:0">{code}</pre>'
    )


def markup(line: str) -> str:
    """Returns a sentence as HTML: escaped, with text between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(line))


def _folding(summary: str, inner: str, is_open: bool) -> str:
    return f"<details{' open' * is_open}><summary>{summary}</summary>{inner}</details>"
