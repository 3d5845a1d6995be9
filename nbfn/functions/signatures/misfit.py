"""Says in one line why the arguments of a call do not fit a function or its input signature."""

from __future__ import annotations

import inspect
from typing import Any

from nbfn.functions.signatures.pattern import SignatureError, match

_OF_TENSORFLOW = "Binding inputs to tf.function failed"


def plain_misfit(function: Any, args: Any, kwargs: Any, error: TypeError) -> SignatureError | None:
    """What to raise in place of TensorFlow's error, which quotes every argument whole.

    Args:
        function: The traced function.
        args: The call's positional arguments.
        kwargs: The call's keyword arguments.
        error: What TensorFlow raised.

    Returns:
        An error of one line that ends with TensorFlow's reason; None if it is about something else.
    """
    text = str(error)
    if not text.startswith(_OF_TENSORFLOW):
        return None
    reason = text.partition(". Received args:")[0]
    return SignatureError(f"`{function.label}`: {_why(function, args, kwargs)} ({reason})")


def _why(function: Any, args: Any, kwargs: Any) -> str:
    try:
        bound = inspect.signature(function.python_function).bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    except ValueError:  # a function of C has no signature
        return "the arguments do not fit"
    bound.apply_defaults()
    for (name, value), spec in zip(
        bound.arguments.items(), function.input_signature or (), strict=False
    ):
        try:
            match(name, spec, value)
        except SignatureError as error:
            return str(error)
    return "the arguments do not fit its input signature"
