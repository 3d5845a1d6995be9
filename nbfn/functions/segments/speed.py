"""Measures a segment as Python and as a graph, and decides which of them runs.

Medians of a few runs decide whether a trace pays off. A graph counts as slower if its fastest run
is slower than Python's fastest: other load on the machine only adds time.
"""

from __future__ import annotations

import time
from collections import deque
from statistics import median

clock = time.perf_counter
"""Returns the time in seconds."""

CALL = 0.25e-3
"""Minimum time in seconds of a call of a trace, with its overhead."""

COLD = 40e-3
"""Minimum time in seconds of a first run, which also loads kernels, that justifies a trace."""

_RUNS_FOR_A_TRACE = 10
"""Tracing takes about eight times as long as running eagerly (the median of 35 segments)."""

# Heuristics, whose effects are tested in tests/functions/segments/test_choice.py.
_SECONDS_FOR_A_TRACE = 1.0
_SAMPLES = 5
_HITS_BEFORE_A_SAMPLE = 4
_MAX_MISSES = 3
_MAX_FAILED_LOOKUPS = 8
_TRACES_ON_TRIAL = 2
_SAMPLES_TO_SETTLE = 3


class SegmentTimes:
    """The measured times of one segment.

    Attributes:
        runs: Runs as Python so far.
        hits: Runs as a graph so far.
        misses: Number of misses since the last hit.
        failed_lookups: Number of look-ups since a trace was last found or made.
    """

    def __init__(self) -> None:
        self.runs = self.hits = self.misses = self.failed_lookups = 0
        self._python: deque[float] = deque(maxlen=_SAMPLES)
        self._graph: deque[float] = deque(maxlen=_SAMPLES)
        self._cold: float | None = None
        self._seconds = 0.0
        self._traces = 0
        self._spent = self._saved = 0.0

    def ran_as_python(self, seconds: float) -> None:
        """Records a run as Python; the first is cold, and is only used until there is another."""
        self.runs += 1
        self._seconds += seconds
        if self._cold is None:
            self._cold = seconds
        else:
            self._python.append(seconds)

    def ran_as_graph(self, seconds: float) -> None:
        """Records a hit; the first two, in which TensorFlow prepares the graph, are cold."""
        self.hits += 1
        self.misses = self.failed_lookups = 0
        self._saved += max((self.python or 0.0) - seconds, 0.0)
        if self.hits > 2:
            self._graph.append(seconds)

    @property
    def python(self) -> float | None:
        """Median seconds as Python; None if it has not run so."""
        return median(self._python) if self._python else self._cold

    @property
    def graph(self) -> float | None:
        """Median seconds as a graph; None if it has not run so."""
        return median(self._graph) if self._graph else None

    def is_worth_a_trace(self) -> bool:
        """Returns whether it runs long enough for a trace to save time."""
        if not self._python:
            return self._cold is not None and self._cold > COLD
        return median(self._python) > CALL

    def amortizes_tracing(self) -> bool:
        """Returns whether as many future runs as past ones would repay a trace."""
        return self.runs >= _RUNS_FOR_A_TRACE or self._seconds >= _SECONDS_FOR_A_TRACE

    def is_long(self) -> bool:
        """Returns whether it takes so long that even its gradient is certain to gain."""
        return self.python is not None and self.python > 4 * CALL

    def is_known_to_be_short(self, *, under_tape: bool = False) -> bool:
        """Returns whether enough runs were measured to rule out a gain."""
        if len(self._python) < _SAMPLES_TO_SETTLE:
            return False
        return not self.is_long() if under_tape else median(self._python) <= CALL

    def may_find_a_trace(self) -> bool:
        """Returns whether to look for a trace; after failed look-ups only occasionally."""
        return (
            self.failed_lookups <= _MAX_FAILED_LOOKUPS
            or self.failed_lookups & (self.failed_lookups - 1) == 0
        )

    def needs_sample(self) -> bool:
        """Returns whether another run as Python is needed for comparison."""
        taken = len(self._python)
        return taken < _SAMPLES_TO_SETTLE and self.hits >= _HITS_BEFORE_A_SAMPLE << taken

    def is_slower_as_graph(self) -> bool:
        """Returns whether its graph was measured to be slower than Python."""
        if len(self._graph) < _SAMPLES_TO_SETTLE or not self._python:
            return False
        return min(self._graph) > min(self._python)

    def traced(self, seconds: float) -> None:
        """Records a trace and its time."""
        self.misses += 1
        self.failed_lookups = 0
        self._traces += 1
        self._spent += seconds

    def misses_too_often(self) -> bool:
        """Returns whether another trace would not pay off, judged by earlier ones."""
        costs_more = self._traces >= _TRACES_ON_TRIAL and self._saved < self._spent
        return self.misses >= _MAX_MISSES or costs_more
