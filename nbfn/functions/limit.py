"""How many traces a function may have, and what happens at the limit.

RFC "Functions, not Sessions", section "Trace Caches" ("too many traces").
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from nbfn.errors import NbfnError, NbfnWarning
from nbfn.functions.text import count

if TYPE_CHECKING:
    from nbfn.functions.retrace import Retrace

OnLimit = Literal["warn", "raise", "eager"]


class TraceLimitError(NbfnError, RuntimeError):
    """A call would have made one trace more than ``max_traces`` allows."""


class EagerOnLimit(BaseException):
    """Tells the call that is running to run eagerly instead of tracing; never leaves nbfn."""


@dataclass
class Limit:
    """The limit of one function.

    Attributes:
        max_traces: Traces that it may have; None for no limit.
        on_limit: What happens on the next miss: warn once, raise `TraceLimitError`, or run that
            call eagerly.

    Raises:
        ValueError: If either is out of range.
    """

    max_traces: int | None = 16
    on_limit: OnLimit = "warn"
    _warned: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if self.max_traces is not None and self.max_traces < 1:
            raise ValueError(f"max_traces is {self.max_traces}, expected None or at least 1")
        if self.on_limit not in get_args(OnLimit):
            expected = ", ".join(map(repr, get_args(OnLimit)))
            raise ValueError(f"on_limit is {self.on_limit!r}, expected one of {expected}")

    def check(self, name: str, traces: int) -> None:
        """Is asked before a trace is made; may raise."""
        if self.max_traces is None or traces < self.max_traces or self.on_limit == "warn":
            return
        if self.on_limit == "eager":
            raise EagerOnLimit
        raise TraceLimitError(
            f"`{name}` has {count(traces, 'trace')}, max_traces is {self.max_traces}, and this "
            "call needs one more; look at its .retraces for the causes, or raise max_traces"
        )

    def warn(self, name: str, traces: int, retrace: Retrace) -> None:
        """Is told of each retrace; warns once when the limit is passed."""
        if self.max_traces is None or traces <= self.max_traces or self._warned:
            return
        self._warned = True
        advice = f" {retrace.remedy.sentence}." if retrace.remedy else ""
        warnings.warn(
            f"`{name}` has {traces} traces (max_traces is {self.max_traces}). "
            f"The last one: {retrace.causes[0].sentence}.{advice}",
            NbfnWarning,
            stacklevel=2,
        )
