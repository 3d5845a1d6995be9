"""``nn.DenseGeneral``: a dense layer over several axes, on Keras's ``EinsumDense``."""

from __future__ import annotations

import string
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import PartError
from nbfn.modules.layers.layer_types import Function
from nbfn.modules.layers.layers import EinsumDense
from nbfn.modules.lifecycle.binding import attach
from nbfn.modules.module.module import Module


class DenseGeneral(Module):
    """A linear map of some axes of its input to new ones.

    Attributes:
      features: the size of the new axis, or of several; they are the last axes of the output.
      axis: the axis, or axes, of the input that are mapped.
      batch_dims: the first axes of the input, ``(0,)`` or ``(0, 1)``, ..., if each of their entries
        has separate parameters.
      use_bias: whether there is a bias.
      activation: a function of the output, or its name.
      kernel_initializer: as in ``nn.EinsumDense``.
      bias_initializer: likewise.
      dtype: likewise.

    The parameters are ``kernel``, of the shape [batch axes, axes, features], and ``bias``, of which
    each feature and each entry of the batch axes has one.

    Raises:
      PartError: when it is called: the input has no such axis, or ``batch_dims`` are not the first.

    Implements: Flax Linen, ``nn.DenseGeneral``.
    """

    features: int | tuple[int, ...]
    axis: int | tuple[int, ...] = -1
    batch_dims: tuple[int, ...] = ()
    use_bias: bool = True
    activation: Function = None
    kernel_initializer: Any = "glorot_uniform"
    bias_initializer: Any = "zeros"
    dtype: Any = None

    def __call__(self, inputs: Any) -> tf.Tensor:
        """Maps the axes: [batch axes, other axes, axes] to [batch axes, other axes, features]."""
        inputs = tf.convert_to_tensor(inputs)
        if inputs.shape.rank == 0 or (not self.batch_dims and 0 in self._input_axes(inputs)):
            # Keras treats the first axis as the batch.
            mapped = tuple(n + 1 for n in self._input_axes(inputs))
            return tf.squeeze(self._layer(inputs[tf.newaxis], mapped)(inputs[tf.newaxis]), 0)
        return self._layer(inputs, self._input_axes(inputs))(inputs)

    def _input_axes(self, inputs: Any) -> tuple[int, ...]:
        rank = inputs.shape.rank
        if rank is None:
            raise PartError(f"{self!r} was called with a tensor of unknown rank; give it a shape")
        axes = (self.axis,) if isinstance(self.axis, int) else tuple(self.axis)
        if any(not -rank <= n < rank for n in axes) or tuple(self.batch_dims) != tuple(
            range(len(self.batch_dims))
        ):
            raise PartError(
                f"{self!r} was called with the shape {inputs.shape}. It needs the axes {axes}, and "
                f"batch_dims must be the first axes, such as (0, 1), not {self.batch_dims}."
            )
        return tuple(n % rank for n in axes)

    def _layer(self, inputs: Any, mapped: tuple[int, ...]) -> Any:
        """Returns the Keras layer for an input of this rank, attached at this module's place."""
        sizes = (self.features,) if isinstance(self.features, int) else tuple(self.features)
        letters = iter(string.ascii_lowercase)
        axes = [next(letters) for _ in inputs.shape]
        new = "".join(next(letters) for _ in sizes)
        batch = "".join(axes[n] for n in self.batch_dims)
        others = "".join(a for i, a in enumerate(axes) if i not in mapped)
        kernel = batch + "".join(axes[n] for n in mapped) + new
        unknown = [None] * (len(others) - 1)
        layer = EinsumDense(
            f"{''.join(axes)},{kernel}->{others}{new}",
            (*unknown, *map(int, sizes)),
            bias_axes=batch + new if self.use_bias else None,
            activation=self.activation,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
            dtype=self.dtype,
            parent=None,
        )
        attach(layer, self._scope("__call__"), tracked=False)
        return layer
