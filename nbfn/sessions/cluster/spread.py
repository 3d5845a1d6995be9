"""Runs a call on all replicas: splits the batch, averages gradients, combines results.

The results equal those of one device with the whole batch if everything that the function computes
from the batch is a mean over its rows, or has a row for each row: the loss, and so its gradients.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.errors import NbfnError

IN_SCOPE = (
    "Make models and optimizers in a block `with nbfn.session().scope():`, and there also the "
    "variables of the optimizer: `optimizer.build(model.trainable_variables)`"
)
"""Advice on where to make the variables of a strategy."""


class StrategyError(NbfnError, ValueError):
    """Raised if a strategy cannot be used in this way."""


class Spread:
    """Runs functions on the replicas of a ``tf.distribute`` strategy, each with its share."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy
        self.label = f"{name_of(strategy)} with {strategy.num_replicas_in_sync} replicas"

    @functools.cached_property
    def averages_gradients(self) -> bool:
        """Whether `_average_gradients` works with this Keras, found by a step with gradient 1."""
        import keras

        with self.strategy.scope():
            weight = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
            optimizer = keras.optimizers.SGD(1.0)
            optimizer.build([weight])
            self.run(lambda: optimizer.apply([tf.constant(1.0)], [weight]))
        # If the gradients are added up instead, it is minus the number of replicas.
        return bool(weight.numpy() == -1.0)

    def run(
        self, function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Calls a function on each replica.

        Returns:
            The combined results of the replicas: results with a row per row of the batch
            concatenated, other floating results averaged, any other result once.

        Raises:
            StrategyError: If an argument cannot be split, or a variable is made in a graph.
        """
        if tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context():
            return function(*args, **(kwargs or {}))  # already inside a replica
        arguments = tf.nest.map_structure(_as_tensor, (tuple(args), dict(kwargs or {})))
        batch = Batch(tf.nest.flatten(arguments), self.strategy.num_replicas_in_sync)

        def on_replica() -> Any:
            replica = tf.distribute.get_replica_context()
            _average_gradients(replica)
            own = [batch.share(each, replica) for each in tf.nest.flatten(arguments)]
            positional, named = tf.nest.pack_sequence_as(arguments, own)
            with tf.variable_creator_scope(_create):
                return tf.nest.map_structure(_value, function(*positional, **named))

        with self.strategy.scope():
            found = self.strategy.run(on_replica)
            return tf.nest.map_structure(lambda each: self._together(each, batch), found)

    def _together(self, found: Any, batch: Batch) -> Any:
        parts = self.strategy.experimental_local_results(found)
        first = parts[0]
        if not tf.is_tensor(first):
            return first
        if batch.is_of_rows(first):
            # If an open number of rows cannot be divided, each replica gets all of them (`Batch`),
            # and those of the first are the result.
            rows = self._gather(found)
            return rows if isinstance(batch.size, int) else rows[: batch.size]
        if first.dtype.is_floating or first.dtype.is_complex:
            return self.strategy.reduce("MEAN", found, axis=None)
        if not batch.is_split:
            return first
        every = self._gather(self.strategy.run(lambda each: each[tf.newaxis], args=(found,)))
        same = tf.reduce_all(tf.equal(every, every[:1]))
        message = (
            f"a result of {first.dtype.name}{first.shape} differs between the replicas, each of "
            "which has its share of the batch, and only floating values are averaged; return a "
            "mean, or a value for each row"
        )
        with tf.control_dependencies([tf.debugging.Assert(same, [message])]):
            return tf.identity(every[0])

    def _gather(self, found: Any) -> tf.Tensor:
        """Concatenates the replicas' rows, of any dtype."""
        parts = self.strategy.experimental_local_results(found)
        # `gather` takes float16, float32, float64, int32 and int64 only (TensorFlow 2.21).
        if len(parts) == self.strategy.num_replicas_in_sync:
            return tf.concat(parts, axis=0)
        return self.strategy.gather(found, axis=0)


class Batch:
    """The rows of a call's arguments, and their distribution to replicas.

    The first tensor with rows defines their number. Each tensor with that many is split; others are
    passed whole. If the rows do not divide evenly, each replica gets all of them: the results are
    exact, but take as long as on one device.

    Attributes:
        size: Number of rows: an int, or a tensor if unknown while tracing; None if no argument has
            rows.
        is_split: Whether replicas get shares; if `size` is a tensor, whether they may.
    """

    def __init__(self, leaves: Sequence[Any], replicas: int) -> None:
        self.size: Any = None
        self._rows: int | None = None
        own = any(_is_distributed(each) for each in leaves)  # already split by the caller
        rowed = [each for each in leaves if _has_rows(each)]
        self.is_split = bool(rowed) and not own
        if rowed:
            self._rows = rowed[0].shape[0]
            self.size = tf.shape(rowed[0])[0] if self._rows is None else self._rows
        if isinstance(self.size, int):
            self.is_split = self.is_split and self.size > 0 and self.size % replicas == 0
            self._share: Any = self.size // replicas
        elif self.is_split:
            is_even = tf.equal(self.size % replicas, 0)
            # In the graph, because the number of rows is known in the call only.
            self._share = tf.where(is_even, self.size // replicas, self.size)
            self._step = tf.where(is_even, self._share, 0)

    def share(self, value: Any, replica: Any) -> Any:
        """Returns a replica's share of an argument."""
        if isinstance(value, tf.SparseTensor) and self.is_split:
            raise StrategyError(
                f"an argument is a SparseTensor of shape {value.shape}, which cannot be split; "
                "pass a dense tensor or a tf.RaggedTensor"
            )
        if not self.is_split or not _has_rows(value) or value.shape[0] != self._rows:
            return value
        number: Any = replica.replica_id_in_sync_group
        # A constant, so that the graph captures no tensor for it.
        static = tf.get_static_value(number)
        number = number if static is None else int(static)
        start = number * (self._share if isinstance(self.size, int) else self._step)
        return value[start : start + self._share]

    def is_of_rows(self, result: Any) -> bool:
        """Returns whether a replica's result has one row per row of its share."""
        if not self.is_split or not result.shape.rank:
            return False
        rows = result.shape[0]
        return bool(rows == self._share if isinstance(self.size, int) else rows is None)


def _create(next_creator: Callable[..., Any], **options: Any) -> Any:
    """Makes a variable, but refuses in a graph.

    In a graph, TensorFlow cannot make a strategy's variables that are initialised from other
    variables: the step fails when it runs (Keras's Adam under MirroredStrategy, TensorFlow 2.21).
    """
    if not tf.executing_eagerly():
        raise StrategyError(
            f"the variable `{options.get('name') or 'Variable'}` is made while replicas run the "
            f"call. {IN_SCOPE}"
        )
    return next_creator(**options)


def _has_rows(value: Any) -> bool:
    is_data = isinstance(value, (tf.Tensor, tf.RaggedTensor)) and not _is_distributed(value)
    return is_data and bool(value.shape.rank)


def _is_distributed(value: Any) -> bool:
    return isinstance(value, tf.distribute.DistributedValues) and not isinstance(value, tf.Variable)


def _as_tensor(value: Any) -> Any:
    return tf.convert_to_tensor(value) if isinstance(value, np.ndarray) else value


def _value(result: Any) -> Any:
    """Converts a result to a tensor if it is a variable of TensorFlow or Keras."""
    # A Keras variable has this attribute (Keras 3.15); so Keras need not be imported.
    is_variable = isinstance(result, tf.Variable) or hasattr(result, "constraint")
    return tf.identity(tf.convert_to_tensor(result)) if is_variable else result


def _average_gradients(replica: Any) -> None:
    """Makes Keras's optimizers average gradients over the replicas.

    They sum gradients (Keras 3.15), so code for one device, whose loss is a mean, would make steps
    that are too long by the number of replicas. The patched context lives only for this run.
    """
    add_up = replica.all_reduce

    def all_reduce(operation: Any, value: Any, options: Any = None) -> Any:
        # Only for Keras's optimizers: other code may sum values over the replicas.
        caller: Mapping[str, Any] = sys._getframe(1).f_globals
        name = str(caller.get("__name__", ""))
        is_keras = name.startswith(("keras.", "tf_keras.")) and "optimizer" in name
        return add_up(tf.distribute.ReduceOp.MEAN if is_keras else operation, value, options)

    replica.all_reduce = all_reduce


def name_of(strategy: Any) -> str:
    """Returns the public name of a strategy's class, which may differ from the class's own name."""
    multi = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    return "MultiWorkerMirroredStrategy" if multi else type(strategy).__name__
