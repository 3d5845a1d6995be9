"""Rows of the protocol for tests of outlines."""

from __future__ import annotations

from typing import Any

from nbfn import protocol
from nbfn.outlines.lists import function_row


def function(id: str, name: str, **values: Any) -> protocol.FunctionRecord:
    given: dict[str, Any] = {"calls": 3, "hits": 1, "traces": 2, "retraces": 1} | values
    row = protocol.FunctionRecord(
        id=id, name=name, parameters="(x)", trace_seconds=1, run_seconds=1, nbytes=9, **given
    )
    return function_row(row)


def trace(id: str, function: str, *captures: str, time: float = 0) -> protocol.TraceRecord:
    return protocol.TraceRecord(
        id=id,
        function=function,
        number=1,
        signature=[],
        cause=protocol.CauseRecord(code="first_trace", sentence="first"),
        time=time,
        hits=0,
        trace_seconds=0,
        run_seconds=0,
        operations=1,
        nbytes=1,
        captures=list(captures),
    )


def variable(name: str, id: str | None = None, **values: Any) -> protocol.VariableRecord:
    given: dict[str, Any] = {"shape": [2], "dtype": "float32", "nbytes": 8, "trainable": True}
    return protocol.VariableRecord(id=id or name, name=name, device="CPU:0", **given | values)
