"""What depends on what: cells, functions, variables, and Python values that traces have read.

RFC "Functions, not Sessions", section "Tracing": a trace bakes in the Python values that it reads.
Here they can be seen, with what to run again when they have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbfn.functions import Trace
from nbfn.sessions.contents.cells import CellLog, RanCell, cells
from nbfn.site import Cell


@dataclass(frozen=True)
class Change:
    """A Python value that a function's traces have read, and that has changed since.

    Attributes:
        name: The name that the user's code has for it.
        sentence: What it was and what it is, in words.
        given_by: The cell that gave the name its value last, if that is known.
    """

    name: str
    sentence: str
    given_by: Cell | None


@dataclass(frozen=True)
class FunctionReads:
    """What a function depends on.

    Attributes:
        name: The notebook's name for it.
        cell: The cell that defined it, if any.
        calls: The cells that made its traces.
        values: The Python values that its traces have read, by the names of the user's code.
        variables: The variables that its traces capture, by the notebook's names.
        changes: What has changed since the newest trace; empty if a trace still serves.
    """

    name: str
    cell: Cell | None
    calls: tuple[Cell, ...]
    values: tuple[str, ...]
    variables: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def is_stale(self) -> bool:
        """Whether no trace fits the Python values as they are now."""
        return bool(self.changes)


@dataclass(frozen=True)
class CellReads:
    """What a cell depends on.

    Attributes:
        cell: The cell.
        reads: The cell that gave each name its value that it reads, itself or by what it calls.
        direct: The names among them that its own code reads.
        outdated: Names that another cell has given another value since.
        shows: Whether it only shows something, and so need not run again.
    """

    cell: Cell
    reads: Mapping[str, Cell]
    direct: frozenset[str]
    outdated: tuple[str, ...]
    shows: bool = False


@dataclass(frozen=True, repr=False)
class Dependencies:
    """What depends on what in a notebook.

    Attributes:
        functions: The functions with a trace.
        cells: The cells that have run, in the order of their last runs.
    """

    functions: tuple[FunctionReads, ...]
    cells: tuple[CellReads, ...]

    @property
    def run_again(self) -> tuple[Cell, ...]:
        """The cells to run again, in order, so that everything is as the names are now."""
        calls = [cell for each in self.functions if each.is_stale for cell in each.calls[-1:]]
        wanted = {_key(cell): cell for cell in calls}
        for each in self.cells:  # in the order in which they ran, so that one look is enough
            after = any(_key(giver) in wanted for giver in each.reads.values())
            if each.outdated or (after and not each.shows):
                wanted[_key(each.cell)] = each.cell
        order = {_key(each.cell): number for number, each in enumerate(self.cells)}
        return tuple(sorted(wanted.values(), key=lambda cell: order.get(_key(cell), len(order))))

    def __repr__(self) -> str:
        lines = [
            f"{each.name}: {', '.join(change.sentence for change in each.changes)}"
            for each in self.functions
            if each.is_stale
        ]
        lines += [
            f"{name_of(each.cell)} has read {', '.join(each.outdated)} before the last change"
            for each in self.cells
            if each.outdated
        ]
        again = ", ".join(map(name_of, self.run_again))
        return "\n".join([*lines, f"run again: {again}"]) if lines else "nothing is stale"


def name_of(cell: Cell | None) -> str:
    """The name of a cell, such as ``In [3]``."""
    return "unknown" if cell is None else f"In [{cell.execution_count or ' '}]"


def dependencies_of(named: Iterable[tuple[str, Any]], log: CellLog = cells) -> Dependencies:
    """What functions, with the notebook's names for them, and the cells that have run depend on."""
    functions = tuple(
        found for name, function in named if (found := _function(name, function, log)) is not None
    )
    return Dependencies(functions, tuple(_cell(each, log) for each in log))


def _cell(ran: RanCell, log: CellLog) -> CellReads:
    reads = {name: by.cell for name, by in log.givers(ran).items()}
    return CellReads(ran.cell, reads, ran.reads, tuple(log.outdated(ran)), ran.shows)


def _function(name: str, function: Any, log: CellLog) -> FunctionReads | None:
    traces = [trace for trace in function.traces if trace.serves_calls]
    if not traces:
        return None
    sources = [source for trace in traces for source in trace.state.fingerprints]
    return FunctionReads(
        name,
        function.site.cell,
        tuple(_once(trace.site.cell for trace in traces)),
        tuple(dict.fromkeys(each.name for each in sources if each.kind != "code")),
        tuple(dict.fromkeys(capture.name for trace in traces for capture in trace.captures)),
        tuple(_changes(function, traces, log)),
    )


def _changes(function: Any, traces: list[Trace], log: CellLog) -> Iterator[Change]:
    staleness = getattr(function.recorder, "staleness", None)
    if staleness is None:  # of code of TensorFlow 1 nobody knows what it reads
        return
    found = [staleness.since(trace) for trace in traces]
    if all(found):
        for cause in found[-1]:
            root = (cause.path or "").split(".")[0]
            giver = log.giver(root)
            yield Change(cause.path or "", cause.sentence, None if giver is None else giver.cell)


def _once(found: Iterable[Cell | None]) -> list[Cell]:
    return list({_key(cell): cell for cell in found if cell is not None}.values())


def _key(cell: Cell) -> str | int | None:
    return cell.id or cell.execution_count
