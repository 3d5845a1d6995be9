"""Calls that are refused, or run eagerly, instead of being traced."""

from __future__ import annotations

from nbfn.errors import NbfnError


class RefusedError(NbfnError, RuntimeError):
    """A call was refused, before anything was traced, as the user requested.

    Attributes:
        page: The address of the documentation of the cause; None if there is none.
    """

    page: str | None = None


class TraceLimitError(RefusedError):
    """A call would have made one trace more than ``max_traces`` allows."""


class RetraceError(RefusedError):
    """A call would have retraced under the stance ``"fail_on_retrace"``."""


class StaleTraceError(RefusedError):
    """The trace of a call is stale, and ``on_stale`` is ``"raise"``."""


class EndlessTraceError(RefusedError, RecursionError):
    """A function calls itself while it is traced, over and over with the same kind of arguments."""


# Not an `Exception`, because TensorFlow's handlers must let it pass.
class RunEagerly(BaseException):
    """Makes the current call run eagerly instead of tracing; never leaves nbfn."""
