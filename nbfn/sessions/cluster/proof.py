"""Does a function compute the same when replicas share its batch? A rehearsal tells.

It runs twice from the same state: in Python with the whole batch on each replica, and in a graph
with the batch split. Then everything has the value again that it had before.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.checking.trial import Trial
from nbfn.functions.traces.variable_names import named_leaves
from nbfn.sessions.cluster.errors import StrategyError
from nbfn.sessions.cluster.spread import Batch, Spread
from nbfn.state.helpers import named, with_helpers

_TOLERANCE = 1e-2
"""How far the updates may be apart, as a part of their length.

Adam divides gradients by their size, so that rounding of those near zero becomes a part of the
step (measured: up to 1e-3 of its length). A wrong factor or a sum for a mean is 0.5 and more.
"""


class Unproven(Exception):  # noqa: N818 (it is an answer)
    """The batch is not split, for a reason.

    Attributes:
        may_change: Whether another call may give another answer.
    """

    def __init__(self, reason: str, may_change: bool = False) -> None:
        super().__init__(reason)
        self.may_change = may_change


def prove(function: Any, args: Any, kwargs: Any, whole: Spread, split: Spread) -> None:
    """Rehearses a call, and has the function split its batches from now on.

    Raises:
        Unproven: If the outcome differs, or cannot be compared.
    """
    replicas = whole.strategy.num_replicas_in_sync
    batch = Batch(tf.nest.flatten((args, kwargs)), replicas, True)
    if _iterators(function, args, kwargs):
        raise Unproven("it takes from an iterator, and a rehearsal would take from it too")
    expected = rehearse(function, args, kwargs, whole)
    if batch.size is None:
        raise Unproven("no argument is a tensor with rows")
    if not batch.is_split:
        raise Unproven(f"{batch.size} rows do not divide by {replicas} replicas", may_change=True)
    function.run_under(split)
    found, why = None, ""
    with _kept(Trial(function, args, kwargs)) as trial:
        start = _values(trial)
        try:
            concrete = function.request(args, kwargs)
            random = _tensorflow.stateful_random_operations(concrete.graph)
            why = (
                f"it draws from the hidden state of tf.random ({', '.join(random)})"
                if random
                else ""
            )
            found = concrete(*args, **kwargs), _values(trial)
        except Exception as error:
            why = f"split, it raises {type(error).__name__}: {str(error).strip().splitlines()[-1]}"
    if found is not None:
        why = why or _difference(start, expected, found)
    if not _agreed(whole.strategy, not why):
        for trace in function.traces:
            function.evict(trace)
        raise Unproven(why or "another worker found a difference")


def rehearse(function: Any, args: Any, kwargs: Any, whole: Spread) -> tuple[Any, dict[int, Any]]:
    """Runs the Python once on the replicas; variables that it creates keep their initial values.

    TensorFlow cannot make a strategy's variables inside of a graph that makes them for the first
    time from one another (measured: Keras's Adam under MirroredStrategy, TensorFlow 2.21).

    Returns:
        The result, and the values of the variables afterwards, by ``id``.

    Raises:
        StrategyError: If it uses variables that were made outside of the strategy.
    """
    with _kept(Trial(function, args, kwargs)) as trial:

        def create(next_creator: Callable[..., Any], **options: Any) -> Any:
            made = next_creator(**options)
            trial.variables.add([made])
            return made

        with tf.variable_creator_scope(create), contextlib.redirect_stdout(io.StringIO()):
            try:
                result = trial.eagerly(whole.run)
            except RuntimeError as error:
                if "Mixing different" not in str(error):
                    raise
                raise StrategyError(
                    f"`{function.label}` uses an optimizer or a variable that was made outside of "
                    "the strategy; make it in a block `with nbfn.session().scope():`"
                ) from None
        return tf.nest.map_structure(_copy, result), _values(trial)


@contextlib.contextmanager
def _kept(trial: Trial) -> Iterator[Trial]:
    try:
        yield trial
    finally:
        trial.put_back()


def _copy(value: Any) -> Any:
    return tf.identity(value) if tf.is_tensor(value) else value


def _values(trial: Trial) -> dict[int, Any]:
    return {id(each): each.numpy() for each, _ in trial.variables}


def _difference(start: Any, expected: tuple[Any, Any], found: tuple[Any, Any]) -> str:
    """What differs, in words; empty if nothing does."""
    (result, after), (split_result, split_after) = expected, found
    pairs = zip(tf.nest.flatten(result), tf.nest.flatten(split_result), strict=True)
    for one, other in pairs:
        if tf.is_tensor(one) and not _close(np.asarray(one), np.asarray(other)):
            return f"split, a result is {_short(other)}, not {_short(one)}"
    for key, before in start.items():
        if key in after and np.issubdtype(before.dtype, np.number):
            before = before.astype(np.float64)
            if not _close(after[key] - before, split_after[key] - before):
                return "split, it changes a variable in another way; the loss must be a mean"
    return ""


def _close(one: Any, other: Any) -> bool:
    if one.shape != other.shape or one.dtype.kind in "OSU":
        return bool(one.shape == other.shape and np.all(one == other))
    apart = np.linalg.norm(np.subtract(one, other, dtype=np.float64).ravel())
    return bool(apart <= _TOLERANCE * np.linalg.norm(np.ravel(one)) + 1e-6)


def _short(value: Any) -> str:
    shape = tuple(value.shape)
    return f"of shape {shape}" if shape else f"{np.asarray(value):.4g}"


def _agreed(strategy: Any, verdict: bool) -> bool:
    """Whether all workers say yes; each must do what the others do."""
    said = strategy.run(lambda: tf.constant(float(verdict)))
    return bool(strategy.reduce("MEAN", said, axis=None) == 1.0)


def _reached(function: Any) -> dict[str, Any]:
    read = [item for each in with_helpers(function.python_function) for item in named(each).items()]
    return named_leaves(iter([*read, ("self", function.owner)]))


def strategys_variables(function: Any, strategy: Any) -> list[str]:
    """The names of a strategy's variables that a function's code leads to."""
    return [
        name
        for name, leaf in _reached(function).items()
        if isinstance(leaf, tf.Variable) and getattr(leaf, "distribute_strategy", None) is strategy
    ]


def _iterators(function: Any, args: Any, kwargs: Any) -> bool:
    read = [
        each for part in with_helpers(function.python_function) for each in named(part).values()
    ]
    return any(isinstance(each, tf.data.Iterator) for each in tf.nest.flatten([read, args, kwargs]))
