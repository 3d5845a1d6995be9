"""Which operations of a graph took how long, as far as what ran can be told from its names.

The optimiser inlines functions and loops, and names what it inlines after the operation that
called it: ``while/body/_8/while/Sin`` is ``while/Sin`` in the body of ``while``. What it fuses has
the name of the last of the fused operations, and another type; what it makes anew has names of its
own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from nbfn.functions.calls.times import TimedOperation, Times
from nbfn.functions.graphs.operations import Graph, Operation

_BRANCH = re.compile(r"(?:(?:body|cond|then|else|branch\d*|branch_\d+)/_\d+/)?")
"""What stands between the name of a lowered loop or condition and a name in its body."""

_REWRITTEN = re.compile(r"(?P<scope>(?:.*/)?)ArithmeticOptimizer/(?P<stage>[A-Za-z]+)_(?P<name>.+)")
"""What TensorFlow's optimiser of arithmetic calls an operation that it puts in another's place."""

_OWN_KERNELS = ("_MklNative", "_Mkl")
"""What oneDNN's kernels put before the type of the operation that they compute."""


@dataclass(frozen=True)
class OperationTime:
    """What an operation of a graph took.

    Attributes:
        seconds: Itself, in all of its executions.
        within: What ran in the functions that it calls, such as a loop's body.
        executions: How often it was executed; 0 if only what it calls was.
        ran_as: The types that ran in its place, if the optimiser fused or replaced it.
    """

    seconds: float = 0.0
    within: float = 0.0
    executions: int = 0
    ran_as: tuple[str, ...] = ()


@dataclass(frozen=True)
class GraphTimes:
    """The times of a call, by operation of the graph that was called.

    Attributes:
        times: The time of each operation that was seen, by body (empty for the graph's own
            operations) and name. One of a body that is called at several places has their sum.
        found: Each operation that ran and whose place is known: its body, itself, what ran.
        others: What ran under names that the graph does not have, the slowest first.
        seconds: What all operations took together.
    """

    times: dict[tuple[str, str], OperationTime] = field(default_factory=dict)
    found: tuple[tuple[str, Operation, TimedOperation], ...] = ()
    others: tuple[TimedOperation, ...] = ()
    seconds: float = 0.0

    @property
    def other_seconds(self) -> float:
        """What those took whose place in the graph is not known."""
        return sum(each.seconds for each in self.others)


def graph_times(graph: Graph, times: Times) -> GraphTimes:
    """Finds the operations of a graph that a call's times belong to."""
    index = {
        body: {operation.name: operation for operation in operations}
        for body, operations in (("", graph.operations), *graph.bodies.items())
    }
    known: dict[tuple[str, str], OperationTime] = {}
    found, others = [], []
    for ran in times.operations:
        path = next(_paths(index, "", ran.name), None)
        if path is None:
            others.append(ran)
            continue
        for body, operation in path[:-1]:
            before = known.get((body, operation.name), OperationTime())
            after = replace(before, within=before.within + ran.seconds)
            known[body, operation.name] = after
        body, operation = path[-1]
        before = known.get((body, operation.name), OperationTime())
        known[body, operation.name] = OperationTime(
            before.seconds + ran.seconds,
            before.within,
            before.executions + ran.executions,
            _with(before.ran_as, ran, operation),
        )
        found.append((body, operation, ran))
    return GraphTimes(known, tuple(found), tuple(others), times.seconds)


def _paths(
    index: dict[str, dict[str, Operation]], body: str, name: str
) -> Iterator[list[tuple[str, Operation]]]:
    """The ways to what a name may mean: calls that were inlined, and what is called last."""
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
            # What a lowered loop needs to go on has no operation of its own in the graph.
            yield [(body, caller)]


def _with(known: tuple[str, ...], ran: TimedOperation, operation: Operation) -> tuple[str, ...]:
    """What ran in an operation's place, with one more if that is not as the graph has it."""
    plain = ran.type
    for prefix in _OWN_KERNELS:
        plain = plain.removeprefix(prefix)
    rewritten = _REWRITTEN.fullmatch(ran.name)
    other = f"{plain} ({rewritten['stage']})" if rewritten else plain
    return known if other == operation.type or other in known else (*known, other)
