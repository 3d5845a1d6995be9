"""What the picture of a graph is drawn from: indices that fit, places in cells, and its size."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import protocol, site
from nbfn.functions.graphs.operations import graph_of
from nbfn.functions.graphs.time_attribution import graph_times
from nbfn.views.graphs import graph_record as records
from nbfn.views.graphs.graph_record import graph_record
from nbfn.views.graphs.merged import merged_record


def forward(x: Any, n: int = 2) -> Any:
    with tf.name_scope("block"):
        y = tf.unique(x).idx * n
    for _ in tf.range(3):
        y = y + 1
    return y


@pytest.fixture
def made() -> Any:
    traced = nbfn.function(forward)
    traced(tf.constant([1, 1, 2]))
    return traced


def record_of(traced: Any) -> protocol.GraphRecord:
    return graph_record("forward", graph_of(traced.traces[0]))


def facts(record: protocol.GraphRecord, part: protocol.GraphPart, name: str) -> tuple[Any, ...]:
    number = part.names.index(name)
    taken = part.inputs[number]
    sources = [(part.names[n], which) for n, which in zip(taken[::2], taken[1::2], strict=True)]
    results = [record.texts[text] for text in part.outputs[number]]
    return record.texts[part.types[number]], sources, results


def test_each_operation_is_found_by_the_place_of_its_facts(made) -> None:
    record = record_of(made)
    whole = record.parts[0]
    assert facts(record, whole, "block/Unique") == (
        "Unique",
        [("x", 0)],
        ["int32[None]", "int32[3]"],
    )
    assert facts(record, whole, "block/mul")[1][0] == ("block/Unique", 1)
    assert [whole.names[n] for n in record.inputs] == ["x"]
    assert whole.values[whole.names.index("block/mul/y")] == "2"
    loop = next(n for n, name in enumerate(whole.names) if name == "while")
    bodies = [record.parts[number] for number in whole.calls[loop]]
    assert sorted(each.name.split("_")[1] for each in bodies) == ["body", "cond"]
    assert any("AddV2" in [record.texts[n] for n in each.types] for each in bodies)
    assert record.total == sum(len(each.names) for each in record.parts)
    assert protocol.GraphRecord.model_validate_json(record.model_dump_json()) == record


def test_a_line_is_that_of_the_cell_that_its_file_stands_for(made, monkeypatch) -> None:
    first = forward.__code__.co_firstlineno
    monkeypatch.setattr(site, "_runs", {7: site.Cell("cell-1", 7)})
    monkeypatch.setattr(
        site, "_line_in_cell", lambda file, line: (7, line - first) if file == __file__ else None
    )
    record = record_of(made)
    whole = record.parts[0]
    place = whole.places[whole.names.index("block/mul")]
    assert record.places[place] == protocol.CodePlace(id="cell-1", execution_count=7, line=2)
    assert whole.places[whole.names.index("x")] is None


def test_a_graph_with_too_many_operations_is_cut_and_says_so(made, monkeypatch) -> None:
    monkeypatch.setattr(records, "MAX_OPERATIONS", 6)
    record = record_of(made)
    assert [len(each.names) for each in record.parts] == [6]
    assert record.total > 20
    assert all(n < 6 for taken in record.parts[0].inputs for n in taken[::2])


def test_a_thousand_operations_take_little() -> None:
    def many(x: Any) -> Any:
        for block in range(10):
            with tf.name_scope(f"encoder/layer_{block}/attention"):
                for _ in range(50):
                    x = x + 1.0
        return x

    traced = nbfn.function(many, autograph=False)
    traced(tf.ones([2]))
    record = record_of(traced)
    assert len(record.model_dump_json()) < 100_000
    assert record.total > 1000


def test_two_graphs_become_one_in_which_what_differs_is_marked() -> None:
    def f(x: Any, n: int) -> Any:
        y = x * n
        return tf.sin(y) if n == 2 else tf.cos(y)

    traced = nbfn.function(f)
    traced(tf.ones([2]), 2)
    traced(tf.ones([2]), 3)
    diff = nbfn.diff(*traced.traces)
    record = merged_record(diff)
    assert record is not None
    names = record.parts[0].names
    assert record.sides == ["trace 1", "trace 2"]
    assert [names[n] for n in record.removed] == ["Sin"]
    assert [names[n] for n in record.added] == ["Cos"]
    assert {names[n]: what for n, what in record.changed.items()} == {
        "mul/y": ["value: 2.0 \u2192 3.0"],
        "Identity": ["inputs: Sin \u2192 Cos"],
    }
    assert facts(record, record.parts[0], "Sin")[1] == [("mul", 0)]
    assert names.index("Sin") == names.index("mul") + 1
    assert merged_record(nbfn.diff(traced.traces[0], traced.traces[0])) is None
    traced.free()
    assert merged_record(diff) is None


def test_what_only_waits_and_what_a_call_took_are_reported() -> None:
    number = tf.Variable(0)

    def counting(x: Any) -> Any:
        number.assign_add(1)
        return tf.sin(x) + tf.cast(number, tf.float32)

    traced = nbfn.function(counting)
    times = traced.run(tf.ones([3]), metadata=True).times
    graph = graph_of(traced.traces[0])
    record = graph_record("counting", graph, times=graph_times(graph, times))
    (part,) = record.parts
    waits = {
        part.names[one]: [part.names[other] for other in others]
        for one, others in (part.controls or {}).items()
    }
    assert waits["Cast/ReadVariableOp"] == ["AssignAddVariableOp"]
    assert "AssignAddVariableOp" in waits["NoOp"]
    took = {part.names[n]: time for n, time in (part.times or {}).items()}
    assert took["Sin"].executions == 1
    assert took["Sin"].within is None
    assert record.times is not None
    assert record.times.seconds >= took["Sin"].seconds > 0
    assert record_of(traced).parts[0].times is None


def test_of_an_operation_that_differs_both_sides_are_reported(made) -> None:
    made(tf.constant([1, 1, 2]), n=5)
    record = merged_record(made.traces[0].diff(made.traces[1]))
    assert record is not None
    whole = record.parts[0]
    at = whole.names.index("block/mul/y")
    assert (record.before or {})[at].value == "2"
    assert whole.values[at] == "5"
    loop = whole.names.index("while")
    before = (record.before or {})[loop].calls or []
    assert {record.parts[n].name for n in before}.isdisjoint(
        record.parts[n].name for n in whole.calls[loop]
    )
