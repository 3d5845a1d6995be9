"""Measures how long each operation of a call took, with TensorFlow's profiler.

RFC "Functions, not Sessions", ``RunOptions`` and ``RunMetadata``: the step statistics.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbfn import _tensorflow
from nbfn._tensorflow import Executed
from nbfn._tensorflow import ProfilerBusyError as ProfilerBusyError
from nbfn.functions.traces.capture import short_device
from nbfn.text import count

_SHOWN = 10
_CALLS = ("StatefulPartitionedCall", "PartitionedCall")
"""Names of the call of a watched trace in the function around it."""


@dataclass(frozen=True)
class TimedOperation:
    """An operation that ran, and how long it took.

    Attributes:
        name: Its name in the optimised graph, with the calls that it was inlined from.
        type: Its type there, such as ``_FusedMatMul``.
        device: The device that spent the time, in short form; empty for the host.
        executions: Number of executions.
        seconds: Total time, without operations that it waited for on its thread.
    """

    name: str
    type: str
    device: str
    executions: int
    seconds: float


@dataclass(frozen=True, repr=False)
class Times:
    """How long each operation of one call took.

    Operations that the optimiser fused, folded or removed did not run. The sum exceeds the time of
    the call if operations ran in parallel.

    Attributes:
        operations: Those that ran, the slowest first.
    """

    operations: tuple[TimedOperation, ...]
    _concrete: weakref.ref[Any] = field(compare=False)

    @property
    def seconds(self) -> float:
        """The total time of all operations."""
        return sum(each.seconds for each in self.operations)

    @property
    def concrete_function(self) -> Any:
        """The function that was called; None if it was garbage-collected."""
        return self._concrete()

    def __repr__(self) -> str:
        rows = [
            (f"{each.seconds * 1000:.3f} ms", each.type, each.name, f"{each.executions:,} x")
            for each in self.operations[:_SHOWN]
        ]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        lines = [
            f"<times: {count(len(self.operations), 'operation')}, {self.seconds * 1000:.3f} ms>",
            *(
                f"  {time.rjust(widths[0])}  {kind.ljust(widths[1])}  {name.ljust(widths[2])}  {n}"
                for time, kind, name, n in rows
            ),
        ]
        left = len(self.operations) - _SHOWN
        return "\n".join(lines + ([f"  … {left:,} more"] if left > 0 else []))


def times_of(concrete: Any, executed: Iterable[Executed], metadata: Any = None) -> Times:
    """Adds up the executions by operation; also fills the ``RunMetadata`` if there is one.

    For an operation that ran on another device only the time there counts, not the launch. The
    function is held weakly.
    """
    events = list(_own_times(_of_the_call(concrete, executed)))
    if metadata is not None:
        _fill(metadata.step_stats, [each for each, _ in events])
    elsewhere = {each.name for each, _ in events if each.device}
    sums: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for each, own in events:
        if each.device or each.name not in elsewhere:
            entry = sums[own_name(each.name), each.type, each.device]
            entry[0] += 1
            entry[1] += own
    found = [
        TimedOperation(name, kind, short_device(device) if device else "", number, own * 1e-12)
        for (name, kind, device), (number, own) in sums.items()
    ]
    found.sort(key=lambda each: -each.seconds)
    return Times(tuple(found), weakref.ref(concrete))


def _of_the_call(concrete: Any, executed: Iterable[Executed]) -> list[Executed]:
    """Filters the executions of the call: the profiler also records other threads and services.

    Inlined operations have the call in their name. Others are named as in the graph or in a
    function that it calls.
    """
    names: set[str] | None = None
    steps = []
    for each in executed:
        if each.name.partition("/")[0] not in _CALLS:
            if names is None:
                names = {n.name for n in _tensorflow.all_nodes(concrete.graph.as_graph_def())}
            if each.name not in names:
                continue
        steps.append(each)
    return steps


def own_name(name: str) -> str:
    """Returns a node's name without the call of the watching function; empty for that call."""
    first, _, rest = name.partition("/")
    return rest if first in _CALLS else name


def _own_times(executed: Iterable[Executed]) -> Iterator[tuple[Executed, int]]:
    """Yields each execution with its time, excluding nested executions on the same thread.

    A call that was not inlined is an operation that contains those of the function.
    """
    lanes: dict[str, list[Executed]] = defaultdict(list)
    for each in executed:
        lanes[each.lane].append(each)
    for lane in lanes.values():
        open_ones: list[list[Any]] = []  # [execution, time of nested executions]
        # The longer of two that begin together contains the other.
        for each in sorted(lane, key=lambda one: (one.start, -one.duration)):
            while open_ones and open_ones[-1][0].start + open_ones[-1][0].duration <= each.start:
                yield _closed(open_ones)
            if open_ones:
                open_ones[-1][1] += each.duration
            open_ones.append([each, 0])
        while open_ones:
            yield _closed(open_ones)


def _closed(open_ones: list[list[Any]]) -> tuple[Executed, int]:
    each, within = open_ones.pop()
    return each, max(each.duration - within, 0)


def _fill(statistics: Any, executed: Sequence[Executed]) -> None:
    first = min((each.start for each in executed), default=0)
    devices: dict[str, Any] = {}
    for each in sorted(executed, key=lambda one: one.start):
        device = each.device or "/device:CPU:0"
        if device not in devices:
            devices[device] = statistics.dev_stats.add(device=device)
        nanoseconds = each.duration // 1000
        devices[device].node_stats.add(
            node_name=own_name(each.name),
            timeline_label=each.type,
            all_start_micros=each.start // 1_000_000,
            all_start_nanos=each.start // 1000,
            op_end_rel_micros=nanoseconds // 1000,
            op_end_rel_nanos=nanoseconds,
            all_end_rel_micros=nanoseconds // 1000,
            all_end_rel_nanos=nanoseconds,
            scheduled_micros=first // 1_000_000,
        )
