"""Summarizes an array: its range, and its values that are not finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nbfn.functions.calls.value_summary import number_text
from nbfn.text import tensor_type

MAX_VALUES = 6


@dataclass(frozen=True)
class Extent:
    """A summary of an array.

    Attributes:
        name: The user's name for it; empty if it is not known.
        dtype: Its dtype.
        shape: Its shape.
        low: Its lowest finite value; None if there is none.
        high: Its highest finite value.
        not_finite: Number of NaN and infinite values.
        values: Its first values, as text.
        at: Its value at the position of the wrong result, as text, if it has such a position.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    low: float | None
    high: float | None
    not_finite: int
    values: str = ""
    at: str = ""

    @property
    def type(self) -> str:
        """Dtype and shape, such as ``float32[64, 10]``."""
        return tensor_type(self.dtype, self.shape)

    @property
    def range(self) -> str:
        """The range of its finite values, and the number of others."""
        if self.low is None or self.high is None:
            text = ""
        elif self.low == self.high:
            text = number_text(self.low)
        else:
            text = f"{number_text(self.low)} to {number_text(self.high)}"
        if self.not_finite:
            return f"{text}{', ' if text else ''}{self.not_finite:,} not finite"
        return text

    def __str__(self) -> str:
        named = f"`{self.name}` " if self.name else ""
        is_whole = bool(self.values) and not self.values.endswith("…")
        text = self.values if is_whole or not self.range else self.range
        return f"{named}{self.type}{f': {text}' if text else ''}"


def extent_of(name: str, array: np.ndarray, at: tuple[int, ...] | None = None) -> Extent:
    """Returns the extent of an array; `at` is the position of a wrong value in the result."""
    low = high = None
    not_finite = 0
    if is_float(array) and array.dtype.kind != "c":
        finite = np.isfinite(array)
        not_finite = int(array.size - np.count_nonzero(finite))
        finite_values = array[finite] if not_finite else array
        if finite_values.size:
            low, high = float(finite_values.min()), float(finite_values.max())
    elif array.dtype.kind in "iu" and array.size:
        low, high = float(array.min()), float(array.max())
    first = array.reshape(-1)[: MAX_VALUES + 1]
    texts = [_text(each) for each in first[:MAX_VALUES]]
    values = ", ".join([*texts, "…"] if first.size > MAX_VALUES else texts)
    dtype = "string" if array.dtype.kind in "OSU" else array.dtype.name
    found = "" if at is None else _value_at(at, array)
    return Extent(name, dtype, array.shape, low, high, not_finite, values, found)


def _value_at(at: tuple[int, ...], array: np.ndarray) -> str:
    """Returns what an operand has for a position in the result, to whose shape it is broadcast."""
    if len(at) < array.ndim or not array.size:
        return ""
    # Broadcasting aligns shapes at their last axis.
    own = at[len(at) - array.ndim :]
    return number_text(
        array[tuple(min(i, size - 1) for i, size in zip(own, array.shape, strict=True))]
    )


def is_float(array: Any) -> bool:
    """Returns whether an array has real or complex floating numbers, including ``ml_dtypes``."""
    kind = array.dtype.kind
    return kind in "fc" or (kind == "V" and array.dtype.name.startswith(("bfloat", "float")))


def _text(value: Any) -> str:
    return number_text(value.decode(errors="replace") if isinstance(value, bytes) else value)


class Health(NamedTuple):
    """Numbers of NaN and of infinities in an array."""

    nan: int = 0
    inf: int = 0


def health_of(array: np.ndarray) -> Health:
    """Counts the NaN and the infinities of an array of floating numbers."""
    # A sum in float16 would overflow at 65504.
    wide = array if array.dtype.itemsize > 2 else array.astype(np.float32)
    with np.errstate(all="ignore"):
        if np.isfinite(wide.sum()):  # the cheapest test: then every value is finite
            return Health()
    return Health(int(np.count_nonzero(np.isnan(wide))), int(np.count_nonzero(np.isinf(wide))))
