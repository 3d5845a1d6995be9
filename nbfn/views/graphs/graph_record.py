"""What the picture of a graph is drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from nbfn import protocol
from nbfn.functions.graphs.operations import Graph, Operation
from nbfn.functions.graphs.time_attribution import GraphTimes
from nbfn.sessions.messages.records import code_place
from nbfn.site import site_of

MAX_OPERATIONS = 10_000
"""Maximum number of operations in a picture and in a saved notebook: about 1.5 MB."""

_DIGITS = 9
"""Nanoseconds."""

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class GraphDifference:
    """Differences between the two graphs that were merged into one.

    Attributes:
        sides: What the first is called, and the second.
        removed: Names of the operations that only the first has.
        added: Names of the operations that only the second has.
        changed: What differs in an operation that both have.
        before: The first's operations of those that both have and that are not the same.
    """

    sides: tuple[str, str]
    removed: frozenset[str]
    added: frozenset[str]
    changed: Mapping[str, Sequence[str]]
    before: Mapping[str, Operation] = field(default_factory=dict)


def graph_record(
    title: str,
    graph: Graph,
    *,
    trace: str | None = None,
    save: str | None = None,
    difference: GraphDifference | None = None,
    times: GraphTimes | None = None,
    values: Mapping[tuple[str, int], Sequence[str]] | None = None,
) -> protocol.GraphRecord:
    """Returns the record of a graph.

    Args:
        title: The headline.
        graph: The graph.
        trace: Python that gives the trace, if there is any.
        save: The line that writes the graph to the file whose name follows.
        difference: What is marked, if the graph was merged of two.
        times: How long its operations took, if a call was measured.
        values: What was seen on each line, by file and number.
    """
    texts, places = _Interned[str](), _Interned[tuple[str, int]]()
    every = {"": graph.operations, **graph.bodies}
    kept = dict(_first(every, MAX_OPERATIONS))
    numbers = {name: number for number, name in enumerate(kept)}
    parts = [
        _part(name, operations, numbers, texts, places, times) for name, operations in kept.items()
    ]
    number_of = {operation.name: number for number, operation in enumerate(kept[""])}
    changes = difference or GraphDifference(("", ""), frozenset(), frozenset(), {})
    before = {
        number_of[name]: _before(operation, number_of, numbers, texts, places)
        for name, operation in changes.before.items()
        if name in number_of
    }
    return protocol.GraphRecord(
        title=title,
        trace=trace,
        save=save,
        texts=list(texts.items),
        places=[code_place(site_of(*place)) for place in places.items],
        parts=parts,
        inputs=_numbers(number_of, (name for name, _ in graph.inputs)),
        outputs=_numbers(number_of, (name for name, _ in graph.outputs)),
        captures={number_of[name]: value for name, value in graph.captures if name in number_of},
        total=sum(map(len, every.values())),
        sides=None if difference is None else list(difference.sides),
        removed=_numbers(number_of, changes.removed),
        added=_numbers(number_of, changes.added),
        changed={number_of[n]: list(what) for n, what in changes.changed.items() if n in number_of},
        before=before or None,
        times=None
        if times is None
        else protocol.GraphTimesRecord(
            seconds=round(times.seconds, _DIGITS), others=round(times.other_seconds, _DIGITS)
        ),
        values={
            number: list(values[place])
            for place, number in places.items.items()
            if values is not None and place in values
        }
        or None,
    )


@dataclass
class _Interned(Generic[_Item]):
    """Assigns an index to each distinct item."""

    items: dict[_Item, int] = field(default_factory=dict)

    def __call__(self, item: _Item) -> int:
        return self.items.setdefault(item, len(self.items))


def _first(
    every: Mapping[str, Sequence[Operation]], most: int
) -> Iterator[tuple[str, Sequence[Operation]]]:
    """Yields the graph's operations, then those of called functions, up to `most`."""
    for name, operations in every.items():
        if most > 0 or not name:
            yield name, operations[:most]
        most -= len(operations)


def _part(
    name: str,
    operations: Sequence[Operation],
    numbers: Mapping[str, int],
    texts: _Interned[str],
    places: _Interned[tuple[str, int]],
    times: GraphTimes | None,
) -> protocol.GraphPart:
    number_of = {operation.name: number for number, operation in enumerate(operations)}
    calls = {
        number: [numbers[body] for body in operation.bodies if body in numbers]
        for number, operation in enumerate(operations)
        if operation.bodies
    }
    return protocol.GraphPart(
        name=name,
        names=list(number_of),
        types=[texts(each.type) for each in operations],
        inputs=[list(_inputs_by_number(each, number_of)) for each in operations],
        outputs=[list(map(texts, each.outputs)) for each in operations],
        devices=[texts(each.device) for each in operations],
        places=[
            None if each.line is None else places((each.file, each.line)) for each in operations
        ],
        calls={number: bodies for number, bodies in calls.items() if bodies},
        values={number: each.value for number, each in enumerate(operations) if each.value},
        controls={
            number: waits
            for number, each in enumerate(operations)
            if (waits := _numbers(number_of, each.controls))
        }
        or None,
        times=None if times is None else dict(_times(name, number_of, times)),
    )


def _before(
    operation: Operation,
    number_of: Mapping[str, int],
    numbers: Mapping[str, int],
    texts: _Interned[str],
    places: _Interned[tuple[str, int]],
) -> protocol.GraphBefore:
    line, file = operation.line, operation.file
    return protocol.GraphBefore(
        type=texts(operation.type),
        inputs=list(_inputs_by_number(operation, number_of)),
        outputs=list(map(texts, operation.outputs)),
        device=texts(operation.device),
        place=None if line is None else places((file, line)),
        calls=[numbers[body] for body in operation.bodies if body in numbers] or None,
        controls=_numbers(number_of, operation.controls) or None,
        value=operation.value or None,
    )


def _times(
    body: str, number_of: Mapping[str, int], times: GraphTimes
) -> Iterator[tuple[int, protocol.OperationTimeRecord]]:
    for (part, name), time in times.times.items():
        if part == body and name in number_of:
            yield (
                number_of[name],
                protocol.OperationTimeRecord(
                    seconds=round(time.seconds, _DIGITS),
                    within=round(time.within, _DIGITS) or None,
                    executions=time.executions,
                    ran_as=", ".join(time.ran_as) or None,
                ),
            )


def _inputs_by_number(operation: Operation, number_of: Mapping[str, int]) -> Iterator[int]:
    """Yields for each input two numbers: its operation's, and that of the output it is."""
    for name, which in zip(operation.inputs, operation.taken, strict=True):
        if name in number_of:
            yield from (number_of[name], which)


def _numbers(number_of: Mapping[str, int], names: Iterable[str]) -> list[int]:
    return sorted({number_of[name] for name in names if name in number_of})
