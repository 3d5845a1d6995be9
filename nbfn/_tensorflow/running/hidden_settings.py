"""Hidden settings of TensorFlow and Keras that graphs depend on: seeds, and those of summaries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import internal
from nbfn._tensorflow.graphs.function_graphs import graphs_in
from nbfn._tensorflow.operation_types import HIDDEN_STATE

_context = internal("eager.context")
_stateful_random_ops = internal("ops.stateful_random_ops")
_summary_ops = internal("ops.summary_ops_v2")


def global_seed() -> Any:
    """Returns the seed set by ``tf.random.set_seed``; None if not set or unknown."""
    # No public function returns it; `context_safe`, unlike `context`, creates no context
    # (TensorFlow 2.21).
    safe = getattr(_context, "context_safe", None)
    return getattr(safe(), "_seed", None) if safe is not None else None


def keras_generator() -> Any:
    """Returns the generator of ``keras.random``; None if there is none, or it is unknown.

    ``keras.utils.set_random_seed`` removes it, and the next draw without a seed makes another one
    (Keras 3.15, `random/seed_generator.py`).
    """
    # Not imported: if Keras is not loaded, there is no generator yet.
    state = sys.modules.get("keras.src.backend.common.global_state")
    return getattr(getattr(state, "GLOBAL_STATE_TRACKER", None), "global_seed_generator", None)


def global_generator() -> Any:
    """Returns the generator of ``tf.random.get_global_generator``; None if unknown or not made."""
    return getattr(_stateful_random_ops, "global_generator", None)  # the public function makes it


SETTINGS: dict[str, Callable[[], Any]] = {
    "tf.random.set_seed": global_seed,
    "keras.utils.set_random_seed": keras_generator,
    "tf.random.set_global_generator": global_generator,
    "tf.summary.experimental.set_step": tf.summary.experimental.get_step,
}
"""The settings, by the function that sets each."""

_OF_GENERATORS = ("keras.utils.set_random_seed", "tf.random.set_global_generator")


def settings_of(graph: Any) -> frozenset[str]:
    """Returns the names in `SETTINGS` of those that a graph depends on, also nested."""
    types = {op.type for each in graphs_in(graph) for op in each.get_operations()}
    found = set() if types.isdisjoint(HIDDEN_STATE) else {"tf.random.set_seed"}
    if any(each.startswith("Write") and each.endswith("Summary") for each in types):
        found.add("tf.summary.experimental.set_step")
    # By id, as tensors are not hashable (TensorFlow 2).
    captured = {id(external) for external, _ in graph.captures}
    for name in _OF_GENERATORS:
        state = getattr(SETTINGS[name](), "state", None)
        variable = state if isinstance(state, tf.Variable) else getattr(state, "value", None)
        if id(getattr(variable, "handle", None)) in captured:
            found.add(name)
    return frozenset(found)


def eager_random_state() -> Any:
    """Returns the state from which eager operations draw their seeds; None if unknown."""
    numbers: Any = getattr(_context.context(), "_rng", None) if _context is not None else None
    return numbers.getstate() if hasattr(numbers, "getstate") else None


def restore_eager_random_state(state: Any) -> None:
    """Restores a state of `eager_random_state`."""
    if state is not None and _context is not None:
        _context.context()._rng.setstate(state)


def summary_state() -> tuple[Any, Any]:
    """Returns the default summary writer and the recording condition; None for unknown."""
    state: Any = getattr(_summary_ops, "_summary_state", None)
    return getattr(state, "writer", None), getattr(state, "is_recording", None)
