"""Clear errors for calls whose arguments do not fit, or cannot be keyed."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import tensorflow as tf

from nbfn.code import is_user_module
from nbfn.functions.signatures.pattern import SignatureError, match
from nbfn.functions.traces.key import leaves_in
from nbfn.text import with_article

_MISFIT = "Binding inputs to tf.function failed"
"""The beginning of TensorFlow's error for arguments that do not fit (TensorFlow 2.21).

The arguments follow after "Received args:".
"""


def clearer_error(function: Any, args: Any, kwargs: Any, error: TypeError) -> SignatureError | None:
    """Returns a clearer error about arguments; None if the error is about something else."""
    return _misfit(function, args, kwargs, error) or _refusal(function, args, kwargs, error)


def _misfit(function: Any, args: Any, kwargs: Any, error: TypeError) -> SignatureError | None:
    """Replaces TensorFlow's error, which quotes every argument in full.

    Returns:
        A one-line error that gives TensorFlow's reason; None for other errors.
    """
    text = str(error)
    if not text.startswith(_MISFIT):
        return None
    reason, why = text.partition(". Received args:")[0], _why(function, args, kwargs)
    return SignatureError(f"`{function.label}`: {why}" + ("" if why in reason else f" ({reason})"))


_UNHASHABLE = "Could not generate a generic TraceType"
"""The beginning of TensorFlow's error for a value without a hash (TensorFlow 2.21)."""


def _refusal(function: Any, args: Any, kwargs: Any, error: TypeError) -> SignatureError | None:
    """Replaces TensorFlow's error for an unhashable argument, which quotes it in full.

    Returns:
        An error that names the argument and what to pass; None for other errors.
    """
    if not str(error).startswith(_UNHASHABLE):
        return None
    try:
        arguments = inspect.signature(function.python_function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        arguments = dict(kwargs) | {f"argument {i + 1}": each for i, each in enumerate(args)}
    for name, value in arguments.items():
        for path, leaf in filter(_is_unhashable, leaves_in(value, name)):
            kind = type(leaf).__name__
            return SignatureError(
                f"`{function.label}`: `{path}` is {with_article(kind)}, which has no hash, so no "
                f"trace can be found for it. {_instead_of(leaf, path, kind)}"
            )
    return None


def _is_unhashable(named: tuple[str, Any]) -> bool:
    value = named[1]
    if tf.is_tensor(value) or hasattr(value, "__array_interface__"):
        return False
    try:
        hash(value)
    except TypeError:
        return True
    return False


def _instead_of(value: Any, path: str, kind: str) -> str:
    if isinstance(value, set):
        return f"Pass frozenset({path})"
    if dataclasses.is_dataclass(value):
        return (
            f"Make {kind} a typing.NamedTuple, or a tf.experimental.ExtensionType: then the "
            "tensors in it are arguments, too"
        )
    advice = "Pass the tensors and numbers that it holds"
    if is_user_module(type(value).__module__):
        return f"{advice}, or give {kind} a __hash__"
    return advice


def _why(function: Any, args: Any, kwargs: Any) -> str:
    try:
        bound = inspect.signature(function.python_function).bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    except ValueError:  # a C function may have no signature
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
