"""Statistics of the values of variables, and their changes since the last reading."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.outlines.outline import Outline, Table
from nbfn.text import count, tensor_type

BINS = 12
_BLOCKS = "▁▂▃▄▅▆▇█"

MAX_ELEMENTS = 4_000_000
"""Maximum size of a variable of which a copy is kept; larger ones have no `change`."""
MAX_COPIED = 25_000_000
"""Maximum number of elements in all copies together: 100 MB."""

_Copy = tuple[weakref.ReferenceType[Any], np.ndarray[Any, Any]]


class _Copies:
    """Copies of variables' values, by id, because a tf.Variable has no hash (TensorFlow 2.21)."""

    def __init__(self) -> None:
        self._held: dict[int, _Copy] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._held)

    def add(self, variable: tf.Variable, values: np.ndarray[Any, Any]) -> None:
        """Keeps a copy until the variable is garbage-collected, or there is no room."""
        key = id(variable)
        self._held[key] = weakref.ref(variable, lambda _: self.pop(key)), values
        self._size += values.size
        # The first is the one that was read longest ago: `difference` removes a copy and adds
        # another.
        while self._size > MAX_COPIED:
            self.pop(next(iter(self._held)))

    def pop(self, key: int) -> np.ndarray[Any, Any] | None:
        """Removes the copy of a variable and returns it."""
        _, values = self._held.pop(key, (None, None))
        self._size -= 0 if values is None else values.size
        return values


_copies = _Copies()


@dataclass(frozen=True)
class VariableStatistics:
    """Statistics of one variable. Those that its dtype does not allow are None.

    Attributes:
        name: The notebook's name for it.
        shape: Its shape.
        dtype: Name of its dtype.
        mean: Mean of the finite values.
        deviation: Their standard deviation.
        minimum: Their minimum.
        maximum: Their maximum.
        not_finite: Number of values that are infinite or not a number.
        histogram: Number of finite values in each of `BINS` intervals of equal width, from the
            minimum to the maximum.
        change: Norm of the difference from the last reading, relative to the norm then; None at
            the first reading.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    mean: float | None = None
    deviation: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    not_finite: int = 0
    histogram: tuple[int, ...] = ()
    change: float | None = None

    @property
    def bars(self) -> str:
        """The histogram as a line of blocks; the lowest block is an empty interval."""
        top = max(self.histogram, default=0)
        return "".join(_BLOCKS[-(-each * (len(_BLOCKS) - 1) // top)] for each in self.histogram)


class Statistics(tuple[VariableStatistics, ...]):
    """Statistics of several variables."""

    __slots__ = ()

    def __repr__(self) -> str:
        return statistics_outline(self).text()


def statistics_of(named: Iterable[tuple[str, tf.Variable]]) -> Statistics:
    """Computes the statistics of variables, and keeps copies for the next `change`."""
    return Statistics(_statistics_of(name, variable) for name, variable in named)


def quick_statistics(named: Iterable[tuple[str, tf.Variable]], seconds: float) -> Statistics:
    """Computes the statistics of as many variables as the time allows, without `change`."""
    end = time.monotonic() + seconds
    found = []
    for name, variable in named:
        if time.monotonic() > end:
            break
        found.append(_statistics_of(name, variable, is_noted=False))
    return Statistics(found)


def _statistics_of(name: str, variable: tf.Variable, is_noted: bool = True) -> VariableStatistics:
    values = np.asarray(variable.numpy())  # dtype object for strings
    figures: dict[str, Any] = {"shape": values.shape, "dtype": variable.dtype.name}
    # "V" is the kind of bfloat16, which ml_dtypes adds to NumPy.
    if values.dtype.kind not in "biufV" or not values.size:
        return VariableStatistics(name, **figures)
    values = values.astype(np.float64).ravel()
    finite = values[np.isfinite(values)]
    figures["not_finite"] = values.size - finite.size
    if is_noted:
        figures["change"] = _change(variable, values)
    if finite.size:
        histogram, _ = np.histogram(finite, BINS)
        figures |= {
            "mean": float(finite.mean()),
            "deviation": float(finite.std()),
            "minimum": float(finite.min()),
            "maximum": float(finite.max()),
            "histogram": tuple(map(int, histogram)),
        }
    return VariableStatistics(name, **figures)


def _change(variable: tf.Variable, values: np.ndarray[Any, Any]) -> float | None:
    found = difference(variable, values)
    if found is None:
        return None
    distance, length = found
    return distance / length if length else float(distance > 0)


def difference(variable: tf.Variable, values: np.ndarray[Any, Any]) -> tuple[float, float] | None:
    """Returns how far a variable's values, flattened, are from those at the last reading.

    A copy of the values is kept for the next reading.

    Returns:
        The norm of the difference, and the norm of the earlier values; None at the first reading
        and after the variable got another shape.
    """
    before = _copies.pop(id(variable))
    if values.size <= MAX_ELEMENTS:
        _copies.add(variable, values.astype(np.float32))
    if before is None or before.size != values.size:
        return None
    # The values may be infinite, or overflow in float32.
    with np.errstate(all="ignore"):
        distance = np.linalg.norm(values.astype(np.float32) - before)
        length = np.linalg.norm(before)
    return (float(distance), float(length)) if np.isfinite(distance) else None


_HEADER = (
    "name",
    "dtype and shape",
    "values",
    "mean ± deviation",
    "from",
    "to",
    "not finite",
    "change",
)


def statistics_outline(statistics: Statistics) -> Outline:
    """Builds the outline of variables' values."""
    rows = [_row(each) for each in statistics]
    return Outline(
        f"values of {count(len(statistics), 'variable')}",
        (),
        (Table("variables", _HEADER, rows, open=True),),
    )


def _row(each: VariableStatistics) -> tuple[str, ...]:
    numbers = ("", "", "")
    if each.mean is not None:
        spread = f"{each.mean:.4g} ± {each.deviation:.3g}"
        numbers = spread, f"{each.minimum:.4g}", f"{each.maximum:.4g}"
    return (
        each.name,
        tensor_type(each.dtype, each.shape),
        each.bars,
        *numbers,
        f"{each.not_finite:,}" if each.not_finite else "",
        _share(each.change),
    )


def _share(change: float | None) -> str:
    return "" if change is None else "none" if change == 0 else f"{change:.2%}"
