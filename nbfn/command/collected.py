"""Collects the records of a session, which outlive its kernel."""

from __future__ import annotations

from typing import Any

from nbfn import protocol


class CollectedRecords:
    """All records that a kernel has sent.

    Attributes:
        state: The records, including those of functions that the kernel has dropped.
        now: The records of what the kernel has now, or had at its end.
        totals: The totals of `now`.
        tensorflow: The version of TensorFlow, once the notebook has imported it.
    """

    def __init__(self) -> None:
        self.state = protocol.Rows()
        self.totals = protocol.Totals()
        self.now = protocol.Rows()
        self.tensorflow: str | None = None

    def take(self, changes: dict[str, Any]) -> list[protocol.RetraceRecord]:
        """Applies changes, and returns the new retraces."""
        put = protocol.Rows.model_validate(changes["put"])
        new = [row for id, row in put.retraces.items() if id not in self.state.retraces]
        removed = protocol.Removed.model_validate(changes["removed"])
        for name, table in put:
            getattr(self.state, name).update(table)
            rows = getattr(self.now, name)
            rows.update(table)
            for id in getattr(removed, name):
                rows.pop(id, None)
        for id in removed.traces:
            trace = self.state.traces.get(id)
            if trace is not None and trace.function in self.now.functions:
                del self.state.traces[id]  # evicted, or relaxed into another
        for id in removed.runs:  # merged into other rows
            self.state.runs.pop(id, None)
        self.totals = protocol.Totals.model_validate(changes["totals"])
        self.tensorflow = changes["tensorflow"] or self.tensorflow
        return new

    @property
    def functions(self) -> list[protocol.FunctionRecord]:
        """The functions except those of cells in segments, in order of creation."""
        inside = {id for cell in self.state.cells.values() for id in cell.functions}
        return [each for each in self.state.functions.values() if each.id not in inside]

    @property
    def retrace_count(self) -> int:
        """Number of retraces.

        Only the newest 1000 of a function have records. A function does not count retraces whose
        traces can no longer serve.
        """
        counted = sum(each.retraces for each in self.state.functions.values())
        return max(counted, len(self.state.retraces))

    @property
    def cells(self) -> list[protocol.TracedCellRecord]:
        """The cells in segments, in order of creation."""
        return list(self.state.cells.values())
