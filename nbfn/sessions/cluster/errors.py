"""What goes wrong between several devices and machines."""

from __future__ import annotations

from nbfn.errors import NbfnError


class StrategyError(NbfnError, ValueError):
    """A strategy cannot be used like this."""


class ConnectError(NbfnError, ValueError):
    """A cluster cannot be connected; nothing was connected."""
