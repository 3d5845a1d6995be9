"""Limits the number of traces of a function, and warns of many retraces.

RFC "Functions, not Sessions", section "Trace Caches" ("too many traces").
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from nbfn.functions.recording.refusal import RunEagerly, TraceLimitError
from nbfn.site import warn
from nbfn.text import count, reasons

if TYPE_CHECKING:
    from nbfn.functions.traces.cause import Cause, Retrace

OnLimit = Literal["warn", "raise", "evict", "eager"]


RETRACES, CALLS = 5, 10
"""This many retraces within this many calls cause a warning.

TensorFlow's own warning has the same numbers (``FREQUENT_TRACING_WARNING_THRESHOLD``, 2.21).
"""


@dataclass
class Limit:
    """The limit of one function.

    Attributes:
        max_traces: Traces that it may have; None for no limit.
        on_limit: What happens on the next miss: warn once, raise `TraceLimitError`, evict the
            least recently used trace, or run that call eagerly.

    Raises:
        ValueError: If either is out of range.
    """

    max_traces: int | None = 16
    on_limit: OnLimit = "warn"
    _needless: deque[int] = field(default_factory=lambda: deque(maxlen=RETRACES), repr=False)
    _warned: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        is_whole = isinstance(self.max_traces, int) and not isinstance(self.max_traces, bool)
        if self.max_traces is not None and not (is_whole and self.max_traces >= 1):
            raise ValueError(
                f"max_traces is {self.max_traces!r}, expected None or a whole number from 1"
            )
        if self.on_limit not in get_args(OnLimit):
            expected = ", ".join(map(repr, get_args(OnLimit)))
            raise ValueError(f"on_limit is {self.on_limit!r}, expected one of {expected}")

    def check(self, name: Callable[[], str], traces: int, why: Callable[[], str]) -> None:
        """Checks, before a trace is made, that the limit allows it. May raise."""
        if self.max_traces is None or traces < self.max_traces:
            return
        if self.on_limit in ("warn", "evict"):
            return
        if self.on_limit == "eager":
            raise RunEagerly
        raise TraceLimitError(
            f"`{name()}` has {count(traces, 'trace')}, max_traces is {self.max_traces}, and this "
            f"call needs one more: {why()}"
        )

    def warn(self, name: str, traces: int, retrace: Retrace) -> None:
        """Warns once when a retrace exceeds the limit; called after each retrace."""
        if self.max_traces is None or traces <= self.max_traces or "limit" in self._warned:
            return
        if self.on_limit != "warn":
            return
        # Before `warn`, which raises if the user has made warnings errors.
        self._warned.add("limit")
        advice = f" {retrace.remedy}" if retrace.remedy else ""
        warn(
            f"`{name}` has {traces} traces (max_traces is {self.max_traces}). "
            f"The last one: {retrace.causes[0].sentence}.{advice}"
        )

    def excess(self, traces: int) -> int:
        """Returns the number of traces to evict."""
        if self.max_traces is None or self.on_limit != "evict":
            return 0
        return max(traces - self.max_traces, 0)

    def warn_of_ratio(self, name: str, calls: Sequence[int], retraces: Sequence[Retrace]) -> None:
        """Warns once if retraces are frequent; called after each retrace.

        They are frequent if there are five in ten calls, or if one changing Python number has
        caused five, at any distance: such a number will change again.

        Args:
            name: The function's name.
            calls: The numbers of the calls that made the last of them, at most five.
            retraces: All of them that the signature does not declare.
        """
        if len(retraces) < RETRACES or "ratio" in self._warned:
            return
        shared = Counter((c.code, c.path) for each in retraces for c in each.causes)
        (code, path), often = shared.most_common(1)[0]
        is_dense = len(calls) == RETRACES and calls[-1] - calls[0] < CALLS
        remedy = retraces[-1].remedy
        keeps_changing = code == "python_value" and often >= RETRACES and remedy and remedy.code
        if not (is_dense or keeps_changing):
            return
        self._warned.add("ratio")
        newest, remedy = next(
            (cause, each.remedy)
            for each in reversed(retraces)
            for cause in each.causes
            if (cause.code, cause.path) == (code, path)
        )
        shares = "all" if often == len(retraces) else f"{often} of them"
        warn(
            f"`{name}` has retraced {len(retraces)} times in {count(calls[-1], 'call')}; "
            + (f"{shares} share a cause: " if often > 1 else "the last one: ")
            + f"{newest.sentence}."
            + (f"\n{remedy}" if remedy else "")
        )

    def warn_of_needless_traces(self, name: str, calls: int, causes: Sequence[Cause]) -> None:
        """Warns once if five of ten calls are traced for changes that make no difference.

        Args:
            name: The function's name.
            calls: Number of its calls, this one included.
            causes: What has changed since the trace that also serves this call.
        """
        self._needless.append(calls)
        is_dense = len(self._needless) == RETRACES and calls - self._needless[0] < CALLS
        if not (is_dense and causes) or "needless" in self._warned:
            return
        self._warned.add("needless")
        warn(
            f"`{name}` was traced in {RETRACES} of its last {calls - self._needless[0] + 1} calls "
            f"only to find that what has changed makes no difference: {reasons(causes)}.\n"
            "Keep it the same in all calls, or ignore such changes: "
            'nbfn.function(…, on_stale="ignore")'
        )
