"""How the lines of a run are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from nbfn.command.collected import CollectedRecords
from nbfn.command.execution import _Client
from nbfn.command.notebook_run import NotebookCell, NotebookRun
from nbfn.command.progress_printer import ProgressPrinter
from nbfn.notebook.progress_display import DISPLAY
from nbfn.text import duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0004, "0.4 ms"),
        (0.0381, "38 ms"),
        (0.00002, "20 µs"),
        (0.9996, "1 s"),
        (3.14, "3.14 s"),
        (61, "1 min 1 s"),
        (125, "2 min 5 s"),
        (7800, "2 h 10 min"),
    ],
)
def test_times(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# first\nx = 1\ny = 2", "x = 1"),
        ("# only", "# only"),
        ("%%tf_function\n\ndef f(x):\n    return x", "%%tf_function def f(x):"),
    ],
)
def test_what_stands_for_a_cell(source: str, title: str) -> None:
    assert NotebookCell(1, source).title == title


def test_a_cell_that_goes_on_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    record = NotebookRun(
        Path("a.ipynb"), "python3", cells=[NotebookCell(1, "x"), NotebookCell(2, "y")]
    )
    ProgressPrinter(record).still_runs(record.cells[1], 61.2, "tracing f, 3 s")
    assert capsys.readouterr().out == "[2/2] cell 2   1 min 1 s  still runs: tracing f, 3 s\n"


def test_what_a_cell_displays_is_not_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NotebookClient, "process_message", lambda *_: None)
    cell = new_code_cell("display(f)")
    client = _Client(new_notebook(cells=[cell]))
    for display, text in ((f"{DISPLAY}1", "training, 3 s"), ("nbfn-2", "f(x)\n  not called yet")):
        content = {"data": {"text/plain": text}, "transient": {"display_id": display}}
        client.process_message({"content": content}, cell, 0)
    assert client.doing == "training, 3 s"


def test_of_a_dropped_function_everything_is_kept_and_of_an_evicted_trace_nothing() -> None:
    def row(id: str) -> dict[str, object]:
        numbers = dict.fromkeys(("calls", "hits", "traces", "retraces", "nbytes"), 1)
        times = {"trace_seconds": 0.1, "run_seconds": 0.1}
        return {"id": id, "name": id, "parameters": "()", **numbers, **times}

    def trace(id: str, function: str) -> dict[str, object]:
        numbers = dict.fromkeys(("number", "hits", "operations", "nbytes"), 1)
        times = {"trace_seconds": 0.1, "run_seconds": 0.1, "time": 1.0}
        cause = {"code": "first_trace", "sentence": "first call"}
        rest = {"signature": [], "cause": cause, "captures": []}
        return {"id": id, "function": function, **numbers, **times, **rest}

    known = CollectedRecords()
    functions = {id: row(id) for id in ("function-1", "function-2")}
    traces = {"trace-1": trace("trace-1", "function-1"), "trace-2": trace("trace-2", "function-2")}
    reported = {"put": {}, "removed": {}, "totals": {}, "tensorflow": "2.21"}
    known.take(reported | {"put": {"functions": functions, "traces": traces}})
    removed = {"functions": ["function-1"], "traces": ["trace-1", "trace-2"]}
    known.take(reported | {"removed": removed})
    assert [each.id for each in known.now.functions.values()] == ["function-2"]
    assert [each.id for each in known.functions] == ["function-1", "function-2"]
    assert list(known.state.traces) == ["trace-1"]
    assert known.retrace_count == 2
