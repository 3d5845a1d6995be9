"""The class of tf.functions, and access to internals that may be missing."""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import Any

import tensorflow as tf

from nbfn.errors import NbfnWarning


def internal(module: str, *names: str) -> Any:
    """Imports an internal module of TensorFlow by its path.

    Returns:
        None if it does not exist, or has not all of these names.
    """
    try:
        found = importlib.import_module(f"tensorflow.python.{module}")
    except ImportError:
        return None
    return found if all(hasattr(found, name) for name in names) else None


_save_context = internal("saved_model.save_context")

tf_function: Any = tf.function
"""``tf.function`` as it was when nbfn was imported; a notebook may replace it."""
Function: type = type(tf_function(lambda: None))
"""The class of the objects that ``tf.function`` returns; it is not public (TensorFlow 2.21)."""


@functools.cache
def degraded(what: str) -> None:
    """Warns, once for each text, that this TensorFlow lacks an internal that nbfn reads."""
    warnings.warn(
        f"TensorFlow {tf.__version__} does not offer what nbfn needs to show {what}; "
        "results are the same, but you will see less.",
        NbfnWarning,
        stacklevel=3,
    )


def saving() -> bool:
    """Returns whether this thread is writing a SavedModel; False if unknown."""
    return bool(_save_context is not None and _save_context.in_save_context())
