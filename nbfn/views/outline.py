"""What a view says, before it becomes text, HTML or a record for the page: they never disagree.

Everything here is deterministic: no ids, addresses, or times but where the session's time went, so
that a saved notebook stays the same when nothing has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from nbfn import protocol
from nbfn.functions.traces.cause import Cause, Remedy, reasons
from nbfn.protocol import Phrase
from nbfn.sessions.records import cell_of
from nbfn.site import Site
from nbfn.text import cut, visible

MAX_ROWS = 200
"""How many rows of a table are shown; the others are counted."""

MAX_NEWEST = 10
"""How many rows are shown of a table that grows with each run: the newest."""

MAX_OPEN = 50
"""Where it cannot be shown in steps, a table with more rows than this is folded at first."""

MAX_CELL = 300
"""So many characters of a cell are shown."""

_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
_HANGING = "padding-left:1.5em;text-indent:-1.5em"
_INSIDE = "margin-left:1.2em"
_SIDES = "width:100%;max-width:72em;table-layout:fixed;overflow-wrap:anywhere"
# Colours that let a light and a dark page, and its text, shine through.
_BEFORE = ";background-color:rgba(255,80,70,0.16)"
_AFTER = ";background-color:rgba(50,170,80,0.18)"

Words = str | Phrase
"""Words, in which backticks enclose code; or words that lead to code, to a place or to a page."""


@dataclass(frozen=True)
class Table:
    """A table with a title, which folds.

    Attributes:
        title: What its rows are.
        header: The columns.
        rows: The cells of each row.
        total: How many rows there are, if `rows` are only the first of them.
        open: Whether it is unfolded at first.
        compares: Whether the last two columns are two sides of the same, to be compared.
        text_rows: How many rows the text has, which cannot fold.
        newest: How many rows are shown of one that grows with each run: the last; None for all.
    """

    title: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[Words]]
    total: int | None = None
    open: bool = False
    compares: bool = False
    text_rows: int = MAX_ROWS
    newest: int | None = None

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows) if self.total is None else self.total

    @property
    def shown(self) -> list[list[Words]]:
        """The rows to show."""
        rows = self.rows[:MAX_ROWS] if self.newest is None else self.rows[-self.newest :]
        return [[_clipped(cell) for cell in row] for row in rows]

    @property
    def rest(self) -> str:
        """The rows that are not shown, in words; empty if all are."""
        return self._rest(len(self.shown))

    def _rest(self, shown: int) -> str:
        left = self.count - shown
        return f"and {left:,} {'more' if self.newest is None else 'earlier'}" if left else ""

    def text(self) -> list[str]:
        """As lines of plain text."""
        shown = self.shown[: self.text_rows]
        rows = [self.header, *([_text(cell) for cell in row] for row in shown)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.header))]
        aligned = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        rest = self._rest(len(shown))
        return [f"{self.title}:", *(f"  {line}" for line in aligned), *([f"  {rest}"] * bool(rest))]

    def html(self) -> str:
        """As HTML that folds."""
        style = f' style="{_SIDES}"' if self.compares else ""
        head = "".join(f'<th style="{_CELL}">{escape(cell)}</th>' for cell in self.header)
        body = "".join(f"<tr>{''.join(self._cells(row))}</tr>" for row in self.shown)
        return _folding(
            f"{escape(self.title)} ({self.count:,})",
            f"<table{style}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{self.rest}",
            self.open and self.count <= MAX_OPEN,
        )

    def _cells(self, row: Sequence[Words]) -> Iterator[str]:
        styles = [_CELL] * len(row)
        if self.compares and row[-2] != row[-1]:
            styles[-2] += _BEFORE if row[-2] else ""
            styles[-1] += _AFTER if row[-1] else ""
        for cell, style in zip(row, styles, strict=True):
            yield f'<td style="{style}">{_html(cell)}</td>'

    def record(self) -> protocol.PageTable:
        """What the page gets of it."""
        return protocol.PageTable(
            title=self.title,
            header=list(self.header),
            rows=self.shown,
            total=self.count,
            open=self.open,
            compares=self.compares,
        )


@dataclass(frozen=True)
class Outline:
    """A headline, sentences, tables, and outlines within it, which fold.

    Attributes:
        title: The headline.
        lines: Sentences below it.
        tables: Tables below those; empty ones are left out.
        groups: Outlines of its parts.
        open: Whether it is unfolded at first, within another.
        diagram: A picture of what the tables say, for pages.
        verdict: What came of a check, if it is of one.
    """

    title: str
    lines: Sequence[Words] = ()
    tables: Sequence[Table] = field(default_factory=tuple)
    groups: Sequence[Outline] = ()
    open: bool = False
    diagram: protocol.Diagram | None = None
    verdict: protocol.Verdict | None = None

    def text(self) -> str:
        """As plain text."""
        parts = [_sign(self.verdict) + self.title, *(f"  {_text(line)}" for line in self.lines)]
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
        parts = [f'<div style="{_HANGING}">{_html(line)}</div>' for line in self.lines]
        parts += [table.html() for table in self.tables if table.rows]
        parts += [
            _folding(
                _title(group),
                f'<div style="{_INSIDE}">{group._inner()}</div>',
                group.open,
            )
            for group in self.groups
        ]
        return "".join(parts)

    def record(self) -> protocol.Page:
        """What the page gets of it."""
        return protocol.Page(
            title=self.title,
            lines=list(self.lines),
            tables=[table.record() for table in self.tables if table.rows],
            groups=[group.record() for group in self.groups],
            open=self.open,
            diagram=self.diagram,
            verdict=self.verdict,
        )


def advice(remedy: Remedy | None, site: Site | None = None) -> Words:
    """A remedy as words that can be put to use, beside the cell that needs it; empty for none."""
    if remedy is None:
        return ""
    return Phrase(
        text=remedy.sentence, code=remedy.code, cell=None if site is None else cell_of(site)
    )


def reason(causes: Sequence[Cause]) -> Phrase:
    """Causes as words that lead to the page on how the first of them comes about."""
    return Phrase(text=reasons(causes), page=causes[0].page if causes else None)


def judged(text: str, verdict: protocol.Verdict) -> Phrase:
    """Words that judge."""
    return Phrase(text=text, verdict=verdict)


def place(site: Site) -> Phrase:
    """A place in the user's code as words that lead there."""
    return Phrase(text=str(site), cell=cell_of(site))


