"""What a view says, before it becomes text or HTML, so that the two never disagree.

Everything here is deterministic: no times, ids or addresses, so that a saved notebook stays the
same when nothing has changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

MAX_ROWS = 200
"""How many rows of a table are shown; the others are counted."""

_STYLE = "text-align:left;padding:2px 12px 2px 0"
_HANGING = "padding-left:1.5em;text-indent:-1.5em"


@dataclass(frozen=True)
class Table:
    """A table with a title.

    Attributes:
        title: What its rows are.
        header: The columns.
        rows: The cells of each row, as text.
        total: How many rows there are, if `rows` are only the first of them.
    """

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    total: int | None = None

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows) if self.total is None else self.total

    @property
    def shown(self) -> Sequence[tuple[str, ...]]:
        """The rows to show."""
        return self.rows[:MAX_ROWS]

    @property
    def rest(self) -> str:
        """The rows that are not shown, in words; empty if all are."""
        left = self.count - len(self.shown)
        return f"and {left:,} more" if left else ""


@dataclass(frozen=True)
class Outline:
    """A headline, sentences, and tables.

    Attributes:
        title: The headline.
        lines: Sentences below it.
        tables: Tables below those; empty ones are left out.
    """

    title: str
    lines: Sequence[str] = ()
    tables: Sequence[Table] = field(default_factory=tuple)

    def text(self) -> str:
        """As plain text."""
        parts = [self.title, *(f"  {line}" for line in self.lines)]
        for table in self.tables:
            if table.rows:
                parts += ["", *_text_table(table)]
        return "\n".join(parts)

    def html(self) -> str:
        """As HTML without scripts and style sheets; every text is escaped."""
        parts = [f"<strong>{escape(self.title)}</strong>"]
        parts += [f'<div style="{_HANGING}">{_marked(line)}</div>' for line in self.lines]
        parts += [_html_table(table) for table in self.tables if table.rows]
        return f"<div>{''.join(parts)}</div>"


def _marked(line: str) -> str:
    """A sentence, escaped, with what stands between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(line))


def _text_table(table: Table) -> list[str]:
    rows = [table.header, *table.shown]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.header))]
    lines = [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [f"{table.title}:", *lines, *([f"  {table.rest}"] if table.rest else [])]


def _html_table(table: Table) -> str:
    head = "".join(f'<th style="{_STYLE}">{escape(cell)}</th>' for cell in table.header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_STYLE}">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in table.shown
    )
    return (
        f"<details><summary>{escape(table.title)} ({table.count:,})</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{table.rest}</details>"
    )
