"""The parts of the session that are outlines of rows: retraces by cause, and devices."""

from __future__ import annotations

from typing import Any

import pytest

from nbfn import protocol
from nbfn.outlines.outline import Outline, advice
from nbfn.outlines.session_outline import SessionState, devices_outline, retraces_outline
from tests.harness.rows import function

TOTALS = protocol.Totals(traces=1)


def retrace(number: int, code: Any, path: str | None, **values: Any) -> protocol.RetraceRecord:
    cause = protocol.CauseRecord(code=code, path=path, sentence=f"why {number}")
    given: dict[str, Any] = {"function": "f", "trace_seconds": 0.2, "time": number} | values
    return protocol.RetraceRecord(
        id=f"r{number}", trace="t", number=number, causes=[cause], nearest=[], **given
    )


def outline(*retraces: protocol.RetraceRecord, total: int = 0) -> Outline:
    rows = protocol.Rows(
        functions={"f": function("f", "step"), "g": function("g", "predict")},
        retraces={each.id: each for each in retraces},
    )
    return retraces_outline(SessionState(rows, protocol.Totals(retraces=total)))


@pytest.mark.parametrize(
    ("remedy", "says"), [(None, ""), (protocol.RemedyRecord(sentence="Pad it"), "Pad it")]
)
def test_retraces_are_counted_by_function_and_cause_the_costliest_first(
    remedy: protocol.RemedyRecord | None, says: str
) -> None:
    at = protocol.CodePlace(id="c", execution_count=9, line=2)
    found = outline(
        retrace(1, "shape", "images"),
        retrace(2, "dtype", "labels", function="g", trace_seconds=3),
        retrace(3, "shape", "images", cell=at, remedy=remedy),
    )
    (table,) = found.record().tables
    rows = [[getattr(cell, "text", cell) for cell in row] for row in table.rows]
    assert rows == [
        ["predict", "dtype of `labels`", "1", "3 s", "unknown place", *[""] * bool(says)],
        ["step", "shape of `images`", "2", "400 ms", "In [9], line 2", *[says] * bool(says)],
    ]
    assert getattr(found.status, "text", "") == "`step` retraced last: why 3"


@pytest.mark.parametrize(
    ("code", "path", "says"),
    [
        ("alias", "target", "one variable by two names"),
        ("stale", "margin", "`margin` has changed"),
        ("python_value", "n", "value of `n`"),
        ("xla_compile", None, "compiled by XLA"),
        ("export", None, "export"),
    ],
)
def test_a_kind_of_cause_is_words(code: Any, path: str | None, says: str) -> None:
    (table,) = outline(retrace(1, code, path)).tables
    assert getattr(table.rows[0][1], "text", "") == says


def test_each_row_says_what_to_do_until_it_is_settled() -> None:
    remedy = protocol.RemedyRecord(sentence="Relax it", code="f.relax()")
    (row,) = outline(retrace(1, "shape", "x", remedy=remedy)).record().tables[0].rows
    assert getattr(row[-1], "code", None) == "f.relax()"
    (row,) = outline(retrace(1, "shape", "x", remedy=remedy, settled=True)).record().tables[0].rows
    assert row[-1] == "settled: its trace has been replaced"
    assert outline(retrace(1, "shape", "x"), total=5).lines == ["4 older retraces not listed"]
    assert outline().lines == ["no call has retraced"]


def test_devices_say_what_they_hold() -> None:
    later = devices_outline(SessionState(protocol.Rows(), TOTALS))
    assert later.lines == ["listed when the cell has ended"]
    none = devices_outline(SessionState(protocol.Rows(), protocol.Totals()))
    assert none.lines == ["listed once a function has been traced"]
    variable = protocol.VariableRecord(
        id="v", name="w", shape=[250], dtype="float32", device="CPU:0", nbytes=1000, trainable=True
    )
    devices = {
        name: protocol.DeviceRecord(id=f"/device:{name}", kind=name[:3], name=name)
        for name in ("CPU:0", "GPU:0")
    }
    tensor = variable.model_copy(update={"id": "t", "kind": "tensor"})
    state = protocol.Rows(devices=devices, variables={"v": variable, "t": tensor})
    outline = devices_outline(SessionState(state, TOTALS.model_copy(update={"variables": 3})))
    assert outline.tables[0].rows == [("CPU:0", "CPU", "1", "1 kB"), ("GPU:0", "GPU", "0", "")]
    assert outline.lines == ["without 2 variables of which no row is kept"]


def test_a_remedy_without_code_is_a_sentence_and_no_link() -> None:
    cell = protocol.CodePlace(id="c", execution_count=1)
    plain = protocol.RemedyRecord(sentence="pass a tensor", code=None)
    assert advice(plain, cell) == "pass a tensor"
    put = advice(protocol.RemedyRecord(sentence="pass a tensor", code="f(x)"), cell)
    assert isinstance(put, protocol.Phrase)
    assert put.cell == cell
