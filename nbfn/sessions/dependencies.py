"""Dependencies between cells, functions, variables, and Python values read by traces.

RFC "Functions, not Sessions", section "Tracing": a trace bakes in the Python values that it reads.
`Dependencies` shows them, with the cells to run again after they have changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbfn.functions import Trace
from nbfn.sessions.contents.cells import CellLog, RanCell, cells
from nbfn.site import Cell

MAX_CHANGES = 3
"""Maximum number of changes listed per function or cell."""

MAX_CELLS = 12
"""Maximum number of cells listed by name."""


@dataclass(frozen=True)
class Change:
    """A Python value that a function's traces have read and that has changed since.

    Attributes:
        name: Its name in the source.
        sentence: Describes the old and the new value.
        given_by: The cell that last assigned the name, if known.
    """

    name: str
    sentence: str
    given_by: Cell | None


@dataclass(frozen=True)
class FunctionReads:
    """The dependencies of a function.

    Attributes:
        name: The notebook's name for it.
        cell: The cell that defined it, if any.
        calls: The cells whose calls made its traces.
        values: The Python values that its traces read, by their names in the source; without
            imported names.
        variables: The variables that its traces capture, by the notebook's names.
        changes: Changes since the newest trace; empty if a trace still serves.
    """

    name: str
    cell: Cell | None
    calls: tuple[Cell, ...]
    values: tuple[str, ...]
    variables: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def is_stale(self) -> bool:
        """Whether no trace fits the current Python values."""
        return bool(self.changes)


@dataclass(frozen=True)
class CellReads:
    """The dependencies of a cell.

    Attributes:
        cell: The cell.
        reads: For each name that it reads, directly or in functions that it calls, the cell that
            assigned it.
        direct: The names among them that its own code reads.
        imports: The imported names among them, which never change.
        assigns: The names that it assigns.
        outdated: The names that have changed since it read them.
        shows: Whether it only displays values, and need not run again.
        defines: The functions and classes that it defines, each with the names that determine which
            function or class that is.
    """

    cell: Cell
    reads: Mapping[str, Cell]
    direct: frozenset[str]
    imports: frozenset[str]
    assigns: frozenset[str]
    outdated: tuple[str, ...]
    shows: bool = False
    defines: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Dependencies:
    """The dependencies of a notebook.

    Attributes:
        functions: Functions with a trace.
        cells: The cells that have run, in the order of their last runs.
    """

    functions: tuple[FunctionReads, ...]
    cells: tuple[CellReads, ...]

    @property
    def run_again(self) -> tuple[Cell, ...]:
        """The cells to run again, in order, so that no cell is outdated."""
        again: list[Cell] = []
        new: dict[str | int | None, frozenset[str]] = {}
        for each in self.cells:  # in run order, so that one pass is enough
            rebound = {n for n, assigner in each.reads.items() if n in new.get(_key(assigner), ())}
            if each.outdated or (rebound and not each.shows):
                again.append(each.cell)
                changed = rebound.union(map(root_of, each.outdated))
                same = {n for n, read in each.defines.items() if read.isdisjoint(changed)}
                new[_key(each.cell)] = each.assigns - same
        return tuple(again)

    def __repr__(self) -> str:
        lines = [
            f"{each.name}: {sentence}"
            for each in self.functions
            for sentence in shown([change.sentence for change in each.changes])
        ]
        lines += [
            f"{name_of(each.cell)} has read {', '.join(shown(each.outdated))}, which has changed"
            for each in self.cells
            if each.outdated
        ]
        again = shown([name_of(cell) for cell in self.run_again], MAX_CELLS)
        lines += [f"run again: {', '.join(again)}"] if again else []
        return "\n".join(lines) or "nothing is stale"


def shown(found: Sequence[str], most: int = MAX_CHANGES) -> list[str]:
    """Returns the first `most` texts, and the number of the others."""
    more = len(found) - most
    return [*found[:most], f"{more:,} more"] if more > 0 else list(found)


def name_of(cell: Cell | None) -> str:
    """Returns the name of a cell, such as ``In [3]``."""
    return "unknown" if cell is None else f"In [{cell.execution_count or ' '}]"


def dependencies_of(named: Iterable[tuple[str, Any]], log: CellLog = cells) -> Dependencies:
    """Returns the dependencies of functions, given with the notebook's names, and of all cells."""
    functions = tuple(
        found for name, function in named if (found := _function(name, function, log)) is not None
    )
    return Dependencies(functions, tuple(_cell(each, log) for each in log))


def _cell(ran: RanCell, log: CellLog) -> CellReads:
    assigners = log.assigners(ran)
    code = ran.code
    return CellReads(
        cell=ran.cell,
        reads={name: by.cell for name, by in assigners.items()},
        direct=code.reads,
        imports=frozenset(name for name, by in assigners.items() if name in by.code.imports),
        assigns=code.assigns,
        outdated=tuple(log.outdated(ran)),
        shows=code.shows,
        defines=code.defines,
    )


def _function(name: str, function: Any, log: CellLog) -> FunctionReads | None:
    traces = [trace for trace in function.traces if trace.serves_calls]
    if not traces:
        return None
    sources = [source for trace in traces for source in trace.state.fingerprints]
    callers = {_key(cell): cell for trace in traces if (cell := trace.site.cell) is not None}
    return FunctionReads(
        name,
        function.site.cell,
        tuple(callers.values()),
        tuple(dict.fromkeys(each.name for each in sources if _is_value(each, log))),
        tuple(dict.fromkeys(capture.name for trace in traces for capture in trace.captures)),
        tuple(_changes(function, traces, log)),
    )


def _is_value(source: Any, log: CellLog) -> bool:
    """Returns whether a source that a trace read is neither code nor imported."""
    root = root_of(source.name)
    assigner = log.assigner(root)
    return source.kind != "code" and (assigner is None or root not in assigner.code.imports)


def _changes(function: Any, traces: list[Trace], log: CellLog) -> Iterator[Change]:
    staleness = getattr(function.recorder, "staleness", None)
    if staleness is None:  # reads of TensorFlow 1 code are not recorded
        return
    found = [staleness.changes_since(trace) for trace in traces]
    if all(found):
        for cause in found[-1]:
            assigner = log.assigner(root_of(cause.path or ""))
            yield Change(
                cause.path or "", cause.sentence, None if assigner is None else assigner.cell
            )


def root_of(name: str) -> str:
    """Returns the notebook's name at the root of a path such as ``config['rate']``."""
    return re.split(r"\W", name, maxsplit=1)[0]


def _key(cell: Cell) -> str | int | None:
    return cell.id or cell.execution_count
