"""The pages of what was seen inside of a graph."""

from __future__ import annotations

import sys

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.graphs.operations import graph_of
from nbfn.functions.postmortem import failure_in
from nbfn.protocol import Phrase
from nbfn.views.bundle import bundle_of
from nbfn.views.graphs.expressions import record_in_notebook
from nbfn.views.shown import page_of

x = tf.constant([4.0, 0.0])


@nbfn.function
def step(x):
    hidden = x * 2.0
    return tf.gather(tf.math.log(hidden), tf.cast(hidden, tf.int32))


@nbfn.function
def logarithm(x):
    return tf.math.log(x)


def table(page):
    (only,) = page.tables
    return [[each.text if isinstance(each, Phrase) else each for each in row] for row in only.rows]


def test_numerics() -> None:
    page = page_of(step.numerics(x))
    (row,) = table(page)
    line = step.python_function.__code__.co_firstlineno + 3
    assert row == [
        f"test_inside.py, line {line}",
        "`tf.math.log(hidden)`",
        "-inf (1 of 2 values, the first at [1])",
        "0 in `hidden` (float32[2], 0 to 8)",
    ]
    assert page.verdict == "failed"
    assert page.text().startswith("✗ `step`: infinity in 1 operation (")
    assert "<code>tf.math.log(hidden)</code>" in page.html()
    sound = page_of(nbfn.function(lambda x: x + 1.0).numerics(x))
    assert (sound.verdict, sound.tables[0].rows) == ("passed", [])


def test_failure() -> None:
    with pytest.raises(tf.errors.OpError) as raised:
        step(x)
    page = page_of(failure_in(raised.value))
    assert table(page)[1] == ["`tf.cast(hidden, tf.int32)`", "int32[2]", "0 to 8", "8, 0"]
    assert "failed: indices[0] = 8 is not in [0, 2)" in page.title


def test_a_result_that_is_not_finite_leads_to_the_lines_that_made_it() -> None:
    (line,) = page_of(logarithm.run(x, values=True)).lines
    assert line == Phrase(
        text="the result has NaN or infinity: find where it comes from",
        code="%tf_numerics logarithm(x)",
    )
    assert page_of(logarithm.run(x, numerics=True)).lines == []  # which says where
    assert page_of(logarithm.run(x + 1.0)).lines == []
    assert page_of(logarithm.run(tf.cast(x + 1.0, tf.complex64))).lines == []
    (unnamed,) = page_of([nbfn.function(lambda x: x / 0.0)][0].run(x)).lines
    assert unnamed == "the result has NaN or infinity; `numerics=True` finds where it comes from"


def test_the_picture_of_a_graph_has_the_values_that_were_seen_last(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules["__main__"].__dict__, "seen_step", step)
    safe = tf.constant([0.5, 0.0])
    step(safe)
    (trace,) = (each for each in step.traces)
    line = step.python_function.__code__.co_firstlineno + 2

    def at(number: int) -> list[str]:
        record = record_in_notebook("g", graph_of(trace), trace)
        place = next(n for n, each in enumerate(record.places) if each.line == number)
        return (record.values or {}).get(place, [])

    step.recorder.values = ()
    assert at(line) == []
    step.values(safe, "hidden")
    assert at(line) == ["`hidden` float32[2]: 1, 0"]
    step.values(safe * 0.0, "hidden")
    assert at(line) == ["`hidden` float32[2]: 0, 0"]


def test_values_and_lines() -> None:
    values = step.values(x, "hidden")
    assert table(page_of(values))[0][1:] == ["`hidden`", "float32[2]", "0 to 8", "8, 0", "1"]
    lines = nbfn.lines(nbfn.function(lambda x: x @ x), tf.ones([50, 50]))
    assert table(page_of(lines))[0][5].startswith("`lines = nbfn.lines(")
    for each in (values, lines):
        assert bundle_of(each)["text/html"] == page_of(each).html()


def test_a_run_has_them_too() -> None:
    function = nbfn.function(lambda x: tf.math.log(x))
    page = page_of(function.run(x, numerics=True, values=True))
    titles = [each.title for each in page.groups]
    assert titles[0].startswith("`<lambda>`: infinity in 1 operation")
    assert len(titles) == 3
    (found,) = page_of(function.check(x, numerics=True)).groups
    assert found.title == titles[0]
