"""Assigns measured times to the operations of a graph, by the names of what ran.

The optimiser inlines functions and loops, and names the inlined operations after the call:
``while/body/_8/while/Sin`` is ``while/Sin`` in the body of ``while``. A fused operation has the
name of the last of its parts, and another type; new operations have other names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from nbfn.functions.calls.operation_times import TimedOperation, Times
from nbfn.functions.graphs.operations import Graph, Operation

_BRANCH = re.compile(r"(?:(?:body|cond|then|else|branch\d*|branch_\d+)/_\d+/)?")
"""Matches the part between the name of a lowered loop or condition and a name in its body."""

_REWRITTEN = re.compile(r"(?P<scope>(?:.*/)?)ArithmeticOptimizer/(?P<stage>[A-Za-z]+)_(?P<name>.+)")
"""Matches the names that TensorFlow's arithmetic optimiser gives to replacements."""

_OWN_KERNELS = ("_MklNative", "_Mkl")
"""Prefixes of oneDNN's kernels before the type of the operation."""


@dataclass(frozen=True)
class OperationTime:
    """The time of an operation of a graph.

    Attributes:
        seconds: Its own time, for all executions.
        within: The time in functions that it calls, such as a loop's body.
        executions: Number of executions; 0 if only functions that it calls ran.
        ran_as: Types that ran instead, if the optimiser fused or replaced it.
    """

    seconds: float = 0.0
    within: float = 0.0
    executions: int = 0
    ran_as: tuple[str, ...] = ()


@dataclass(frozen=True)
class GraphTimes:
    """The times of a call, by operation of the graph that was called.

    Attributes:
        times: The time of each measured operation, by function (empty for the graph's own
            operations) and name. If a function is called at several places, its operations have the
            sum.
        found: Each operation that ran and was identified: its function, the operation, its time.
        others: Times under names that are not in the graph, the slowest first.
        seconds: Total time of all operations.
    """

    times: dict[tuple[str, str], OperationTime] = field(default_factory=dict)
    found: tuple[tuple[str, Operation, TimedOperation], ...] = ()
    others: tuple[TimedOperation, ...] = ()
    seconds: float = 0.0

    @property
    def other_seconds(self) -> float:
        """Total time of what could not be identified."""
        return sum(each.seconds for each in self.others)


def graph_times(graph: Graph, times: Times) -> GraphTimes:
    """Assigns the times of a call to the operations of its graph."""
    index = {
        body: {operation.name: operation for operation in operations}
        for body, operations in (("", graph.operations), *graph.bodies.items())
    }
    by_operation: dict[tuple[str, str], OperationTime] = {}
    found, others = [], []
    for ran in times.operations:
        path = next(_paths(index, "", ran.name), None)
        if path is None:
            others.append(ran)
            continue
        for body, operation in path[:-1]:
            before = by_operation.get((body, operation.name), OperationTime())
            after = replace(before, within=before.within + ran.seconds)
            by_operation[body, operation.name] = after
        body, operation = path[-1]
        before = by_operation.get((body, operation.name), OperationTime())
        by_operation[body, operation.name] = OperationTime(
            before.seconds + ran.seconds,
            before.within,
            before.executions + ran.executions,
            _with(before.ran_as, ran, operation),
        )
        found.append((body, operation, ran))
    return GraphTimes(by_operation, tuple(found), tuple(others), times.seconds)


def _paths(
    index: dict[str, dict[str, Operation]], body: str, name: str
) -> Iterator[list[tuple[str, Operation]]]:
    """Yields possible meanings of a name: the inlined calls, and the operation at the end."""
    operations = index.get(body, {})
    if name in operations:
        yield [(body, operations[name])]
    rewritten = _REWRITTEN.fullmatch(name)
    if rewritten and rewritten["scope"] + rewritten["name"] in operations:
        yield [(body, operations[rewritten["scope"] + rewritten["name"]])]
    for end in (match.start() for match in re.finditer("/", name)):
        caller = operations.get(name[:end])
        if caller is not None and caller.bodies:
            branch = _BRANCH.match(name, end + 1)
            rest = name[branch.end() if branch else end + 1 :]
            for called in caller.bodies:
                for way in _paths(index, called, rest):
                    yield [(body, caller), *way]
            # Control flow of a lowered loop has no operation of its own in the graph.
            yield [(body, caller)]


def _with(names: tuple[str, ...], ran: TimedOperation, operation: Operation) -> tuple[str, ...]:
    """Adds the type that ran to the names of others, if it differs from the graph's."""
    plain = ran.type
    for prefix in _OWN_KERNELS:
        plain = plain.removeprefix(prefix)
    rewritten = _REWRITTEN.fullmatch(ran.name)
    other = f"{plain} ({rewritten['stage']})" if rewritten else plain
    return names if other == operation.type or other in names else (*names, other)
