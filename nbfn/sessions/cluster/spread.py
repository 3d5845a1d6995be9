"""One call on all replicas: the batch is split, gradients are averaged, results put together.

What one device would compute from the whole batch comes out, if everything that the function makes
of the batch is a mean over its rows, or a row for each row: the loss, and so its gradients.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.sessions.cluster.errors import StrategyError

IN_SCOPE = (
    "Make models and optimizers in a block `with nbfn.session().scope():`, and there also the "
    "variables of the optimizer: `optimizer.build(model.trainable_variables)`"
)
"""Where a strategy's variables are made."""


class Spread:
    """Runs functions on the replicas of a ``tf.distribute`` strategy, with a share each."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy
        self.label = f"{name_of(strategy)} with {strategy.num_replicas_in_sync} replicas"

    @functools.cached_property
    def averages_gradients(self) -> bool:
        """Whether `_average_gradients` works with this Keras: a step of one, by each replica."""
        import keras

        with self.strategy.scope():
            weight = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
            optimizer = keras.optimizers.SGD(1.0)
            optimizer.build([weight])
            self.run(lambda: optimizer.apply([tf.constant(1.0)], [weight]))
        return bool(weight.numpy() == -1.0)

    def run(
        self, function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Calls a function on each replica.

        Returns:
            Of the results of the replicas: rows that belong to the batch's rows one after another,
            other floating values averaged, and anything else once.

        Raises:
            StrategyError: If an argument cannot be split, or a variable is made in a graph.
        """
        if tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context():
            return function(*args, **(kwargs or {}))  # it is a part of what a replica runs
        given = tf.nest.map_structure(_as_tensor, (tuple(args), dict(kwargs or {})))
        batch = Batch(tf.nest.flatten(given), self.strategy.num_replicas_in_sync)

        def on_replica() -> Any:
            replica = tf.distribute.get_replica_context()
            _average_gradients(replica)
            own = [batch.share(each, replica) for each in tf.nest.flatten(given)]
            positional, named = tf.nest.pack_sequence_as(given, own)
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
            rows = self.strategy.gather(found, axis=0)
            return rows if isinstance(batch.size, int) else rows[: batch.size]
        if first.dtype.is_floating or first.dtype.is_complex:
            return self.strategy.reduce("MEAN", found, axis=None)
        if not batch.is_split:
            return first
        every = self.strategy.gather(
            self.strategy.run(lambda each: each[tf.newaxis], args=(found,)), axis=0
        )
        same = tf.reduce_all(tf.equal(every, every[:1]))
        message = (
            f"a result of {first.dtype.name}{first.shape} differs between the replicas, each of "
            "which has its share of the batch, and only floating values are averaged; return a "
            "mean, or a value for each row"
        )
        with tf.control_dependencies([tf.debugging.Assert(same, [message])]):
            return tf.identity(every[0])


class Batch:
    """The rows of a call's arguments, and which of them a replica gets.

    The first tensor with rows says how many there are; each tensor with that many is split, others
    go to each replica whole. Rows that do not divide evenly go to each replica whole: what they
    compute then is exact, and takes as long as on one device.

    Attributes:
        size: The number of rows: an int, or a tensor where it is not known yet; None if no argument
            has rows.
        is_split: Whether replicas get shares; if `size` is a tensor, whether they may.
    """

    def __init__(self, leaves: Sequence[Any], replicas: int) -> None:
        self.size: Any = None
        self._rows: int | None = None
        own = any(_is_distributed(each) for each in leaves)  # the user has split it
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
            self._share = tf.where(is_even, self.size // replicas, self.size)
            self._step = tf.where(is_even, self._share, 0)

    def share(self, value: Any, replica: Any) -> Any:
        """What a replica gets of an argument."""
        if isinstance(value, tf.SparseTensor) and self.is_split:
            raise StrategyError(
                f"an argument is a SparseTensor of shape {value.shape}, which cannot be split; "
                "pass a dense tensor or a tf.RaggedTensor"
            )
        if not self.is_split or not _has_rows(value) or value.shape[0] != self._rows:
            return value
        number: Any = replica.replica_id_in_sync_group
        known = tf.get_static_value(number)  # else the graph would capture a tensor for it
        number = number if known is None else int(known)
        start = number * (self._share if isinstance(self.size, int) else self._step)
        return value[start : start + self._share]

    def is_of_rows(self, result: Any) -> bool:
        """Whether the rows of a replica's result belong to its rows of the batch."""
        if not self.is_split or not result.shape.rank:
            return False
        rows = result.shape[0]
        return bool(rows == self._share if isinstance(self.size, int) else rows is None)


def _create(next_creator: Callable[..., Any], **options: Any) -> Any:
    """Makes a variable, but not in a graph.

    There TensorFlow cannot make a strategy's variables from one another (measured: Keras's Adam
    under MirroredStrategy, TensorFlow 2.21); the step fails when it runs.
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
    """A result as a tensor, if it is a variable, also Keras's."""
    is_variable = isinstance(result, tf.Variable) or hasattr(result, "constraint")
    return tf.identity(tf.convert_to_tensor(result)) if is_variable else result


def _average_gradients(replica: Any) -> None:
    """Has Keras's optimizers average the gradients of this replica and the others.

    They add them up (measured: Keras 3.15), so that code for one device, whose loss is a mean,
    would make steps that are too long by the number of replicas. The context lives as long as this
    run, so that nothing else sees the change.
    """
    add_up = replica.all_reduce

    def all_reduce(operation: Any, value: Any, options: Any = None) -> Any:
        caller: Mapping[str, Any] = sys._getframe(1).f_globals
        name = str(caller.get("__name__", ""))
        is_keras = name.startswith(("keras.", "tf_keras.")) and "optimizer" in name
        return add_up(tf.distribute.ReduceOp.MEAN if is_keras else operation, value, options)

    replica.all_reduce = all_reduce


def name_of(strategy: Any) -> str:
    """The name of a strategy's class in ``tf.distribute``, which is not always the class's own."""
    multi = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    return "MultiWorkerMirroredStrategy" if multi else type(strategy).__name__
