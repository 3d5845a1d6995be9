"""The shared random numbers of Python and NumPy, which code uses without naming a state."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, cast

import numpy as np


def is_drawn_from(value: Any) -> bool:
    """Returns whether reading a value changes it: an iterator or source of random numbers."""
    sources = (np.random.Generator, np.random.RandomState, random.Random)
    # Not by `hasattr`: a metaclass may answer anything.
    is_iterator = any("__next__" in vars(base) for base in type(value).__mro__)
    return is_iterator or issubclass(type(value), sources)


def random_state() -> dict[str, Any]:
    """Returns the state of Python's and NumPy's shared random numbers."""
    # As bytes, because `==` of arrays is an array.
    kind, keys, position, *rest = cast("Any", np.random.get_state(legacy=True))
    return {"random": random.getstate(), "np.random": (kind, keys.tobytes(), position, *rest)}


def restore_random_state(state: Mapping[str, Any]) -> None:
    """Restores a `random_state`."""
    random.setstate(state["random"])
    kind, keys, *rest = state["np.random"]
    np.random.set_state((kind, np.frombuffer(keys, np.uint32), *rest))
