"""`lines`: the time that each line of a function takes in a call."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbfn import _tensorflow
from nbfn.functions.calls.placement import run
from nbfn.functions.graphs.operations import graph_of_concrete
from nbfn.functions.graphs.time_attribution import GraphTimes, graph_times
from nbfn.functions.inside.instrument import Instrument
from nbfn.functions.inside.origin import OperationOrigin, Origins
from nbfn.functions.traced.function import copy_of
from nbfn.site import Site
from nbfn.text import count, cut, percent, with_notes

_MAX_TEXT = 60


@dataclass
class LineTime:
    """The time of a line in one call, including its part of the gradient.

    Attributes:
        site: The line.
        text: Its text.
        seconds: Total time of its operations.
        gradient_seconds: The part of it spent on its gradient.
        operations: Number of its operations that ran.
        executions: Number of executions of its most frequent operation.
        ran_as: Types that ran instead of operations that the optimiser fused or replaced.
    """

    site: Site
    text: str
    seconds: float = 0.0
    gradient_seconds: float = 0.0
    operations: int = 0
    executions: int = 0
    ran_as: dict[str, None] = field(default_factory=dict)

    def __str__(self) -> str:
        gradient = ""
        if self.gradient_seconds:
            gradient = f" ({self.gradient_seconds * 1000:,.3f} ms for the gradient)"
        return f"{self.seconds * 1000:10,.3f} ms  {self.site}: {self.text}{gradient}"


@dataclass(frozen=True)
class LineTimes:
    """The lines of a function, the slowest first.

    Attributes:
        function: The function's name.
        lines: The time of each line.
        seconds: Total time of all operations.
        notes: Remarks on time outside the lines.
    """

    function: str
    lines: tuple[LineTime, ...]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The totals as a sentence."""
        return (
            f"`{self.function}`: {count(len(self.lines), 'line')}, {self.seconds * 1000:,.3f} ms "
            "together"
        )

    def __repr__(self) -> str:
        return with_notes(self.title, self.lines, self.notes)


def lines(function: Any, *args: Any, **kwargs: Any) -> LineTimes:
    """Times the lines of a traced function in one call, and restores everything.

    The function is traced once more, so that operations of a gradient count for the line that is
    differentiated, and it is run twice: the first run includes one-time costs.

    Args:
        function: A traced function, or a ``tf.function``.
        *args: The positional arguments of the call.
        **kwargs: The keyword arguments.

    Returns:
        The lines, the slowest first.

    Raises:
        CheckError: If the arguments do not fit the function, or it is not a traced function.
        ProfilerBusyError: If a profiler is running already.
    """
    observer = function
    function = getattr(function, "function", None) or function
    if hasattr(function, "python_function") and not hasattr(function, "recorder"):
        function, owner = copy_of(function)
        args = (*owner, *args)
    origins = Origins(lines.__code__)

    def listen(new: _tensorflow.NewOperation) -> None:
        origins.of(new)

    instrument = Instrument(listen)
    with instrument.trial(function, args, kwargs) as trial:
        concrete = trial.traced(instrument.function(function))
        error = trial.serve(concrete)
        if error is not None:
            raise error
        trial.restore()
        positional, named = trial.arguments
        times = run(concrete, positional, named, timed=True).times
    if times is None:
        return LineTimes(
            function.label, (), 0.0, ("this version of TensorFlow does not report times",)
        )
    found = graph_times(graph_of_concrete(concrete), times)
    times_by_line = _by_line(concrete.graph, origins, found)
    in_order = sorted(times_by_line.values(), key=lambda each: -each.seconds)
    notes = tuple(_notes(function, found, in_order))
    whole = found.seconds or 1.0
    record = getattr(observer, "recorder", function.recorder)
    record.lines = tuple((e.site, e.seconds, e.seconds / whole) for e in in_order)
    record.touch()
    return LineTimes(function.label, tuple(in_order), found.seconds, notes)


def _by_line(graph: Any, origins: Origins, found: GraphTimes) -> dict[Any, LineTime]:
    graphs = {"": graph}
    for each in _tensorflow.graphs_in(graph):
        graphs.update(_tensorflow.called_graphs(each))
    by_line: dict[Any, LineTime] = {}
    for body, operation, ran in found.found:
        origin = origins.at(graphs.get(body), operation.name)
        if origin is None or origin.spot.site.line is None:
            continue
        site = origin.spot.site
        line = by_line.setdefault((site.file, site.line), LineTime(site, _text(origin)))
        line.seconds += ran.seconds
        line.gradient_seconds += ran.seconds if origin.is_gradient else 0.0
        line.operations += 1
        line.executions = max(line.executions, ran.executions)
        line.ran_as |= dict.fromkeys(found.times[body, operation.name].ran_as)
    return by_line


def _text(origin: OperationOrigin) -> str:
    site = origin.spot.site
    whole = linecache.getline(site.file or "", site.line or 0).strip()
    return cut(whole or origin.spot.text, _MAX_TEXT)


def _notes(function: Any, found: GraphTimes, line_times: Sequence[LineTime]) -> Iterator[str]:
    whole = found.seconds or 1.0
    if function._jit_compile:
        yield ("it was timed without XLA, which runs a function as one program and hides its lines")
    in_lines = sum(each.seconds for each in line_times)
    others = found.other_seconds
    rest = found.seconds - in_lines - others
    if others > 0.005 * whole:
        yield (
            f"{percent(others / whole)} in {count(len(found.others), 'operation')} that the "
            "optimiser made or moved, whose lines are not known"
        )
    if rest > 0.005 * whole:
        yield f"{percent(rest / whole)} in operations of no line, such as reads of arguments"
