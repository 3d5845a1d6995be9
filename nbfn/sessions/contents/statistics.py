"""What the values of variables look like, and how they have changed since somebody looked last."""

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
"""Of larger variables no copy is kept, so that no change can be told."""
MAX_COPIED = 25_000_000
"""So many elements are kept of all variables together: 100 MB."""

_copies: dict[int, tuple[weakref.ReferenceType[Any], np.ndarray[Any, Any]]] = {}


@dataclass(frozen=True)
class VariableStatistics:
    """The values of one variable. What cannot be told of its dtype is None.

    Attributes:
        name: The notebook's name for it.
        shape: Its shape.
        dtype: Name of its dtype.
        mean: Mean of the finite values.
        deviation: Their standard deviation.
        minimum: The least of them.
        maximum: The greatest of them.
        not_finite: How many values are infinite or not a number.
        histogram: How many finite values are in each of `BINS` intervals of equal width, from the
            least to the greatest.
        change: Norm of the difference from the last look, as a share of the norm then; None at the
            first look.
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
        """The histogram as a line of blocks; an empty interval is the lowest."""
        top = max(self.histogram, default=0)
        return "".join(_BLOCKS[-(-each * (len(_BLOCKS) - 1) // top)] for each in self.histogram)

    def __str__(self) -> str:
        parts = [f"{self.name}: {self.dtype}{list(self.shape)}"]
        if self.mean is not None:
            parts.append(f"{self.mean:.4g} ± {self.deviation:.3g}")
            parts.append(f"{self.minimum:.4g} to {self.maximum:.4g}")
        if self.not_finite:
            parts.append(f"{self.not_finite:,} not finite")
        if self.change is not None:
            parts.append("unchanged" if self.change == 0 else f"changed by {self.change:.2%}")
        return ", ".join([*parts, self.bars] if self.histogram else parts)


class Statistics(tuple[VariableStatistics, ...]):
    """The values of several variables, by their names."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join([count(len(self), "variable"), *(f"  {each}" for each in self)])


def statistics_of(named: Iterable[tuple[str, tf.Variable]]) -> Statistics:
    """Looks at the values of variables."""
    return Statistics(_look(name, variable) for name, variable in named)


def glimpsed(named: Iterable[tuple[str, tf.Variable]], seconds: float) -> Statistics:
    """Looks at as many as some seconds allow, which is no look from which a change is told."""
    end = time.monotonic() + seconds
    found = []
    for name, variable in named:
        if time.monotonic() > end:
            break
        found.append(_look(name, variable, is_noted=False))
    return Statistics(found)


def _look(name: str, variable: tf.Variable, is_noted: bool = True) -> VariableStatistics:
    values = np.asarray(variable.numpy())  # of a string it is bytes
    known: dict[str, Any] = {"shape": values.shape, "dtype": variable.dtype.name}
    if values.dtype.kind not in "biufV" or not values.size:
        return VariableStatistics(name, **known)
    values = values.astype(np.float64).ravel()
    finite = values[np.isfinite(values)]
    known["not_finite"] = values.size - finite.size
    if is_noted:
        known["change"] = _change(variable, values)
    if finite.size:
        histogram, _ = np.histogram(finite, BINS)
        known |= {
            "mean": float(finite.mean()),
            "deviation": float(finite.std()),
            "minimum": float(finite.min()),
            "maximum": float(finite.max()),
            "histogram": tuple(map(int, histogram)),
        }
    return VariableStatistics(name, **known)


def _change(variable: tf.Variable, values: np.ndarray[Any, Any]) -> float | None:
    found = difference(variable, values)
    if found is None:
        return None
    distance, length = found
    return distance / length if length else float(distance > 0)


def difference(variable: tf.Variable, values: np.ndarray[Any, Any]) -> tuple[float, float] | None:
    """How far a variable's values, as one row, are from the last look's; notes them for the next.

    Returns:
        The norm of the difference, and the norm of the values then; None at the first look.
    """
    reference, before = _copies.pop(id(variable), (None, None))
    if values.size <= MAX_ELEMENTS:
        _copies[id(variable)] = weakref.ref(variable), values.astype(np.float32)
        while sum(copy.size for _, copy in _copies.values()) > MAX_COPIED:
            del _copies[next(iter(_copies))]
    # Another variable may have the address of one that is gone.
    if before is None or reference is None or reference() is not variable:
        return None
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
    """Returns what is shown of the values of variables."""
    rows = [_row(each) for each in statistics]
    return Outline(
        f"values of {count(len(statistics), 'variable')}",
        (),
        (Table("variables", _HEADER, rows, open=True),),
    )


def _row(each: VariableStatistics) -> tuple[str, ...]:
    shape = tensor_type(each.dtype, each.shape)
    if each.mean is None:
        return (each.name, shape, "", "", "", "", _counted(each.not_finite), _share(each.change))
    return (
        each.name,
        shape,
        each.bars,
        f"{each.mean:.4g} ± {each.deviation:.3g}",
        f"{each.minimum:.4g}",
        f"{each.maximum:.4g}",
        _counted(each.not_finite),
        _share(each.change),
    )


def _counted(number: int) -> str:
    return f"{number:,}" if number else ""


def _share(change: float | None) -> str:
    return "" if change is None else "none" if change == 0 else f"{change:.2%}"
