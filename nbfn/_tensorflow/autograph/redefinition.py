"""Discards what TensorFlow caches of a Python function whose code has been replaced."""

from __future__ import annotations

import contextlib
from types import FunctionType
from typing import Any

from nbfn._tensorflow.base import internal

_conversion = internal("autograph.impl.conversion")

_function_type_utils = internal("eager.polymorphic_function.function_type_utils")

_unconverted: Any = getattr(getattr(_conversion, "_ALLOWLIST_CACHE", None), "_cache", None)
_make_type: Any = getattr(_function_type_utils, "make_function_type", None)


def discard_conversion(function: FunctionType) -> None:
    """Makes AutoGraph convert a function again that it called without conversion.

    Without the internal cache, the function stays unconverted.
    """
    # AutoGraph remembers the function object (TensorFlow 2.21), which keeps its identity if a
    # reload replaces its code.
    if hasattr(_unconverted, "pop"):
        _unconverted.pop(function, None)


def renew_parameters(function: Any) -> None:
    """Updates a tf.function's parameters and defaults from its Python function.

    They are not changed if they do not fit its input signature, or if the internals are missing.
    """
    if _make_type is None or not hasattr(function, "_function_type"):
        return
    with contextlib.suppress(TypeError, ValueError):
        kind, defaults = _make_type(function.python_function, function.input_signature)
        function._function_type, function._default_values = kind, defaults
        # The tracing options, made by the first call, have them again (TensorFlow 2.21).
        for name in ("_variable_creation_config", "_no_variable_creation_config"):
            config = getattr(function, name, None)
            if config is not None:
                config.polymorphic_type, config.default_values = kind, defaults
