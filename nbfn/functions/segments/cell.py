"""A cell that runs in segments."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from nbfn.functions.calls.record import GroupView, clock
from nbfn.functions.segments import speed
from nbfn.functions.segments.analysis import AnalysedCell
from nbfn.functions.segments.body import Surroundings
from nbfn.functions.segments.cell_report import Report, report
from nbfn.functions.segments.cell_run import CellRun
from nbfn.functions.segments.plan import Plan
from nbfn.functions.segments.segment import Segment
from nbfn.functions.traced.traced_function import TracedFunction
from nbfn.site import Cell

_ids = itertools.count(1)
_live: weakref.WeakValueDictionary[str, TracedCell] = weakref.WeakValueDictionary()


def live_cells() -> list[TracedCell]:
    """Returns the live cells in segments, in the order of creation."""
    return list(_live.values())


class TracedCell(GroupView):
    """A cell that runs in segments.

    Calling it runs the cell again, in the notebook's namespace.

    Attributes:
        id: Unique in this process.
        place: The run of the notebook cell that it represents; None outside a notebook.
        changed: Increases with every run.
        name: Its name.
        known_as: The name to show instead of its name, if any.
        plan: The state that is kept from run to run.
        runs: Number of runs.
        seconds: The time of the last run, and its estimated eager time.
    """

    def __init__(
        self,
        cell: AnalysedCell,
        name: str,
        surroundings: Surroundings,
        previous: TracedCell | None = None,
        *,
        lazily: bool = False,
    ) -> None:
        self.name = name
        self.known_as: str | None = None
        self.runs = 0
        self.id = f"cell-{next(_ids)}"
        self.place: Cell | None = None
        self.changed = next(clock)
        self.seconds = (0.0, 0.0)
        before = previous.plan if previous is not None else None
        self.plan: Plan = Plan(cell, name, surroundings, before, lazily=lazily)
        _live[self.id] = self

    def __call__(self) -> Any:
        """Runs the cell; returns the value of its last expression."""
        __tracebackhide__ = True
        self.runs += 1
        self.plan.begin()
        started = speed.clock()
        run = CellRun(self.plan)
        try:
            exec(self.plan.cell.bound_to(run, self.plan.file), self.plan.surroundings.namespace)
        finally:
            result = run.close()
            now = speed.clock() - started
            self.seconds = now, now + self.plan.saved
            self.changed = next(clock)
        return result

    def state(self) -> tuple[Any, ...]:
        """Returns a value that is equal as long as the line under the cell stays the same."""
        counts = [(f.id, len(f.traces), f.recorder.retraces_made) for f in self.functions]
        return *counts, *self.lines.items()

    @property
    def report(self) -> Report:
        """The parts of it that are graph and Python."""
        return report(self.plan)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments that run as graphs, in the order of the text."""
        return self.report.segments

    @property
    def whole(self) -> TracedFunction | None:
        """The function, if one segment is the whole cell."""
        found = self.segments
        is_one = len(found) == 1 and self.plan.is_all(found[0].statements)
        return found[0].function if is_one else None

    @property
    def functions(self) -> tuple[TracedFunction, ...]:
        """The functions of the segments, in the order of the text."""
        return tuple(each.function for each in self.segments if each.function is not None)

    @property
    def lines(self) -> dict[int, str]:
        """For each line with code, ``"graph"``, or the reason why it is Python."""
        return self.report.lines

    def observers(self) -> tuple[TracedFunction, ...]:
        """Returns the functions of the segments, which represent the cell."""
        return self.functions

    @property
    def speedup(self) -> float | None:
        """How many times faster the segments are than eager runs; None if unknown."""
        times = [each.times for each in self.segments]
        pairs = [(t.python, t.graph) for t in times if t.python is not None and t.graph]
        if not pairs:
            return None
        return sum(p for p, _ in pairs) / sum(g for _, g in pairs)

    @property
    def label(self) -> str:
        """The name to show."""
        return self.known_as or self.name

    def __repr__(self) -> str:
        return f"<TracedCell {self.label}: {self.report}>"
