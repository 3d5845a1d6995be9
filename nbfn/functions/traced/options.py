"""The options of `nbfn.function` that ``tf.function`` does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from nbfn.functions.guards import OnStale
from nbfn.functions.recording.limit import Limit, OnLimit
from nbfn.functions.signatures.pattern import Pattern


@dataclass(frozen=True)
class Options:
    """The options of one function; see `nbfn.function`.

    Raises:
        ValueError: If one is out of range.
    """

    max_traces: int | None = 16
    on_limit: OnLimit = "warn"
    on_stale: OnStale = "retrace"
    infer_signature_from_first_call: bool = False
    local_state: bool = False
    pattern: Pattern | None = None

    def __post_init__(self) -> None:
        self.limit()
        if self.on_stale not in get_args(OnStale):
            expected = ", ".join(map(repr, get_args(OnStale)))
            raise ValueError(f"on_stale is {self.on_stale!r}, expected one of {expected}")

    def limit(self) -> Limit:
        """Returns a new limit for one function."""
        return Limit(self.max_traces, self.on_limit)
