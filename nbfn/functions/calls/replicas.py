"""Who runs traced functions on replicas. A session with a strategy says so; nobody does else."""

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
