"""Functions for nbfn's own use, and the random state around them."""

from __future__ import annotations

from typing import Any

from nbfn._tensorflow.base import Function, internal, tf_function
from nbfn._tensorflow.tracing.cache import mute_tracing_warning
from nbfn._tensorflow.tracing.tracing import ScopedFunction

_context = internal("eager.context")


class UnlistedFunction(ScopedFunction):
    """A tf.function that nbfn makes for its own use, and that is shown nowhere."""


def unlisted(function: Any, kind: type) -> Any:
    """A function of the same Python function with the same options, and no traces.

    Args:
        function: The function.
        kind: The class of the new one, an `UnlistedFunction`.
    """
    if hasattr(Function, "_clone"):
        made = Function._clone(function, None)
    else:
        made = tf_function(function.python_function, input_signature=function.input_signature)
    made.__class__ = kind
    mute_tracing_warning(made)
    return made


def eager_random_state() -> Any:
    """The state from which eager operations draw their seeds; None where it cannot be told."""
    numbers: Any = getattr(_context.context(), "_rng", None) if _context is not None else None
    return numbers.getstate() if hasattr(numbers, "getstate") else None


def put_eager_random_state_back(state: Any) -> None:
    """Puts back what `eager_random_state` gave."""
    if state is not None and _context is not None:
        _context.context()._rng.setstate(state)
