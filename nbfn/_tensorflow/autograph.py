"""AutoGraph around the user's functions that nbfn calls where TensorFlow would not convert them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

_autograph: Any = getattr(getattr(tf, "__internal__", None), "autograph", None)
_KNOWN = all(hasattr(_autograph, name) for name in ("control_status_ctx", "tf_convert"))


class Conversion:
    """Whether AutoGraph converts code at the place where this was made.

    Where TensorFlow does not tell, functions are called as they are.
    """

    def __init__(self, by_default: bool = False) -> None:
        """Looks at the code that runs now on this thread.

        Args:
            by_default: Whether to convert where nothing says so, as a tf.function does.
        """
        self._by_default = by_default
        self._context = _autograph.control_status_ctx() if _KNOWN else None

    def call(self, fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Calls the user's function as if it were called at that place, on this thread."""
        if self._context is None:
            return fn(*args, **kwargs)
        name = getattr(self._context.status, "name", "")
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._context)
            if name == "ENABLED" or (name == "UNSPECIFIED" and self._by_default):
                called = _autograph.tf_convert(_called, self._context, user_requested=True)
                return called(fn, args, dict(kwargs))
            return fn(*args, **kwargs)


def _called(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    # Converted itself, so that conversion is on also below functions that are never converted.
    return fn(*args, **kwargs)
