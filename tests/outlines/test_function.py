"""The outline of a function, made of rows."""

from __future__ import annotations

from nbfn import protocol
from nbfn.outlines.function_outline import captures_of, traces_table
from tests.harness.rows import trace, variable


def test_a_narrow_page_has_the_signature_and_hits_of_a_trace_first() -> None:
    leaf = protocol.Leaf(path="x", type="float32[2]")
    made = trace("t1", "f").model_copy(update={"signature": [leaf]})
    table = traces_table([made]).record()
    first = [name for n, name in enumerate(table.header) if n not in table.details]
    assert first == ["#", "signature", "hits"]


def names(*traces: protocol.TraceRecord, **named: str) -> list[str]:
    rows = protocol.Rows(variables={id: variable(name, id) for id, name in named.items()})
    return [each.name for each in captures_of(rows, traces)]


def test_captures_of_a_model_that_was_made_again_are_listed_once() -> None:
    traces = trace("t1", "f", "a", "shared"), trace("t2", "f", "b", "shared", time=1)
    found = names(*traces, a="f.captures/net/w", b="net/w", shared="rate")
    assert found == ["net/w", "rate"]


def test_captures_of_one_trace_may_share_the_name_in_another_notebook() -> None:
    assert names(trace("t1", "f", "a", "b"), a="net/w", b="f.captures/net/w") == [
        "net/w",
        "f.captures/net/w",
    ]


def test_what_only_an_older_trace_captures_comes_last() -> None:
    assert names(trace("t1", "f", "a"), trace("t2", "f", "b", time=1), a="w", b="v") == ["v", "w"]
