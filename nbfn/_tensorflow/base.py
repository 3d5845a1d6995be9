"""The class of tf.functions, and what to say where an internal is missing."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import tensorflow as tf

from nbfn.errors import NbfnWarning

try:
    from tensorflow.python.saved_model import save_context as _save_context
except ImportError:
    _save_context = None

_Method = TypeVar("_Method", bound=Callable[..., Any])

tf_function: Any = tf.function
"""``tf.function`` as nbfn found it, which a notebook may set to `nbfn.function` later."""
Function: type = type(tf_function(lambda: None))
"""The class of what ``tf.function`` returns."""


@functools.cache
def degraded(what: str) -> None:
    """Warns, once for each text, that this TensorFlow lacks an internal that nbfn reads."""
    warnings.warn(
        f"TensorFlow {tf.__version__} does not offer what nbfn needs to show {what}; "
        "results are the same, but you will see less.",
        NbfnWarning,
        stacklevel=3,
    )


def unconverted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps AutoGraph from converting a function; where it can be marked, calls cost nothing."""
    wrapped = tf.autograph.experimental.do_not_convert(fn)
    if not hasattr(wrapped, "autograph_info__"):
        return wrapped  # type: ignore[no-any-return]
    fn.autograph_info__ = None  # type: ignore[attr-defined]
    return fn


def as_it_is(method: _Method) -> _Method:
    """Marks a function that AutoGraph must call as it is, and not convert."""
    method.autograph_info__ = {}  # type: ignore[attr-defined]
    return method


def saving() -> bool:
    """Whether a SavedModel is being written on this thread; False where that cannot be told."""
    return bool(_save_context is not None and _save_context.in_save_context())
