"""What a traced cell hands back: the graph's tensors, and Python values as they were traced."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

_LITERALS = (bool, int, float, complex, str, bytes, type(None), np.generic)


@dataclass(frozen=True)
class Slot:
    """Stands for the n-th output of the graph."""

    number: int


class _Gone:
    """Stands for a Python object that did not outlive the trace, such as a gradient tape."""


GONE = _Gone()


class Outputs:
    """Parts the results of a traced cell, and puts them together again after a call.

    The part that is no tensor is kept with each trace: Python values and arrays as they are, other
    objects strongly until the notebook has them, and weakly from then on.

    Attributes:
        latest: The parts that `collect` found last.
        keep: Is given the parts, to keep them with the trace that is being made.
    """

    def __init__(self) -> None:
        self.latest: dict[str, Any] | None = None
        self.keep: Callable[[Any], None] = lambda _: None

    @tf.autograph.experimental.do_not_convert
    def collect(self, results: dict[str, Any], possible: dict[str, Callable[[], Any]]) -> list[Any]:
        """Is called at the end of the cell, while it is traced or run eagerly.

        Args:
            results: The names that the cell surely assigned.
            possible: Gives the values of the names that it may have assigned.

        Returns:
            The graph's outputs.
        """
        tensors: list[Any] = []
        for name, read in possible.items():
            with contextlib.suppress(NameError):
                results[name] = read()
        self.latest = {name: _part(value, tensors) for name, value in results.items()}
        self.keep(self.latest)
        return tensors

    @staticmethod
    def restore(template: dict[str, Any], tensors: list[Any]) -> dict[str, Any]:
        """The results by name, from a trace's template and one call's tensors."""
        restored = {name: _join(value, tensors) for name, value in template.items()}
        return {name: value for name, value in restored.items() if value is not GONE}


class Held:
    """An object that the cell made, or that it gave another name."""

    def __init__(self, value: Any) -> None:
        self._strong = value
        try:
            self._weak: Any = weakref.ref(value)
        except TypeError:
            self._weak = None

    def get(self) -> Any:
        """The object, or `GONE`."""
        if self._weak is None:
            return self._strong
        target = self._weak()
        return GONE if target is None else target

    def loosen(self) -> None:
        """Lets go of the object, if it can be held weakly."""
        if self._weak is not None:
            self._strong = None


def loosen(part: Any) -> None:
    """Lets go of the objects in a part, now that the notebook has them."""
    if isinstance(part, Held):
        part.loosen()
    elif isinstance(part, dict):
        for item in part.values():
            loosen(item)
    elif isinstance(part, (list, tuple)):
        for item in part:
            loosen(item)


def _part(value: Any, tensors: list[Any]) -> Any:
    if isinstance(value, dict):
        return {key: _part(item, tensors) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_part(item, tensors) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_part(item, tensors) for item in value)
    if isinstance(value, tf.GradientTape):
        return GONE
    if isinstance(value, tf.Variable):
        return Held(value)
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (*_LITERALS, type, tf.DType, tf.TensorShape)):
        return value
    if tf.is_tensor(value) or isinstance(value, tf.TensorArray):
        tensors.append(value)
        return Slot(len(tensors) - 1)
    return Held(value)


def _join(value: Any, tensors: list[Any]) -> Any:
    if isinstance(value, Slot):
        return tensors[value.number]
    if isinstance(value, Held):
        return value.get()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        joined = {key: _join(item, tensors) for key, item in value.items()}
        return GONE if _has_gone(list(joined.values())) else joined
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = [_join(item, tensors) for item in value]
        return GONE if _has_gone(items) else type(value)(*items)
    if isinstance(value, (list, tuple)):
        items = [_join(item, tensors) for item in value]
        return GONE if _has_gone(items) else type(value)(items)
    return value


def _has_gone(items: list[Any]) -> bool:
    return any(item is GONE for item in items)
