"""The options of `nbfn.function` that ``tf.function`` does not have."""

from __future__ import annotations

from dataclasses import dataclass

from nbfn.functions.guards.guards import OnStale, check_on_stale
from nbfn.functions.recording.limit import Limit, OnLimit
from nbfn.functions.signatures.pattern import Pattern


@dataclass(frozen=True)
class Options:
    """The options of one function; `nbfn.function` says what they mean.

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
        check_on_stale(self.on_stale)

    def limit(self) -> Limit:
        """A limit of its own for one function."""
        return Limit(self.max_traces, self.on_limit)
