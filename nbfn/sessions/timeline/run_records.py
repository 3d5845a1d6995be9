"""Builds protocol records from objects with the same fields, and the rows of runs."""

from __future__ import annotations

from typing import Any, TypeVar

from nbfn import protocol
from nbfn.sessions.timeline.runs import TimelineRun

_DIGITS = 6
"""Digits after the decimal point: microseconds, which keeps rows short."""

_Record = TypeVar("_Record", bound=protocol.ProtocolRecord)


def record_of(kind: type[_Record], source: Any, **given: Any) -> _Record:
    """Returns a record of an object's attributes named as its fields; `given` takes precedence."""
    own = {name: getattr(source, name) for name in kind.model_fields if name not in given}
    return kind(**own, **given)


def run_record(run: TimelineRun) -> protocol.RunRecord:
    """Returns the row of a run."""
    cell = protocol.CodePlace(id=run.cell.id, execution_count=run.cell.execution_count)
    row = record_of(protocol.RunRecord, run, cell=cell)
    seconds = {name: round(value, _DIGITS) for name, value in row if isinstance(value, float)}
    return row.model_copy(update=seconds)
