"""The class of tf.functions, and what to say where an internal is missing."""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import Any

import tensorflow as tf

from nbfn.errors import NbfnWarning


def internal(module: str) -> Any:
    """A module of TensorFlow's internals by its path; None where there is none."""
    try:
        return importlib.import_module(f"tensorflow.python.{module}")
    except ImportError:
        return None


_save_context = internal("saved_model.save_context")

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


def saving() -> bool:
    """Whether a SavedModel is being written on this thread; False where that cannot be told."""
    return bool(_save_context is not None and _save_context.in_save_context())
