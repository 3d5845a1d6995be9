"""The report of a run, made of records alone."""

from __future__ import annotations

import json
from pathlib import Path

from nbfn.command.notebook_run import NotebookCell, NotebookRun
from nbfn.command.run_report import html_of
from nbfn.protocol import CodePlace
from tests.harness.html import Page
from tests.harness.rows import trace


def record(**reported: object) -> NotebookRun:
    made = NotebookRun(Path("a.ipynb"), "python3", cells=[NotebookCell(1, "x = 1", 1)])
    made.collected.take({"put": {}, "removed": {}, "totals": {}, "tensorflow": "2.21"} | reported)
    return made


def test_nothing_that_has_ended_is_shown_as_running() -> None:
    run = {
        "id": "run-1",
        "cell": {"id": "a"},
        "first": 1,
        "last": 1,
        "running": True,
        **dict.fromkeys(("time", "end", "seconds", "tracing", "graph", "longest"), 1.0),
    }
    work = {"id": "w", "kind": "trace", "name": "f", "sentence": "tracing f: 3 s", "seconds": 3}
    page = Page(html_of(record(put={"runs": {"run-1": run}, "work": {"w": work}})))
    state = json.loads(page.scripts["nbfn-traits"])["snapshot"]["state"]
    assert state["work"] == {}
    (ended,) = state["runs"].values()
    assert (ended["running"], ended["interrupted"]) == (False, 1)


def test_each_cell_of_the_notebook_says_what_it_made_and_how_long_it_took() -> None:
    made = record()
    long = "%%time\nfor x in data:\n    f(x)"
    made.cells = [
        NotebookCell(1, "x = '<b>'", 1, 0.25),
        NotebookCell(2, long, 2, 61.0, "ValueError"),
        NotebookCell(3, "y = 2"),
    ]
    traces = [
        trace(f"t{n}", "f").model_copy(update={"cell": CodePlace(execution_count=2)}) for n in "ab"
    ]
    made.collected.state.traces.update({each.id: each for each in traces})
    html = html_of(made)
    text = Page(html).text
    for row in (
        "In [1] x = '<b>' 250 ms",
        "In [2] %%time for x in data: %%time for x in data: f(x) raised ValueError, as its tag "
        "allows 2 1 min 1 s",
        "not run y = 2 –",
    ):
        assert row in text, text
    assert 'id="in-2"' in html


def test_an_export_is_the_page_of_the_kernel() -> None:
    long = ", ".join(f"a_long_name_{n}: float32[None, {n}]" for n in range(30))
    table = {
        "title": "signatures",
        "header": ["name", "inputs and outputs", "in a fresh process"],
        "rows": [["f", long, {"text": "computes the <same>", "verdict": "passed"}]],
        "total": 1200,
        "open": True,
    }
    page = {"title": "exported to /a/b", "lines": ["`a<b`"], "tables": [table], "groups": []}
    made = record()
    made.export_path = Path("<b>m<")
    made.export = {
        "page": page | {"open": False, "verdict": "passed"},
        "nbytes": 65900,
        "seconds": 61.0,
    }
    text = Page(html_of(made)).text
    for said in (
        "✓ exported to <b>m< 65.9 kB · 1 min 1 s",
        "a<b",
        "signatures (1,200)",
        f"f {long} ✓ computes the <same>",
        "and 1,199 more",
    ):
        assert said in text
