"""The runs of cells as the records of the protocol."""

from __future__ import annotations

from typing import Any

from nbfn import protocol
from nbfn.sessions.timeline.runs import Run

_DIGITS = 6
"""Microseconds, so that a row stays short."""

_SAME = protocol.RunRecord.model_fields.keys() - {"cell", "running", "devices"}


def run_record(run: Run) -> protocol.RunRecord:
    """The row of a run."""
    told: dict[str, Any] = {name: getattr(run, name) for name in _SAME}
    for name, value in told.items():
        if isinstance(value, float):
            told[name] = round(value, _DIGITS)
    cell = protocol.Cell(id=run.cell.id, execution_count=run.cell.execution_count)
    devices = {name: [held, peak] for name, (held, peak) in (run.devices or {}).items()} or None
    return protocol.RunRecord(cell=cell, running=run.is_running, devices=devices, **told)