def _title(outline: Outline) -> str:
    return f"<strong>{_coloured(outline.verdict)}{_marked(outline.title)}</strong>"


_SIGNS: dict[protocol.Verdict | None, tuple[str, str]] = {
    "passed": ("✓", "#2da44e"),
    "failed": ("✗", "#e5534b"),
    "refused": ("⊘", "#e5534b"),
    "unproven": ("?", "#c69026"),
}
"""How a verdict is seen; the colours can be told from light and dark pages."""


def _sign(verdict: protocol.Verdict | None) -> str:
    return f"{_SIGNS[verdict][0]} " if verdict else ""


def _coloured(verdict: protocol.Verdict | None) -> str:
    if verdict is None:
        return ""
    sign, colour = _SIGNS[verdict]
    return f'<span style="color:{colour}">{sign}</span> '


def _clipped(words: Words) -> Words:
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
        return _marked(words)
    said = _coloured(words.verdict) + _marked(words.text)
    if words.page is not None and words.page.startswith("https:"):
        said = f'<a href="{escape(words.page)}" target="_blank" rel="noopener">{said}</a>'
    if words.code is None:
        return said
    code = escape(words.code)
    return (
        f"{said}: <code>{code}</code>"
        if "\n" not in code
        else f'{said}:<pre style="text-indent:0">{code}</pre>'
    )


def _marked(line: str) -> str:
    """A sentence, escaped, with what stands between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(line))


def _folding(summary: str, inner: str, is_open: bool) -> str:
    return f"<details{' open' * is_open}><summary>{summary}</summary>{inner}</details>"
