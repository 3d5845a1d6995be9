"""A cell that runs in segments: graph where it is graph, Python where it is Python."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from nbfn.functions.calls.record import GroupView, clock
from nbfn.functions.segments import times
from nbfn.functions.segments.plan import Plan
from nbfn.functions.segments.report import Report, report
from nbfn.functions.segments.run import CellRun
from nbfn.functions.segments.segment import Segment, Surroundings
from nbfn.functions.segments.text import AnalysedCell
from nbfn.functions.traced.traced_function import TracedFunction
from nbfn.site import Cell

_ids = itertools.count(1)
_live: weakref.WeakValueDictionary[str, TracedCell] = weakref.WeakValueDictionary()


def live_cells() -> list[TracedCell]:
    """Every cell in segments that is alive, in the order of creation."""
    return sorted(_live.values(), key=lambda each: int(each.id.split("-")[1]))


class TracedCell(GroupView):
    """A cell that runs in segments.

    Called, it runs again, in the notebook's names.

    Attributes:
        id: Unique in this process; ends with ``-`` and a number that grows.
        place: Which run of which cell of the notebook it stands for; None outside a notebook.
        changed: Grows with every run.
        name: Its name.
        known_as: What is shown in place of its name.
        plan: What is known of its statements.
        runs: How often it ran.
        seconds: How long the last run took, and how long it would have taken eagerly.
    """

    def __init__(
        self,
        cell: AnalysedCell,
        name: str,
        surroundings: Surroundings,
        known: TracedCell | None = None,
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
        before = known.plan if known is not None else None
        self.plan: Plan = Plan(cell, name, surroundings, before, lazily=lazily)
        _live[self.id] = self

    def __call__(self) -> Any:
        """Runs the cell; returns the value of its last expression."""
        __tracebackhide__ = True
        self.runs += 1
        self.plan.begin()
        started = times.clock()
        run = CellRun(self.plan)
        try:
            exec(self.plan.cell.bound_to(run, self.plan.file), self.plan.surroundings.namespace)
        finally:
            result = run.close()
            now = times.clock() - started
            self.seconds = now, now + self.plan.saved
            self.changed = next(clock)
        return result

    def state(self) -> tuple[Any, ...]:
        """Equal as long as the line under the cell would be the same."""
        counts = [(f.id, len(f.traces), f.recorder.retraces_made) for f in self.functions]
        return *counts, *self.lines.items()

    @property
    def report(self) -> Report:
        """What of it is graph and what is Python."""
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
        """For each line with code, ``"graph"``, or why it is Python."""
        return self.report.lines

    def observers(self) -> tuple[TracedFunction, ...]:
        """The functions of the segments, which answer for the cell."""
        return self.functions

    @property
    def speedup(self) -> float | None:
        """How many times faster the segments are than eagerly; None before that is known."""
        known = [each.times for each in self.segments]
        pairs = [(t.python, t.graph) for t in known if t.python is not None and t.graph]
        if not pairs:
            return None
        return sum(p for p, _ in pairs) / sum(g for _, g in pairs)

    @property
    def label(self) -> str:
        """The name to show."""
        return self.known_as or self.name

    def __repr__(self) -> str:
        return f"<TracedCell {self.label}: {self.report}>"
