"""The report of a run: one HTML file that needs neither kernel nor network.

Its tables need no scripts; with scripts, the views of the session can also be explored.

``report.html`` is its template, which escapes its inputs; each section is a block. All content
comes from the records, so the report of a kernel that died shows what was known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from nbfn import protocol, standalone
from nbfn.command.notebook_run import NotebookCell, NotebookRun
from nbfn.outlines.cell_outline import outline_of
from nbfn.outlines.outline import SIGNS, Table, Words, markup, place_text
from nbfn.outlines.session_outline import MEANINGS, SECTIONS, SessionState, session_outline
from nbfn.package import __version__
from nbfn.sessions.messages.feed import LIMITS
from nbfn.text import count, data_size, duration

MAX_ROWS = 1000
"""Maximum number of rows in a table or list; the others are counted."""


def html_of(record: NotebookRun) -> str:
    """Renders the report as HTML."""
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
        "marked": lambda sentence: Markup(markup(sentence)),
        "place": place_text,
        "size": data_size,
    }
    collected = record.collected
    functions, cells = collected.functions[:MAX_ROWS], collected.cells[:MAX_ROWS]
    ids = [*(each.id for each in functions), *(each.id for each in cells)]
    outlines = {id: outline_of(collected.state, id).record() for id in ids}
    state = SessionState(collected.state, collected.totals)
    sections = {name: SECTIONS[name].draw(state).record() for name in ("retraces", "devices")}
    fallback = session_outline(SessionState(collected.now, collected.totals)).html()
    return environment.get_template("report.html").render(
        record=record,
        collected=collected,
        state=collected.state,
        functions=collected.functions,
        totals=collected.totals,
        meanings=MEANINGS,
        outlines=outlines,
        sections=sections,
        cells=_cells_table(record),
        longest=max((cell.seconds or 0 for cell in record.cells), default=0) or 1,
        exported=_export_page(record),
        phrase=protocol.Phrase,
        signs={verdict: sign for verdict, (sign, _) in SIGNS.items()},
        max_rows=MAX_ROWS,
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        version=__version__,
        policy=standalone.POLICY,
        session=Markup(
            standalone.fragment(_snapshot(record, outlines), fallback)
            if standalone.is_built()
            else fallback
        ),
    )


def _export_page(record: NotebookRun) -> protocol.Page | None:
    """Returns the kernel's page about the exported model."""
    page = (record.export or {}).get("page")
    return None if page is None else protocol.Page.model_validate(page)


def _snapshot(record: NotebookRun, outlines: dict[str, protocol.Page]) -> protocol.SnapshotMessage:
    """Returns the snapshot for the views: the newest rows, with the limits of a page."""
    state = record.collected.now
    tables = {
        name: dict(list(table.items())[-LIMITS.get(name, MAX_ROWS) :]) for name, table in state
    }
    # The kernel has ended, so no work and no cell is running.
    tables["work"] = {}
    ended = {"running": False, "interrupted": 1}
    tables["runs"] = {
        id: run.model_copy(update=ended) if run.running else run for id, run in state.runs.items()
    }
    rows, totals = protocol.Rows.model_validate(tables), record.collected.totals
    session_state = SessionState(rows, totals, users=SessionState(state, totals).captured_by)
    pages: dict[str, protocol.Page | None] = {
        name: section.draw(session_state).record() for name, section in SECTIONS.items()
    }
    pages |= {id: page for id, page in outlines.items() if id in rows.functions | rows.cells}
    return protocol.SnapshotMessage(
        epoch="report",
        seq=0,
        nbfn=record.nbfn or __version__,
        tensorflow=record.collected.tensorflow,
        totals=totals,
        state=rows,
        pages=pages,
    )


def _cells_table(record: NotebookRun) -> Table:
    """Returns the code cells of the notebook, one row each."""
    state = record.collected.state
    traces, retraces = _by_cell(state.traces), _by_cell(state.retraces)

    def row(cell: NotebookCell) -> tuple[Words, ...]:
        number = cell.execution_count
        name = "not run" if cell.seconds is None else "–"
        is_longer = cell.source.strip() != cell.title
        return (
            cell.label if number else name,
            protocol.Phrase(text=cell.title, code=cell.source if is_longer else None),
            f"raised {cell.allowed_error}, as its tag allows" if cell.allowed_error else "",
            f"{traces[number]:,}" if traces[number] else "",
            f"{retraces[number]:,}" if retraces[number] else "",
            duration(cell.seconds),
        )

    header = ("cell", "source", "", "traces", "retraces", "time")
    return Table("cells", header, [row(cell) for cell in record.cells])


def _by_cell(
    rows: Mapping[str, protocol.TraceRecord] | Mapping[str, protocol.RetraceRecord],
) -> Counter[int | None]:
    """Counts the traces or retraces by execution count of the calling cell."""
    return Counter(row.cell.execution_count for row in rows.values() if row.cell)
