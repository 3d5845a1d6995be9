"""The strategy of the session: what is made under it, and what runs on its replicas.

RFC "Functions, not Sessions", section "Distributed Execution".
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from nbfn.functions import TracedFunction, live_functions
from nbfn.functions.calls.replicas import current
from nbfn.sessions.cluster.errors import StrategyError
from nbfn.sessions.cluster.proof import Unproven, prove, rehearse, strategys_variables
from nbfn.sessions.cluster.spread import Spread, averages_gradients, name_of
from nbfn.site import warn


class Replicas:
    """Has the notebook's functions run on the replicas of a ``tf.distribute`` strategy."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy
        self._whole, self._split = Spread(strategy, splits=False), Spread(strategy)
        self._settled: weakref.WeakSet[Any] = weakref.WeakSet()
        self._checked = False
        self._schedules = isinstance(strategy, tf.distribute.experimental.ParameterServerStrategy)

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Runs a call on the replicas, the batch split, without a proof."""
        if self._schedules:
            raise StrategyError(
                f"{name_of(self.strategy)} runs nothing itself; give the call to its coordinator: "
                "tf.distribute.coordinator.ClusterCoordinator(strategy).schedule(function, args)"
            )
        self._check_keras()
        if not isinstance(function, TracedFunction):
            return self._split.run(function, args, kwargs)
        if function.strategy is not self._split:
            if not function.traces:
                rehearse(function, args, kwargs, self._whole)
            self._settled.add(function)
            function.run_under(self._split)
        return function(*args, **kwargs)

    def adopt(self, function: Any, args: Any, kwargs: Any) -> None:
        """Sees the first calls of a function, and settles how it runs.

        A function that uses the strategy's variables runs on its replicas. They share the batch if
        a rehearsal shows that the outcome is the same.
        """
        here = tf.executing_eagerly() and tf.distribute.in_cross_replica_context()
        plain = tf.executing_eagerly() and not tf.distribute.has_strategy()
        if self._schedules or not (here or plain) or function in self._settled:
            return
        self._settled.add(function)
        if strategys_variables(function, self.strategy):
            self._check_keras()
            self._settle(function, args, kwargs)

    def _settle(self, function: Any, args: Any, kwargs: Any) -> None:
        try:
            prove(function, args, kwargs, self._whole, self._split)
        except Unproven as reason:
            function.run_under(self._whole)
            if reason.may_change:
                self._settled.discard(function)
            warn(
                f"`{function.label}` gets the whole batch on each replica of "
                f"{name_of(self.strategy)}: {reason}. That is exact, but no faster than one "
                f"device; `nbfn.session().run({function.name}, ...)` splits the batch all the same"
            )

    def _check_keras(self) -> None:
        if not self._checked and not averages_gradients(self.strategy):
            raise StrategyError(
                "optimizers of the installed Keras put the gradients of replicas together in a way "
                "that nbfn does not know, so that steps would have the wrong length; use "
                f"{name_of(self.strategy)}.run, and divide the loss by the number of replicas"
            )
        self._checked = True


def use(strategy: Any) -> None:
    """Has this process use a strategy from now on; none if it is None.

    Raises:
        StrategyError: If it is no strategy.
    """
    if strategy is not None and not isinstance(strategy, tf.distribute.Strategy):
        raise StrategyError(
            f"strategy is of type {type(strategy).__name__}, {strategy!r:.60}; expected a "
            "tf.distribute strategy such as tf.distribute.MirroredStrategy(), or None"
        )
    if strategy is used():
        return
    for function in live_functions():
        if isinstance(function, TracedFunction) and isinstance(function.strategy, Spread):
            function.run_under(None)
    current.runner = None if strategy is None else Replicas(strategy)


def used() -> Any:
    """The strategy that this process uses; None if it uses none."""
    return getattr(current.runner, "strategy", None)


@contextmanager
def scope() -> Iterator[None]:
    """What is made inside is made under the strategy; with none, nothing is special."""
    strategy = used()
    if strategy is None:
        yield
        return
    with strategy.scope(), tf.variable_creator_scope(_with_aggregation):
        yield


def _with_aggregation(next_creator: Callable[..., Any], **options: Any) -> Any:
    """Lets replicas assign to a variable of the user's, as one device would."""
    unsaid = options.get("aggregation") in (None, tf.VariableAggregation.NONE)
    if unsaid and options.get("synchronization") != tf.VariableSynchronization.ON_READ:
        initial = options.get("initial_value")
        dtype = (
            options.get("dtype")
            or tf.convert_to_tensor(initial() if callable(initial) else initial).dtype
        )
        spread = tf.VariableAggregation
        is_floating = tf.as_dtype(dtype).is_floating
        options["aggregation"] = spread.MEAN if is_floating else spread.ONLY_FIRST_REPLICA
    return next_creator(**options)


def run(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Runs a call on all replicas of the session's strategy, or as it is if there is none."""
    runner = current.runner
    if not isinstance(runner, Replicas):
        return function(*args, **kwargs)
    return runner.run(function, args, kwargs)
