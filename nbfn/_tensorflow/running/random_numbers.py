"""The hidden random numbers of TensorFlow and Keras: their seeds, and which graphs draw from them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nbfn._tensorflow.base import internal
from nbfn._tensorflow.graphs.captures import draws

_context = internal("eager.context")


def global_seed() -> Any:
    """Returns the seed set by ``tf.random.set_seed``; None if not set or unknown."""
    safe = getattr(_context, "context_safe", None)
    return getattr(safe(), "_seed", None) if safe is not None else None


def keras_generator() -> Any:
    """Returns the generator of ``keras.random``; None if there is none, or it is unknown.

    ``keras.utils.set_random_seed`` removes it, and the next draw without a seed makes another one
    (Keras 3.15, `random/seed_generator.py`).
    """
    state = sys.modules.get("keras.src.backend.common.global_state")
    return getattr(getattr(state, "GLOBAL_STATE_TRACKER", None), "global_seed_generator", None)


SEEDS: dict[str, Callable[[], Any]] = {
    "tf.random.set_seed": global_seed,
    "keras.utils.set_random_seed": keras_generator,
}
"""What decides which numbers a graph draws, by the function that sets it."""


def seeds_of(graph: Any) -> frozenset[str]:
    """Returns the names in `SEEDS` of what a graph draws from."""
    found = {"tf.random.set_seed"} if draws(graph) else set()
    variable = getattr(getattr(keras_generator(), "state", None), "value", None)
    handle = getattr(variable, "handle", None)
    if handle is not None and any(external is handle for external, _ in graph.captures):
        found.add("keras.utils.set_random_seed")
    return frozenset(found)


def eager_random_state() -> Any:
    """Returns the state from which eager operations draw their seeds; None if unknown."""
    numbers: Any = getattr(_context.context(), "_rng", None) if _context is not None else None
    return numbers.getstate() if hasattr(numbers, "getstate") else None


def put_eager_random_state_back(state: Any) -> None:
    """Restores a state of `eager_random_state`."""
    if state is not None and _context is not None:
        _context.context()._rng.setstate(state)
