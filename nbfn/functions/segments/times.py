"""How long a segment takes as Python and as a graph, and which of them it is to be.

Medians of a few runs say whether a trace repays itself. A graph is found slower by the least of its
runs against the least of Python's: what else the machine does only ever adds to a time.
"""

from __future__ import annotations

import time
from collections import deque
from statistics import median

clock = time.perf_counter
"""Tells the time in seconds."""

CALL = 0.25e-3
"""Seconds that a call of a trace takes at least, with what surrounds it."""

COLD = 40e-3
"""Seconds from which a first run, which also loads kernels, is long enough by itself."""

_RUNS_FOR_A_TRACE = 10
"""Tracing takes about eight times as long as running eagerly (the median of 35 segments)."""

_SECONDS_FOR_A_TRACE = 1.0
_SAMPLES = 5
_HITS_BEFORE_A_SAMPLE = 4
_MAX_MISSES = 3
_LOOKS_IN_VAIN = 8
_TRACES_ON_TRIAL = 2
_SAMPLES_TO_SETTLE = 3


class Times:
    """The times of one segment.

    Attributes:
        runs: Runs as Python so far.
        hits: Runs as a graph so far.
        misses: Misses in a row, without a hit between.
        in_vain: Look-ups in a row that have found no trace, and made none.
    """

    def __init__(self) -> None:
        self.runs = self.hits = self.misses = self.in_vain = 0
        self._python: deque[float] = deque(maxlen=_SAMPLES)
        self._graph: deque[float] = deque(maxlen=_SAMPLES)
        self._cold: float | None = None
        self._seconds = 0.0
        self._traces = 0
        self._spent = self._saved = 0.0

    def ran_as_python(self, seconds: float) -> None:
        """Notes a run as Python; the first is cold, and no measure if there is another."""
        self.runs += 1
        self._seconds += seconds
        if self._cold is None:
            self._cold = seconds
        else:
            self._python.append(seconds)

    def ran_as_graph(self, seconds: float) -> None:
        """Notes a hit; the first ones, in which TensorFlow makes the graph ready, are cold too."""
        self.hits += 1
        self.misses = self.in_vain = 0
        self._saved += max((self.python or 0.0) - seconds, 0.0)
        if self.hits > 2:
            self._graph.append(seconds)

    @property
    def python(self) -> float | None:
        """Seconds as Python; None if it has not run so."""
        return median(self._python) if self._python else self._cold

    @property
    def graph(self) -> float | None:
        """Seconds as a graph; None if it has not run so."""
        return median(self._graph) if self._graph else None

    def is_worth_a_trace(self) -> bool:
        """Returns whether it runs long enough for a trace to save something."""
        if not self._python:
            return self._cold is not None and self._cold > COLD
        return median(self._python) > CALL

    def amortizes_tracing(self) -> bool:
        """Whether it has run so often, or so long, that as many runs to come would repay one."""
        return self.runs >= _RUNS_FOR_A_TRACE or self._seconds >= _SECONDS_FOR_A_TRACE

    def is_long(self) -> bool:
        """Returns whether it takes so long that even its gradient is sure to gain."""
        return self.python is not None and self.python > 4 * CALL

    def is_known_to_be_short(self, *, under_tape: bool = False) -> bool:
        """Returns whether enough was seen to say that no trace would save anything."""
        if len(self._python) < _SAMPLES_TO_SETTLE:
            return False
        return not self.is_long() if under_tape else median(self._python) <= CALL

    def may_find_a_trace(self) -> bool:
        """Returns whether to look for one: after some look-ups in vain only now and then."""
        return self.in_vain <= _LOOKS_IN_VAIN or self.in_vain & (self.in_vain - 1) == 0

    def wants_a_sample(self) -> bool:
        """Returns whether one more run as Python is wanted, to compare with."""
        taken = len(self._python)
        return taken < _SAMPLES_TO_SETTLE and self.hits >= _HITS_BEFORE_A_SAMPLE << taken

    def is_slower_as_graph(self) -> bool:
        """Returns whether it is to be Python because its graph was measured to be slower."""
        if len(self._graph) < _SAMPLES_TO_SETTLE or not self._python:
            return False
        return min(self._graph) > min(self._python)

    def traced(self, seconds: float) -> None:
        """Notes a trace, and what it took."""
        self.misses += 1
        self.in_vain = 0
        self._traces += 1
        self._spent += seconds

    def misses_too_often(self) -> bool:
        """Returns whether another trace would not repay itself, to go by those that were made."""
        costs_more = self._traces >= _TRACES_ON_TRIAL and self._saved < self._spent
        return self.misses >= _MAX_MISSES or costs_more
