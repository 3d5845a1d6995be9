"""The variables of a session: flat in text, a tree on pages."""

from __future__ import annotations

from typing import Any

from nbfn import protocol
from nbfn.outlines.outline import Outline
from nbfn.outlines.session_outline import MEANINGS, SECTIONS, SessionState, session_outline
from tests.harness.rows import function, trace, variable

KERNEL, BIAS, STEP = "model/block/dense/kernel", "model/block/dense/bias", "adam/step"

ROWS = protocol.Rows(
    functions={"f": function("f", "train"), "g": function("g", "predict")},
    traces={
        each.id: each
        for each in (trace("t1", "f", KERNEL, STEP), trace("t2", "g", KERNEL), trace("t3", "f"))
    },
    variables={
        each.name: each
        for each in (
            variable(KERNEL),
            variable(BIAS, nbytes=None),
            variable(STEP, trainable=False, nbytes=1000),
            variable("table", kind="tensor"),
        )
    },
)
TOTALS = protocol.Totals(variables=3, traces=3)


def variables_outline(rows: protocol.Rows, totals: protocol.Totals) -> Outline:
    return SECTIONS["variables"].draw(SessionState(rows, totals))


def test_pages_have_a_tree_in_which_what_leads_nowhere_else_is_one_row() -> None:
    tree, others = variables_outline(ROWS, TOTALS).record().tables
    assert tree.kind == "tree"
    assert list(zip(tree.depths, tree.rows, strict=True)) == [
        (0, ["model/block/dense", "2 variables", "8 B", "", ""]),
        (1, ["kernel", "float32[2]", "8 B", "CPU:0", "train, predict"]),
        (1, ["bias", "float32[2]", "", "CPU:0", ""]),
        (0, ["adam", "1 variable", "1 kB", "", ""]),
        (1, ["step", "float32[2], not trainable", "1 kB", "CPU:0", "train"]),
    ]
    assert tree.closed == [3]  # nobody trains what an optimizer keeps
    assert [row[0] for row in others.rows] == ["table"]
    assert not others.open


def test_text_has_a_row_for_each_variable_by_its_whole_name() -> None:
    text = variables_outline(ROWS, TOTALS).text()
    assert "  model/block/dense/kernel  float32[2]       CPU:0   train, predict\n" in text
    assert "2 variables" not in text
    assert "<th" in variables_outline(ROWS, TOTALS).html()


def test_variables_without_rows_are_counted() -> None:
    outline = variables_outline(ROWS, protocol.Totals(variables=1003))
    assert "and 1,000 more" in outline.text()
    tree = outline.record().tables[0]
    assert tree.total - len(tree.rows) == 1000
    assert variables_outline(protocol.Rows(), protocol.Totals()).lines == [
        "the notebook has no variables"
    ]


def test_a_session_counts_what_its_tables_list() -> None:
    counted = {"functions": 2, "variables": 3, "traces": 3, "calls": 6, "hits": 2, "retraces": 2}
    totals = protocol.Totals(models=1, cells=1, **counted)
    model = protocol.ModelRecord(id="net", label="_Net", note="", parameters=2)
    adam = protocol.ObjectRecord(id="opt", label="Adam")
    cell = protocol.TracedCellRecord(
        **dict.fromkeys(("id", "name", "source", "sentence"), "fit"),
        **dict.fromkeys(("graph_statements", "statements", "runs"), 1),
        **dict.fromkeys(("seconds", "eager_seconds"), 0.1),
        lines={},
        python=[],
        segments=[],
        draws=False,
        functions=["g"],
    )
    rows = ROWS.model_copy(
        update={"models": {"net": model}, "objects": {"opt": adam}, "cells": {"fit": cell}}
    )
    shown = SessionState(rows, totals, auto=True)
    text = session_outline(shown).text()
    assert text.startswith("session: 2 functions, 1 cell, 1 model, 3 variables\n")
    assert "%tf_auto` is on" in text
    assert "6 calls, 2 hits, 3 traces, 2 retraces, 0 ms to trace" in text
    for row in (
        "train(x)  2       3      1     1",
        "fit   2       3      1     1         fit",
        "net   Net",
        "opt   Adam",
    ):
        assert f"\n  {row}\n" in f"{text}\n", text
    page = SECTIONS["variables"].draw(shown).record()
    assert page.tables[-1].rows == [["opt", "Adam"]]


def test_the_line_of_totals_is_the_same_in_text_and_on_pages_and_says_what_it_counts() -> None:
    totals = protocol.Totals(calls=1200, hits=7, traces=3, trace_seconds=2, trace_nbytes=1500)
    page = SECTIONS["totals"].draw(SessionState(protocol.Rows(), totals, auto=True)).record()
    *counted, size = page.facts
    texts = [fact.text for fact in counted if isinstance(fact, protocol.Phrase)]
    assert texts == ["1,200 calls", "7 hits", "3 traces", "0 retraces", "2 s to trace"]
    assert size == protocol.Phrase(text="1.5 kB", hint="Graphs 1.5 kB, variables 0 B")
    assert "%tf_auto` is on" in str(page.lines)
    drawn = session_outline(SessionState(protocol.Rows(), totals))
    assert ", ".join(texts) in drawn.text()
    for fact in counted:
        assert isinstance(fact, protocol.Phrase)
        assert fact.hint in MEANINGS.values()
        assert f"{fact.text}: {fact.hint}" in drawn.html()
    assert SECTIONS["totals"].draw(SessionState(protocol.Rows(), protocol.Totals())).facts == []


def test_variables_say_all_functions_that_capture_them_though_few_traces_have_rows() -> None:
    shown = SessionState(ROWS, TOTALS, users=lambda: {BIAS: ["older"]})
    text = SECTIONS["variables"].draw(shown).text()
    assert "  model/block/dense/bias    float32[2]       CPU:0   older\n" in text


def test_a_session_says_where_the_time_of_its_cells_went() -> None:
    def run(id: str, **values: Any) -> protocol.RunRecord:
        given: dict[str, Any] = {"time": 0, "end": 4, "seconds": 4, "longest": 4, "graph": 2}
        return protocol.RunRecord(id=id, cell=protocol.CodePlace(), tracing=1, **given | values)

    runs = {each.id: each for each in (run("a", watched=2, copies=3), run("b", running=True))}
    totals = protocol.Totals(runs=2, run_seconds=8)
    text = session_outline(SessionState(protocol.Rows(runs=runs), totals)).text()
    assert (
        "8 s in 2 runs of cells: 25 % tracing, 50 % running graphs, 25 % Python and everything else"
    ) in text
    assert "copies between devices: 3 in 2 watched calls" in text
