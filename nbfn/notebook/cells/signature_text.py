"""Parses an input signature: ``x: float32[None, 8], n: int32``, or a Python list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
from IPython.core.error import UsageError

_ENTRY = re.compile(r"\s*(?P<name>\w+)\s*:\s*(?P<dtype>\w+)\s*(?:\[(?P<shape>[^\]]*)\])?\s*(?:,|$)")


def signature_of(text: str, parameters: Sequence[str], namespace: Mapping[str, Any]) -> list[Any]:
    """Parses an input signature.

    Args:
        text: Names with dtypes and shapes, where ``None`` or ``?`` is an open size and no brackets
            mean a scalar; or a Python list as for ``input_signature`` of ``nbfn.function``.
        parameters: The parameters of the function, in order.
        namespace: Where a Python list is evaluated.

    Returns:
        One specification for each parameter.

    Raises:
        UsageError: If it cannot be parsed, or does not name all parameters.
    """
    if text.lstrip().startswith(("[", "(")):
        return _evaluate(text, parameters, namespace)
    specs: dict[str, Any] = {}
    place = 0
    while place < len(text):
        entry = _ENTRY.match(text, place)
        if entry is None:
            raise UsageError(
                f"--signature: cannot read `{text[place:].strip()}`; "
                'write it as "x: float32[None, 8], n: int32"'
            )
        specs[entry["name"]] = _spec(entry["name"], entry["dtype"], entry["shape"])
        place = entry.end()
    if set(specs) != set(parameters):
        raise UsageError(
            f"--signature names {_list(specs)}; the parameters are {_list(parameters)}"
        )
    return [specs[name] for name in parameters]


def _evaluate(text: str, parameters: Sequence[str], namespace: Mapping[str, Any]) -> list[Any]:
    try:
        value = list(eval(text, dict(namespace)))
    except Exception as error:  # the expression may raise anything
        raise UsageError(f"--signature: {type(error).__name__}: {error}") from None
    if len(value) != len(parameters):
        raise UsageError(
            f"--signature has {len(value)} entries; the parameters are {_list(parameters)}"
        )
    return value


def _spec(name: str, dtype: str, shape: str | None) -> tf.TensorSpec:
    try:
        parsed = tf.dtypes.as_dtype(dtype)
    except TypeError:
        raise UsageError(f"--signature: `{name}` has the unknown dtype `{dtype}`") from None
    sizes = [size.strip() for size in (shape or "").split(",") if size.strip()]
    if sizes == ["..."]:
        return tf.TensorSpec(None, parsed, name)
    if not all(size in ("None", "?") or size.isdigit() for size in sizes):
        raise UsageError(f"--signature: `{name}` has the shape [{shape}]; use numbers and None")
    return tf.TensorSpec([int(s) if s.isdigit() else None for s in sizes], parsed, name)


def _list(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
