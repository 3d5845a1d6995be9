"""The strategy of the session: its scope, and calls on its replicas.

RFC "Functions, not Sessions", section "Distributed Execution".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from nbfn.functions import TracedFunction
from nbfn.sessions.cluster.spread import IN_SCOPE, Spread, StrategyError, name_of

_spread: Spread | None = None
"""Runs calls on the replicas of this process's strategy."""


def use(strategy: Any) -> None:
    """Sets the strategy of this process; None removes it.

    Raises:
        StrategyError: If it is not a strategy.
    """
    if strategy is not None and not isinstance(strategy, tf.distribute.Strategy):
        raise StrategyError(
            f"strategy is of type {type(strategy).__name__}, {strategy!r:.60}; expected a "
            "tf.distribute strategy such as tf.distribute.MirroredStrategy(), or None. Models need "
            "not be given: nbfn.session() finds those of the notebook"
        )
    global _spread
    if strategy is not used():
        _spread = None if strategy is None else Spread(strategy)


def used() -> Any:
    """Returns the strategy of this process, or None."""
    return None if _spread is None else _spread.strategy


@contextmanager
def scope() -> Iterator[None]:
    """Enters the strategy's scope; does nothing without a strategy."""
    strategy = used()
    if strategy is None:
        yield
        return
    with strategy.scope(), tf.variable_creator_scope(_with_aggregation):
        yield


def _with_aggregation(next_creator: Callable[..., Any], **options: Any) -> Any:
    """Sets the aggregation of a variable so that replicas may assign to it, as one device would."""
    is_default = options.get("aggregation") in (None, tf.VariableAggregation.NONE)
    if is_default and options.get("synchronization") != tf.VariableSynchronization.ON_READ:
        dtype = options.get("dtype")
        if dtype is None:
            initial = options.get("initial_value")
            if callable(initial):
                initial = initial()
                if tf.executing_eagerly():  # a graph may need it outside of this one
                    options["initial_value"] = initial
            dtype = tf.convert_to_tensor(initial).dtype
        spread = tf.VariableAggregation
        is_floating = tf.as_dtype(dtype).is_floating
        options["aggregation"] = spread.MEAN if is_floating else spread.ONLY_FIRST_REPLICA
    return next_creator(**options)


def run(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Runs a call on all replicas of the session's strategy; without a strategy, just calls.

    Raises:
        StrategyError: If the strategy does not run functions itself, if Keras's optimizers would
            make wrong steps, or if the call makes variables of an optimizer.
    """
    spread = _spread
    if spread is None:
        return function(*args, **kwargs)
    if isinstance(spread.strategy, tf.distribute.experimental.ParameterServerStrategy):
        raise StrategyError(
            f"{name_of(spread.strategy)} runs nothing itself; give the call to its coordinator: "
            "tf.distribute.coordinator.ClusterCoordinator(strategy).schedule(function, args)"
        )
    if not spread.averages_gradients:
        raise StrategyError(
            "optimizers of the installed Keras put the gradients of replicas together in a way "
            "that nbfn does not know, so that steps would have the wrong length; use "
            f"{name_of(spread.strategy)}.run, and divide the loss by the number of replicas"
        )
    traced = getattr(function, "__self__", function)  # `step.run` is a method of the function
    if not isinstance(traced, TracedFunction):
        return spread.run(function, args, kwargs)
    try:
        with traced.spread_by(spread):
            return function(*args, **kwargs)
    except RuntimeError as error:
        # A plain RuntimeError of `distribute/distribute_lib.py` (TensorFlow 2.21).
        if "Mixing different" not in str(error):
            raise
        raise StrategyError(
            f"`{traced.label}` uses variables that were made outside of the strategy. {IN_SCOPE}"
        ) from error
