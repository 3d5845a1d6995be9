"""Activation functions of TensorFlow and Keras under common names."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

relu = tf.nn.relu
relu6 = tf.nn.relu6
elu = keras.activations.elu
selu = tf.nn.selu
celu = keras.activations.celu
tanh = tf.nn.tanh
sigmoid = tf.nn.sigmoid
log_sigmoid = tf.math.log_sigmoid
hard_sigmoid = keras.activations.hard_sigmoid
hard_swish = keras.activations.hard_swish
hard_tanh = keras.activations.hard_tanh
softplus = tf.nn.softplus
soft_sign = tf.nn.softsign
softmax = tf.nn.softmax
log_softmax = tf.nn.log_softmax
glu = keras.activations.glu


def gelu(x: Any, approximate: bool = True) -> tf.Tensor:
    """Gaussian error linear unit, ``x * P(X <= x)``.

    Args:
      x: a float tensor of any shape.
      approximate: whether to use the formula with ``tanh``.

    Returns:
      A tensor like ``x``.
    """
    return tf.nn.gelu(x, approximate=approximate)


def leaky_relu(x: Any, negative_slope: float = 0.01) -> tf.Tensor:
    """Returns ``x``, multiplied by a slope where it is negative; a float tensor like ``x``."""
    return tf.nn.leaky_relu(x, negative_slope)


def silu(x: Any) -> tf.Tensor:
    """Returns ``x * sigmoid(x)``, also called swish; a float tensor like ``x``."""
    return tf.nn.silu(x)


swish = silu
