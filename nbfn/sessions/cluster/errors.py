"""The errors of strategies and clusters."""

from __future__ import annotations

from nbfn.errors import NbfnError


class StrategyError(NbfnError, ValueError):
    """Raised if a strategy cannot be used in this way."""


class ConnectError(NbfnError, ValueError):
    """Raised if a cluster cannot be connected; nothing was connected."""
