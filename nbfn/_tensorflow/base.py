"""The class of tf.functions, and what to say where an internal is missing."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import tensorflow as tf

from nbfn.errors import NbfnWarning


def internal(module: str) -> Any:
    """A module of TensorFlow's internals by its path; None where there is none."""
    try:
        return importlib.import_module(f"tensorflow.python.{module}")
    except ImportError:
        return None


_save_context = internal("saved_model.save_context")
_Function = TypeVar("_Function", bound=Callable[..., Any])

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


def no_autograph(function: _Function) -> _Function:
    """Keeps AutoGraph from converting a function, and what that calls."""
    unconverted: _Function = tf.autograph.experimental.do_not_convert(function)
    return unconverted


def no_autograph_fast(function: _Function) -> _Function:
    """The same by a mark, which costs nothing when the function is called.

    It is for what is called often, and calls no function of the user's that may be traced.
    """
    unconverted = no_autograph(function)
    if not hasattr(unconverted, "autograph_info__"):  # marks are called something else
        return unconverted
    function.autograph_info__ = None  # type: ignore[attr-defined]
    return function


def saving() -> bool:
    """Whether a SavedModel is being written on this thread; False where that cannot be told."""
    return bool(_save_context is not None and _save_context.in_save_context())
