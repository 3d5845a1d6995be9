"""The pages of results: what each says, how long ones fold, and what leads somewhere."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.calls.placement import Copy, PlacedOperation, Placement
from nbfn.functions.calls.value_summary import summarize
from nbfn.functions.retraces.diff import OperationChange
from nbfn.functions.traces.capture import Captures
from nbfn.outlines.function_outline import MEASURES, traces_outline
from nbfn.outlines.outline import MAX_CELL, MAX_OPEN, MAX_ROWS, Outline, Table
from nbfn.protocol import Page, Phrase
from nbfn.sessions.export.resources import ExportError
from nbfn.sessions.messages.feed import feed
from nbfn.views.bundle import bundle_of
from nbfn.views.shown import page_of

HOSTILE = "<img src=x onerror=alert(1)>&"


@pytest.fixture
def step() -> Any:
    weight = tf.Variable([1.0, 2.0])

    @nbfn.function
    def step(x, n=2):
        return x * weight * n

    step(tf.ones([3, 2]))
    step(tf.ones([4, 2]))
    return step


def rows(page: Page, title: str) -> list[list[str | Phrase]]:
    (table,) = (each for each in page.tables if each.title == title)
    return table.rows


def test_parts_and_code_are_escaped_and_fold_without_a_script() -> None:
    phrase = Phrase(text=HOSTILE, code=f"{HOSTILE}\n{HOSTILE}")
    inner = Outline(HOSTILE, [phrase], [Table(HOSTILE, (HOSTILE,), [(phrase,)])])
    html = Outline("title", groups=[inner]).html()
    assert "<img" not in html
    assert html.count("&lt;img") == 1 + 3 + 2 + 3
    assert html.count("<details>") == 2
    assert "<script" not in html
    assert "class=" not in html


def test_text_has_the_parts_indented() -> None:
    inner = Outline("inner", ["said"], [Table("rows", ("a", "b"), [("1", "2")])])
    assert Outline("outer", groups=[inner]).text() == (
        "outer\n\n  inner\n    said\n\n  rows:\n    a  b\n    1  2"
    )


def test_what_is_long_is_folded_and_counted() -> None:
    table = Table("rows", ("n",), [(str(n),) for n in range(1713)], open=True, text_rows=5)
    record = table.record()
    assert (len(record.rows), record.total, record.open) == (MAX_ROWS, 1713, True)
    assert table.text()[-2:] == ["  4", "  and 1,708 more"]
    assert "and 1,513 more" in table.html()
    assert "<details>" in table.html()
    short = Table("rows", ("n",), [("1",)] * MAX_OPEN, open=True)
    assert "<details open>" in short.html()
    (cell,) = Table("rows", ("n",), [("x" * 1000,)]).record().rows[0]
    assert len(str(cell)) == MAX_CELL


def test_sides_that_differ_are_marked() -> None:
    table = Table("t", ("what", "a", "b"), [("x", "1", "2"), ("y", "3", "3"), ("z", "", "4")])
    assert "background" not in table.html()
    compared = Table(table.title, table.header, table.rows, kind="sides").html()
    assert compared.count("background-color") == 3


def test_a_check_says_where(step: Any) -> None:
    assert page_of(step.check(tf.ones([3, 2]))).text() == (
        "✓ `step` does the same eagerly and traced\n  its result and 1 variable compared"
    )
    seen = []
    f = nbfn.function(lambda x: seen.append(1) or x)
    page = page_of(f.check(tf.ones([1]))).record()
    assert page.verdict == "failed"
    ((where, kind, what),) = rows(page, "differences")
    assert isinstance(where, Phrase)
    assert where.text.startswith("test_pages.py, line ")
    assert (kind, "seen" in str(what)) == ("effect", True)


def test_a_retrace_says_when_why_and_what_to_do(step: Any) -> None:
    step(tf.ones([5, 2]), n=3)
    outline = page_of(step.retraces[-1])
    page = outline.record()
    assert page.title.startswith("retrace 2 (")
    assert page.title.endswith(" ms to trace)")
    assert "`x`: shape was" in outline.text()
    assert [row[0] for row in rows(page, "differences")] == ["x", "n"]
    assert "step.relax()" in bundle_of(step.retraces[-1])["text/html"]


def test_an_explanation_has_its_remedy_as_code(step: Any) -> None:
    page = page_of(step.explain(tf.ones([9, 2]), n=5)).record()
    assert page.title == "would retrace"
    assert page.lines[-1].code == "step.relax()"
    assert rows(page, "differences") == [
        ["x", "shape", "[4, 2]", "[9, 2]"],
        ["n", "python value", "2", "5"],
    ]
    assert page_of(step.explain(tf.ones([9, 2]))).tables == ()
    hit = page_of(step.explain(tf.ones([3, 2])))
    assert hit.text() == "a hit\n  trace 1 would serve (x: float32[3, 2], n: int 2)"


def test_a_diff_stands_side_by_side(step: Any) -> None:
    step(tf.ones([4, 2]), n=3)
    page = page_of(nbfn.diff(step.traces[1], step.traces[2])).record()
    assert page.title == "trace 2 → trace 3"
    assert all(table.kind == "sides" for table in page.tables)
    assert page.tables[0].header == ["what", "trace 2", "trace 3"]
    assert rows(page, "made for") == [["n", "2", "3"]]
    assert rows(page, "constants")[0][1:] == ["2.0", "3.0"]
    assert "size" not in [table.title for table in page.tables]
    assert "do the same" in page_of(nbfn.diff(step, step)).text()

    other = tf.Variable([1.0, 2.0])

    @nbfn.function
    def more(x):
        return tf.exp(x * other) + other

    more(tf.ones([4, 2]))
    page = page_of(nbfn.diff(step, more)).record()
    assert rows(page, "captures") == [
        ["weight", "float32[2] on CPU:0", ""],
        ["other", "", "float32[2] on CPU:0"],
    ]
    assert ["Exp", "0", "1"] in rows(page, "operations by type")
    page = page_of(nbfn.diff(step.traces[0], more)).record()
    assert page.tables[0].header[1:] == ["first: trace 1", "second: trace 1"]


def test_long_inputs_are_shown_from_where_they_differ(step: Any) -> None:
    old, new = (", ".join(f"op_{n}" for n in range(200)) + f", {last}" for last in "ab")
    change = OperationChange("NoOp", "inputs", old, new)
    diff = dataclasses.replace(nbfn.diff(step.traces[0], step.traces[1]), changed=(change,))
    ((name, *sides),) = rows(page_of(diff).record(), "changed operations")
    assert name == "NoOp: inputs"
    assert sides == ["…97, op_198, op_199, a", "…97, op_198, op_199, b"]


def test_a_placement_goes_by_device() -> None:
    operations = [PlacedOperation(f"mul_{n}", "Mul", "CPU:0", "") for n in range(1700)]
    operations += [
        PlacedOperation("sum", "Sum", "CPU:0", "/device:GPU:0"),
        PlacedOperation("exp", "Exp", "CPU:1", "/job:localhost/device:CPU:1"),
    ]
    page = page_of(Placement(tuple(operations), (Copy("exp:0", "CPU:1", "CPU:0", 2048),)))
    record = page.record()
    assert record.title == "placement: 1,702 operations on 2 devices"
    assert rows(record, "not where it was asked for") == [["sum", "Sum", "/device:GPU:0", "CPU:0"]]
    assert rows(record, "copies between devices") == [["exp:0", "2 kB", "CPU:1", "CPU:0"]]
    assert [(group.title, group.open) for group in record.groups] == [
        ("CPU:0: 1,701 operations", False),
        ("CPU:1: 1 operation", False),
    ]
    assert rows(record.groups[0], "types") == [["Mul", "1,700", "mul_0"], ["Sum", "1", "sum"]]
    assert len(page.text().splitlines()) < 60
    assert len(record.model_dump_json()) < 20_000
    assert page_of(Placement((), ())).text().endswith("\n  no operation ran")


def test_captures_are_a_tuple_with_a_page(step: Any) -> None:
    captures = step.captures
    assert isinstance(captures, Captures)
    assert captures == tuple(captures)
    assert repr(captures) == "<1 capture>\n  weight: float32[2] on CPU:0"
    assert "weakref" not in repr(captures[0])
    assert repr(Captures(captures * 53)).splitlines()[50:] == [
        "  weight: float32[2] on CPU:0",
        "  ... and 3 more",
    ]
    page = page_of(captures).record()
    assert page.title == "1 capture, 8 B"
    assert rows(page, "captures") == [["weight", "float32[2]", "CPU:0", "variable", "8 B"]]
    assert "8 B  " not in page_of(captures).text()  # sizes are for pages


def test_a_suggestion_can_be_put_to_use(step: Any) -> None:
    page = page_of(step.suggest()).record()
    assert page.title == "`(tf.TensorSpec((None, 2), tf.float32), nbfn.PYTHON_VALUE)`"
    assert page.lines[0] == "covers traces 1 and 2"
    assert page.lines[1].code == "step.relax()"
    namespace = {"step": step}
    exec(page.lines[1].code, namespace)
    assert page_of(step.suggest()).lines == ["covers trace 3 alone"]


def test_what_is_settled_needs_no_remedy(step: Any) -> None:
    page = traces_outline(feed().rows_of(step, None), step.id).record()
    (retrace,) = rows(page, "retraces")
    assert retrace[2].code == "step.relax()"
    assert rows(page, "traces")[0][-1].text.startswith("test_pages.py, line ")
    step.relax()
    page = traces_outline(feed().rows_of(step, None), step.id).record()
    (table,) = (each for each in page.tables if each.title == "retraces")
    assert "cause" in table.header
    assert "remedy" not in table.header  # an empty column is left out


def test_a_watched_object_has_a_part_for_each_function() -> None:
    class Plain(tf.Module):
        @tf.function
        def one(self, x):
            return x + 1

        @tf.function
        def two(self, x):
            return x + 2

    plain = Plain()
    watched = nbfn.watch(plain)
    plain.one(tf.ones([2]))
    page = feed().outline_of(watched).record()
    assert page.title == "plain: 2 functions"
    assert [group.title for group in page.groups] == ["plain.one(x)", "plain.two(x)"]
    assert rows(page.groups[0], "traces")[0][1] == "x: float32[2]"
    kept = weakref.ref(plain)
    bundle = bundle_of(watched)
    del plain
    gc.collect()
    assert kept() is None
    assert "plain.one(x)" in bundle["text/html"]
    assert "it no longer exists" in feed().outline_of(watched).text()


def test_a_watched_object_is_followed_while_it_is_looked_at() -> None:
    class Plain(tf.Module):
        @tf.function
        def one(self, x):
            return x + 1

    plain = Plain()
    watched = nbfn.watch(plain)
    messages: list[Any] = []
    feed().subscribe(messages.append)
    try:
        feed().set_shown(messages.append, [watched.id])
        assert messages[-1].pages[watched.id].groups[0].summary == (
            "0 calls, 0 hits, 0 traces, 0 retraces"
        )
        plain.one(tf.ones([2]))
        feed().flush()
        assert messages[-1].pages[watched.id].groups[0].summary == (
            "1 call, 0 hits, 1 trace, 0 retraces"
        )
        id = watched.id
        del watched
        gc.collect()
        plain.one(tf.ones([3]))
        feed().flush()
        assert messages[-1].pages == {id: None}
    finally:
        feed().unsubscribe(messages.append)


def test_what_stands_against_an_export_comes_with_its_error(tmp_path: Any) -> None:
    @nbfn.function
    def g(x):
        return tf.py_function(lambda v: v, [x], tf.float32) + tf.random.normal([2])

    g(tf.ones([2]))
    with pytest.raises(ExportError) as raised:
        nbfn.export(tmp_path / "model", g)
    page = page_of(raised.value.problems).record()
    assert page == page_of(nbfn.preflight(g)).record()
    assert (page.title, page.verdict) == ("1 obstacle, 1 remark", "refused")
    assert [table.title for table in page.tables] == ["the export is refused", "remarks"]
    assert rows(page, "the export is refused")[0][0] == "`g`"
    fine = nbfn.preflight(nbfn.function(lambda x: x, input_signature=[tf.TensorSpec([])]))
    assert page_of(fine).text() == "✓ ready to export"


def test_text_is_what_the_result_says_of_itself(step: Any) -> None:
    for result in (step.explain(tf.ones([9, 2])), step.suggest(), step.captures):
        bundle = bundle_of(result)
        assert bundle["text/plain"] == repr(result)
        assert set(bundle) == {"text/plain", "text/html"}  # a page needs a kernel


def test_traces_and_retraces_are_tuples_with_pages(step: Any) -> None:
    for found, title, columns in (
        (step.traces, "2 traces", ["#", "signature", "hits", "cause", *MEASURES]),
        (step.retraces, "1 retrace", ["#", "cause", "remedy", "to trace", "where"]),
    ):
        assert isinstance(found, tuple)
        assert found == tuple(found)
        lines = repr(found).splitlines()
        assert lines == [f"<{title}>", *(f"  {each!r}" for each in found)]
        bundle = bundle_of(found)
        assert bundle["text/plain"].startswith(title)
        assert "<table" in bundle["text/html"]
        (table,) = page_of(found).record().tables
        assert (table.header, table.total, table.open) == (columns, len(found), True)
    many = type(step.traces)(step.traces * 26)
    assert repr(many).splitlines()[:2] == ["<52 traces>", "  ... and 32 earlier"]


def test_a_run_says_what_it_returned_and_where_it_ran() -> None:
    f = nbfn.function(lambda x: {"y": x, "n": (tf.size(x), 3)})
    x = tf.reshape(tf.range(6000.0), [1000, 6])
    run = f.run(x)
    value = "{'y': float32[1000, 6]: 0, 1, 2, 3, …, 'n': (int32[]: 6000, int32[]: 3)}"
    assert repr(run).startswith(f"<run: {value}; ")
    page = page_of(run)
    assert page.title == f"returned {value}"
    (placed,) = page.groups
    assert placed == replace(page_of(run.placement), open=True)
    assert set(bundle_of(run)) == {"text/plain", "text/html"}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (tf.constant([0.123456, 2.0]), "float32[2]: 0.1235, 2"),
        (tf.constant([1.5], tf.bfloat16), "bfloat16[1]: 1.5"),
        (tf.zeros([0, 3]), "float32[0, 3]"),
        (tf.constant(["a", "b" * 100]), f"string[2]: b'a', b'{'b' * 57}…"),
        (tf.Variable([True]), "bool[1]: True"),
        (tf.ragged.constant([[1], [2, 3]]), "RaggedTensor int32[2, None]"),
        ([1] * 8, "[1, 1, 1, 1, 1, 1, …]"),
        (None, "None"),
    ],
)
def test_values_at_a_glance(value: Any, said: str) -> None:
    assert summarize(value) == said
