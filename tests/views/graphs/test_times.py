"""The page of a call's times: lines of the user's, what is left over, and what is gone."""

from __future__ import annotations

import gc
from typing import Any

import tensorflow as tf

import nbfn
from nbfn._tensorflow import Executed
from nbfn.functions.calls.operation_times import times_of
from nbfn.views.graphs.timed import timed
from nbfn.views.pages.times_outline import times_outline


def forward(x: Any) -> Any:
    for _ in tf.range(2):
        x = tf.sin(x)
    return x


def row(text: str, name: str) -> list[str]:
    (found,) = [line.split() for line in text.splitlines() if f"{name} " in f"{line} "]
    return found


def test_each_operation_has_the_line_that_made_it() -> None:
    traced = nbfn.function(forward)
    outline, record = timed(traced.run(tf.ones([3]), metadata=True).times, "forward(x)")
    line = forward.__code__.co_firstlineno + 2
    found = row(outline.text(), "while/Sin")
    assert found[1:2] + found[-5:-4] == ["ms", "Sin"]
    assert found[-3:] == ["test_times.py,", "line", str(line)]
    assert outline.title == "forward(x)"
    assert record is not None
    assert record.title.startswith("forward(x): ")
    assert record.times is not None
    assert "operations ran, " in str(outline.lines[0])


def test_it_says_what_is_not_known() -> None:
    traced = nbfn.function(forward)
    traced(tf.ones([3]))
    concrete = traced.traces[0].concrete_function
    executed = [
        Executed("1", "", "PartitionedCall/ConstantFolding/made", "Sin", 0, 250_000_000),
        Executed("1", "", "PartitionedCall/range", "Range", 250_000_000, 750_000_000),
    ]
    outline, _ = timed(times_of(concrete, executed))
    assert outline.title == "2 operations ran, 1.000 ms together"
    assert outline.lines == [
        "25 % of it in 1 operation that the optimiser made, whose place in the graph is not "
        "known: `ConstantFolding/made`"
    ]


def test_without_its_graph_the_times_are_reported_all_the_same() -> None:
    traced = nbfn.function(forward)
    times = traced.run(tf.ones([3]), metadata=True).times
    traced.free()
    del traced
    gc.collect()
    page = times_outline(times)
    assert page.lines == ["the graph was freed, and with it the lines"]
    assert row(page.text(), "Sin")[-1].endswith("while/Sin")
    assert timed(times)[1] is None


def test_of_one_program_it_says_why_there_is_nothing() -> None:
    compiled = nbfn.function(lambda x: tf.sin(x) * 2, jit_compile=True)
    outline, record = timed(compiled.run(tf.ones([3]), metadata=True).times, "compiled(x)")
    assert outline.title == "compiled(x)"
    assert "XLA runs a function with `jit_compile=True` as one program" in str(outline.lines[0])
    assert record is None
