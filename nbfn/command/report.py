"""The report of a run: one HTML file that needs no kernel and no network.

Its tables need no script; where one runs, the views of the session can be explored too.

``report.html`` is its template, which escapes all that it is given; each of its sections is a
block. What the sections say comes from the records alone, so that a report of a kernel that died
says what was known.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from nbfn import protocol, standalone
from nbfn._version import __version__
from nbfn.command.record import Record
from nbfn.documentation import documentation
from nbfn.outlines.cell import outline_of
from nbfn.outlines.outline import place_text
from nbfn.outlines.session import SECTIONS, session_outline
from nbfn.sessions.feed import LIMITS
from nbfn.text import count, data_size, duration

MAX_ROWS = 1000
"""So many rows has a table, and so many entries a list; the rest is counted."""

_MEANINGS = {name: field.description for name, field in protocol.Totals.model_fields.items()}

_SIGNS = {"passed": "✓", "failed": "✗", "refused": "⊘", "unproven": "?"}


def html_of(record: Record) -> str:
    """The report as HTML."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "count": count,
        "duration": duration,
        "marked": _marked,
        "place": place_text,
        "size": data_size,
    }
    known = record.known
    functions, cells = known.functions[:MAX_ROWS], known.cells[:MAX_ROWS]
    shown = [*(each.id for each in functions), *(each.id for each in cells)]
    outlines = {id: outline_of(known.state, id).record() for id in shown}
    sections = {
        name: section.draw(known.state, known.totals).record() for name, section in SECTIONS.items()
    }
    still = session_outline(known.now, known.totals).html()
    return environment.get_template("report.html").render(
        record=record,
        known=known,
        state=known.state,
        functions=known.functions,
        totals=known.totals,
        meanings=_MEANINGS,
        outlines=outlines,
        sections=sections,
        traced_in=_by_cell(known.state.traces.values()),
        retraced_in=_by_cell(known.state.retraces.values()),
        longest=max((cell.seconds or 0 for cell in record.cells), default=0) or 1,
        exported=_exported(record),
        phrase=protocol.Phrase,
        signs=_SIGNS,
        max_rows=MAX_ROWS,
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        version=__version__,
        policy=standalone.POLICY,
        session=Markup(
            standalone.fragment(_snapshot(record, outlines), still)
            if standalone.is_built()
            else still
        ),
    )


def _exported(record: Record) -> protocol.Page | None:
    """What the kernel says of the model that it has written."""
    page = (record.export or {}).get("page")
    return None if page is None else protocol.Page.model_validate(page)


def _snapshot(record: Record, outlines: dict[str, protocol.Page]) -> protocol.Snapshot:
    """What the views of the page draw: the newest rows, as many as a page gets of a kernel."""
    state = record.known.now
    tables = {
        name: dict(list(table.items())[-LIMITS.get(name, MAX_ROWS) :]) for name, table in state
    }
    # The kernel has ended, and with it what was under way when it was asked last.
    tables["work"] = {}
    tables["runs"] = {id: _ended(run) for id, run in state.runs.items()}
    rows, totals = protocol.State.model_validate(tables), record.known.totals
    pages: dict[str, protocol.Page | None] = {
        name: section.draw(rows, totals).record() for name, section in SECTIONS.items()
    }
    pages |= {id: page for id, page in outlines.items() if id in rows.functions | rows.cells}
    return protocol.Snapshot(
        epoch="report",
        seq=0,
        nbfn=record.nbfn or __version__,
        tensorflow=record.known.tensorflow,
        documentation=documentation(),
        totals=totals,
        state=rows,
        pages=pages,
    )


def _ended(run: protocol.RunRecord) -> protocol.RunRecord:
    """A run as it is when its kernel has ended."""
    return run.model_copy(update={"running": False, "interrupted": 1}) if run.running else run


def _marked(sentence: str) -> Markup:
    """A sentence, escaped, with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(sentence))))


def _by_cell(rows: object) -> Counter[int | None]:
    """How many traces or retraces the calls of each cell made, by its execution count."""
    return Counter(row.cell.execution_count for row in rows if row.cell)  # type: ignore[attr-defined]
