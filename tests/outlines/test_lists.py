"""What the rows of lists say."""

from __future__ import annotations

import pytest

from nbfn import protocol
from nbfn.outlines.lists import cell_row, function_row, model_note
from tests.harness.rows import function


def test_a_function_says_its_traces_and_what_it_is_sorted_by() -> None:
    row = function_row(function("f", "step", calls=1200, traces=1))
    assert (row.title, row.note) == ("step(x)", "1 trace")
    assert function_row(function("f", "step (In [3])")).title == "step(x) (In [3])"
    assert row.measures == ["1,200 calls", "1 trace", "1 retrace", "1 s", "1 s", "9 B"]


@pytest.mark.parametrize(
    ("speedup", "note"), [(None, "4.1 ms"), (3.95, "4.1 ms · 4×"), (1234.5, "4.1 ms · 1,230×")]
)
def test_a_cell_says_how_long_it_takes_and_what_its_functions_cost(
    speedup: float | None, note: str
) -> None:
    cell = protocol.TracedCellRecord(
        id="c",
        name="train",
        cell=protocol.CodePlace(id="a", execution_count=6),
        source="",
        lines={},
        sentence="",
        python=[],
        segments=[],
        functions=[],
        graph_statements=0,
        statements=0,
        seconds=0.0041,
        eager_seconds=0.0,
        runs=2,
        speedup=speedup,
    )
    row = cell_row(cell, [(2, 0.5, 1000), (1, 1.0, 500)])
    assert (row.place, row.note) == ("In [6]", note)
    assert row.measures == ["2 runs", "3 traces", "4.1 ms", "1.5 s", "1.5 kB"]
    assert cell_row(cell, []).measures[1] == "0 traces"
    numbered = cell.model_copy(update={"name": "train (In [6])"})
    assert cell_row(numbered, []).place == ""  # the name says it


def test_a_model_says_its_class_and_size() -> None:
    assert model_note("_Net", 1200) == "Net, 1,200 parameters"
    assert model_note("Dense", None) == "Dense, no variables yet"
