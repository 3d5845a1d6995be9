"""Who runs traced functions on replicas. Set by a session with a strategy; else nobody does."""

from __future__ import annotations

from typing import Any, Protocol


class Runner(Protocol):
    """What has functions run on replicas."""

    def adopt(self, function: Any, args: Any, kwargs: Any) -> None:
        """Sees a call that no known trace serves, and may set the function's strategy."""


class _Current:
    runner: Runner | None = None


current = _Current()
"""The runner of this process."""
