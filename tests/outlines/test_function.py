"""The outline of a function, made of rows."""

from __future__ import annotations

from nbfn import protocol
from nbfn.outlines.function import captures_of


def trace(number: int, *captures: str) -> protocol.TraceRecord:
    cause = protocol.Cause(code="first_trace", sentence="first call")
    return protocol.TraceRecord(
        id=f"t{number}",
        function="f",
        number=number,
        signature=[],
        cause=cause,
        time=number,
        hits=0,
        trace_seconds=0.1,
        run_seconds=0.1,
        operations=1,
        nbytes=1,
        captures=list(captures),
    )


def variable(id: str, name: str) -> protocol.VariableRecord:
    return protocol.VariableRecord(
        id=id,
        name=name,
        kind="variable",
        shape=[2],
        dtype="float32",
        device="CPU:0",
        nbytes=8,
        trainable=True,
    )


def names(*traces: protocol.TraceRecord, **named: str) -> list[str]:
    rows = protocol.State(variables={id: variable(id, name) for id, name in named.items()})
    return [each.name for each in captures_of(rows, traces)]


def test_captures_of_a_model_that_was_made_again_are_listed_once() -> None:
    traces = trace(1, "a", "shared"), trace(2, "b", "shared")
    found = names(*traces, a="f.captures/net/w", b="net/w", shared="rate")
    assert found == ["net/w", "rate"]


def test_captures_of_one_trace_may_share_the_name_in_another_notebook() -> None:
    assert names(trace(1, "a", "b"), a="net/w", b="f.captures/net/w") == [
        "net/w",
        "f.captures/net/w",
    ]


def test_what_only_an_older_trace_captures_comes_last() -> None:
    assert names(trace(1, "a"), trace(2, "b"), a="w", b="v") == ["v", "w"]
