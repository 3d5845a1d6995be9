"""Recurrent cells with an explicit carry, and ``nn.RNN``, which runs one over a sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from nbfn.modules.layers.keras_layer import call_layer
from nbfn.modules.layers.layers import KerasLayer, layer
from nbfn.modules.lifecycle.methods import nowrap, wrap
from nbfn.modules.lifting.axes import move_axis
from nbfn.modules.module.module import Module
from nbfn.modules.transforms.scan import scan
from nbfn.modules.variables.filters import FilterLike


class RecurrentCell(KerasLayer):
    """Base class of the cells: ``carry, y = cell(carry, x)``.

    Attributes:
      states: positions of Keras's states in the carry; a single state is the carry itself.
    """

    states = (0,)
    num_feature_axes = 1

    @wrap
    def __call__(self, carry: Any, inputs: Any, **options: Any) -> tuple[Any, Any]:
        """Runs one step.

        Args:
          carry: the result of ``initialize_carry``, or the carry returned by the last step.
          inputs: a float tensor of shape [..., inputs].
          **options: the cell's call arguments, such as ``training=``.

        Returns:
          The new carry, and the output of shape [..., features].
        """
        inputs = tf.convert_to_tensor(inputs)
        batch = tf.shape(inputs)[:-1]
        parts = [carry] if len(self.states) == 1 else [carry[i] for i in self.states]
        flat = [tf.reshape(part, [-1, part.shape[-1]]) for part in (inputs, *parts)]
        output, new = call_layer(self, (flat[0], flat[1:]), options)
        shaped = [_set_shape(tensor, batch, inputs.shape[:-1]) for tensor in (output, *new)]
        placed = dict(zip(self.states, shaped[1:], strict=True))
        state = tuple(placed[i] for i in sorted(placed))
        return state if len(state) > 1 else state[0], shaped[0]

    @nowrap
    def initialize_carry(self, rng: Any, input_shape: Sequence[int | None]) -> Any:
        """Returns the first carry: zeros.

        Args:
          rng: not used; Flax takes a key here.
          input_shape: the shape of the inputs of one step, [..., inputs].

        Returns:
          The carry, each tensor of shape [..., features].
        """
        del rng
        dtype = keras.dtype_policies.get(self.__dict__["dtype"]).compute_dtype
        zeros = tf.zeros([*input_shape[:-1], self.__dict__["features"]], dtype)
        return tuple(zeros for _ in self.states) if len(self.states) > 1 else zeros


def _set_shape(tensor: Any, batch: Any, static: Any) -> Any:
    reshaped = tf.reshape(tensor, tf.concat([batch, tf.shape(tensor)[-1:]], 0))
    reshaped.set_shape([*static, tensor.shape[-1]])
    return reshaped


_OPTIONS: dict[str, Any] = {
    "rename": {"units": "features"},
    "base": RecurrentCell,
    # Keras caches the dropout masks of one sequence in the cell, which is shared here (Keras 3.15,
    # `DropoutRNNCell`).
    "leave_out": ("dropout", "recurrent_dropout"),
}
LSTMCell = layer(keras.layers.LSTMCell, **_OPTIONS)
LSTMCell.states = (1, 0)  # the carry is (c, h), as in Flax
GRUCell = layer(keras.layers.GRUCell, **_OPTIONS)
GRUCell.states = (0,)


class RNN(Module):
    """Runs a cell over a sequence.

    Example::

      x = tf.ones([2, 5, 3])  # [batch, time, inputs]
      lstm = nn.RNN(nn.LSTMCell(64))
      variables = lstm.init(nn.key(0), x)
      y = lstm.apply(variables, x)  # [batch, time, 64]

    Attributes:
      cell: a module with ``initialize_carry(rng, input_shape)`` that is called as
        ``carry, y = cell(carry, x)``.
      time_major: whether the time axis is the first, and not the one before the features.
      return_carry: whether calls return ``(carry, outputs)``.
      reverse: whether the sequence is run from its end, and the outputs are in that order.
      keep_order: whether the outputs of ``reverse`` are put into the order of the inputs.
      unroll: as in ``nn.scan``.
      variable_axes: as in ``nn.scan``.
      variable_broadcast: as in ``nn.scan``; by default all steps share the parameters.
      variable_carry: as in ``nn.scan``.
      split_rngs: as in ``nn.scan``.

    Implements: Flax Linen, ``nn.RNN``.
    """

    cell: Any
    time_major: bool = False
    return_carry: bool = False
    reverse: bool = False
    keep_order: bool = False
    unroll: int | bool = 1
    variable_axes: Mapping[Any, int] | None = None
    variable_broadcast: FilterLike = "params"
    variable_carry: FilterLike = False
    split_rngs: Mapping[Any, bool] | None = None

    def __call__(
        self,
        inputs: Any,
        *,
        initial_carry: Any = None,
        init_key: Any = None,
        seq_lengths: Any = None,
        return_carry: bool | None = None,
        time_major: bool | None = None,
        reverse: bool | None = None,
        keep_order: bool | None = None,
    ) -> Any:
        """Runs the cell over all steps.

        Args:
          inputs: a tensor of shape [..., time, features], or [time, ..., features].
          initial_carry: the first carry; by default the result of the cell's ``initialize_carry``.
          init_key: the key for ``initialize_carry``.
          seq_lengths: integers of shape [...]: the length of each sequence. Outputs after its end
            are undefined, and its final carry is the one at its end.
          return_carry: overrides the attribute.
          time_major: likewise.
          reverse: likewise. Padding after the end of a sequence stays there.
          keep_order: likewise.

        Returns:
          The outputs, shaped like the inputs; with ``return_carry`` a pair ``(carry, outputs)``.
        """
        return_carry = self.return_carry if return_carry is None else return_carry
        time_major = self.time_major if time_major is None else time_major
        reverse = self.reverse if reverse is None else reverse
        keep_order = self.keep_order if keep_order is None else keep_order
        inputs = tf.convert_to_tensor(inputs)
        features = getattr(self.cell, "num_feature_axes", 1)
        axis = 0 if time_major else inputs.shape.rank - features - 1
        steps = move_axis(inputs, axis, 0)
        batch = steps.shape.rank - features - 1
        carry = initial_carry
        if carry is None:
            shape = [s if s is not None else tf.shape(steps)[i] for i, s in enumerate(steps.shape)]
            carry = self.cell.initialize_carry(init_key, tuple(shape[1:]))
        if reverse:
            steps = _reverse(steps, seq_lengths, batch)
        each = return_carry and seq_lengths is not None
        loop = scan(
            _step_with_carry if each else _step,
            variable_axes=self.variable_axes,
            variable_broadcast=self.variable_broadcast,
            variable_carry=self.variable_carry,
            split_rngs={"params": False} if self.split_rngs is None else self.split_rngs,
            unroll=self.unroll,
        )
        last, outputs = loop(self.cell, carry, steps)
        if each:
            carries, outputs = outputs
            last = tf.nest.map_structure(
                lambda first, rest: _at_end(first, rest, seq_lengths, batch), carry, carries
            )
        if reverse and keep_order:
            outputs = tf.nest.map_structure(lambda t: _reverse(t, seq_lengths, batch), outputs)
        outputs = tf.nest.map_structure(lambda t: move_axis(t, 0, axis), outputs)
        return (last, outputs) if return_carry else outputs


def _step(cell: Any, carry: Any, x: Any) -> tuple[Any, Any]:
    return cell(carry, x)  # type: ignore[no-any-return]


def _step_with_carry(cell: Any, carry: Any, x: Any) -> tuple[Any, Any]:
    carry, y = cell(carry, x)
    return carry, (carry, y)


def _reverse(steps: Any, lengths: Any, batch: int) -> Any:
    """Reverses the sequences; padding after their ends stays there."""
    if lengths is None:
        return tf.reverse(steps, [0])
    shape = tf.shape(steps)
    rows = tf.reshape(steps, tf.concat([shape[:1], [-1], shape[1 + batch :]], 0))
    turned = tf.reverse_sequence(rows, tf.reshape(lengths, [-1]), seq_axis=0, batch_axis=1)
    return tf.ensure_shape(tf.reshape(turned, shape), steps.shape)


def _at_end(first: Any, carries: Any, lengths: Any, batch: int) -> Any:
    """Returns the carry at the end of each sequence; the first one for an empty sequence."""
    every = tf.concat([first[tf.newaxis], carries], 0)
    shape = tf.shape(first)
    rows = tf.reshape(every, tf.concat([tf.shape(every)[:1], [-1], shape[batch:]], 0))
    index = tf.reshape(tf.cast(lengths, tf.int32), [-1])
    chosen = tf.gather_nd(rows, tf.stack([index, tf.range(tf.size(index))], 1))
    return tf.ensure_shape(tf.reshape(chosen, shape), first.shape)
