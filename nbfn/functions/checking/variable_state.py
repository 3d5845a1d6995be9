"""The values of variables: saved, compared, and put back exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf


class VariableState:
    """The values of some variables at one moment."""

    def __init__(self, variables: Iterable[Any]) -> None:
        self._saved: list[tuple[Any, Any]] = []
        self.add(variables)

    def add(self, variables: Iterable[Any]) -> None:
        """Takes in more variables, with the values that they have now."""
        known = {id(variable) for variable, _ in self._saved}
        parts = {id(part): part for variable in variables for part in _parts(variable)}
        for part in parts.values():
            value = None if id(part) in known else _value(part)
            if value is not None:
                self._saved.append((part, value))

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Each variable and its value."""
        return iter(self._saved)

    def __len__(self) -> int:
        return len(self._saved)

    def put_back(self) -> None:
        """Gives every variable its value again."""
        for variable, value in self._saved:
            variable.assign(value)


def _parts(variable: Any) -> list[Any]:
    """The variables that really hold values: one for each replica, under a strategy."""
    values = getattr(variable, "values", None)
    if isinstance(values, (list, tuple)) and values:
        return list(values)
    return [variable]


def _value(variable: Any) -> Any | None:
    """A copy of the value; None if the variable has none yet."""
    try:
        return tf.identity(variable.read_value())
    except tf.errors.OpError:
        return None
