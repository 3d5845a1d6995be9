"""Initializers: functions ``init(key, shape, dtype=tf.float32)`` that make initial values.

Each function here except ``zeros`` and ``ones`` makes an initializer from its settings. The same
key gives the same values. They are used for ``self.param`` and the ``*_initializer`` fields of
layers.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import tensorflow as tf

Shape = Sequence[int]
Mode = Literal["fan_in", "fan_out", "fan_avg"]
Distribution = Literal["truncated_normal", "normal", "uniform"]

# The standard deviation of a standard normal that is cut off at -2 and 2.
_TRUNCATED_STDDEV = 0.87962566103423978


@dataclass(frozen=True)
class Initializer:
    """An initializer with a name, which is used for printing and comparison.

    Attributes:
      name: the call that makes it, such as ``"normal(stddev=0.01)"``; equal names are equal
        functions.
      function: ``function(key, shape, dtype)``.
    """

    name: str
    function: Callable[[Any, Shape, tf.DType], tf.Tensor] = field(compare=False)

    def __call__(self, key: Any, shape: Shape, dtype: Any = tf.float32) -> tf.Tensor:
        """Returns the initial value.

        Args:
          key: an int32 tensor of shape [2].
          shape: the shape of the value.
          dtype: its dtype.

        Returns:
          A tensor of that shape and dtype.
        """
        return self.function(key, [int(n) for n in shape], tf.as_dtype(dtype))

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        """Pickles by name, because each call creates a new function."""
        is_named = from_name(self.name) == self
        return (from_name, (self.name,)) if is_named else super().__reduce__()


def from_name(name: str) -> Initializer | None:
    """Returns the initializer of this module with that name, or None."""
    try:
        call = ast.parse(name, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(call, ast.Name):
        return {"zeros": zeros, "ones": ones}.get(call.id)
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        return None
    made_by = {
        f.__name__: f
        for f in (constant, uniform, normal, truncated_normal, variance_scaling, orthogonal)
    }
    try:
        arguments = [ast.literal_eval(argument) for argument in call.args]
        options = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
        initializer: Initializer = made_by[call.func.id](*arguments, **options)  # type: ignore[operator]
    except (KeyError, TypeError, ValueError):
        return None
    return initializer


zeros = Initializer("zeros", lambda _key, shape, dtype: tf.zeros(shape, dtype))
ones = Initializer("ones", lambda _key, shape, dtype: tf.ones(shape, dtype))


def zeros_init() -> Initializer:
    """Returns an initializer for zeros."""
    return zeros


def ones_init() -> Initializer:
    """Returns an initializer for ones."""
    return ones


def constant(value: float) -> Initializer:
    """Returns an initializer for ``value`` everywhere."""
    return Initializer(
        f"constant({value!r})", lambda _key, shape, dtype: tf.fill(shape, tf.cast(value, dtype))
    )


def uniform(scale: float = 0.01) -> Initializer:
    """Returns an initializer for the uniform distribution on ``[0, scale)``."""
    return Initializer(
        f"uniform(scale={scale!r})",
        lambda key, shape, dtype: tf.random.stateless_uniform(shape, key, 0.0, scale, dtype),
    )


def normal(stddev: float = 0.01) -> Initializer:
    """Returns an initializer for the normal distribution around zero."""
    return Initializer(
        f"normal(stddev={stddev!r})",
        lambda key, shape, dtype: tf.random.stateless_normal(shape, key, 0.0, stddev, dtype),
    )


def truncated_normal(stddev: float = 0.01) -> Initializer:
    """Returns an initializer for the normal distribution truncated at two ``stddev``."""
    return Initializer(
        f"truncated_normal(stddev={stddev!r})",
        lambda key, shape, dtype: tf.random.stateless_truncated_normal(
            shape, key, 0.0, stddev, dtype
        ),
    )


def variance_scaling(scale: float, mode: Mode, distribution: Distribution) -> Initializer:
    """Returns an initializer with variance ``scale / n``; ``n`` counts a kernel's connections.

    Args:
      scale: a positive factor.
      mode: whether ``n`` is the number of inputs, of outputs, or their mean. The last axis of the
        shape is the output, the one before it the input, all others the receptive field.
      distribution: the distribution to draw from.

    Raises:
      ValueError: ``mode`` or ``distribution`` is unknown.
    """
    if mode not in ("fan_in", "fan_out", "fan_avg"):
        raise ValueError(f"mode must be 'fan_in', 'fan_out' or 'fan_avg', found {mode!r}.")
    if distribution not in ("truncated_normal", "normal", "uniform"):
        raise ValueError(
            "distribution must be 'truncated_normal', 'normal' or 'uniform', found "
            f"{distribution!r}."
        )

    def draw(key: Any, shape: Shape, dtype: tf.DType) -> tf.Tensor:
        fan_in, fan_out = _fans(shape)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
        stddev = math.sqrt(scale / max(1.0, n))
        if distribution == "uniform":
            limit = math.sqrt(3.0) * stddev
            return tf.random.stateless_uniform(shape, key, -limit, limit, dtype)
        if distribution == "normal":
            return tf.random.stateless_normal(shape, key, 0.0, stddev, dtype)
        return tf.random.stateless_truncated_normal(
            shape, key, 0.0, stddev / _TRUNCATED_STDDEV, dtype
        )

    return Initializer(f"variance_scaling({scale!r}, {mode!r}, {distribution!r})", draw)


def lecun_normal() -> Initializer:
    """Returns an initializer for the truncated normal with variance ``1 / inputs``."""
    return variance_scaling(1.0, "fan_in", "truncated_normal")


def lecun_uniform() -> Initializer:
    """Returns an initializer for the uniform distribution with variance ``1 / inputs``."""
    return variance_scaling(1.0, "fan_in", "uniform")


def glorot_normal() -> Initializer:
    """Returns an initializer for the truncated normal with variance ``2 / (inputs + outputs)``."""
    return variance_scaling(1.0, "fan_avg", "truncated_normal")


def glorot_uniform() -> Initializer:
    """Returns an initializer for the uniform with variance ``2 / (inputs + outputs)``."""
    return variance_scaling(1.0, "fan_avg", "uniform")


def he_normal() -> Initializer:
    """Returns an initializer for the truncated normal with variance ``2 / inputs``."""
    return variance_scaling(2.0, "fan_in", "truncated_normal")


def he_uniform() -> Initializer:
    """Returns an initializer for the uniform distribution with variance ``2 / inputs``."""
    return variance_scaling(2.0, "fan_in", "uniform")


xavier_normal, xavier_uniform = glorot_normal, glorot_uniform
kaiming_normal, kaiming_uniform = he_normal, he_uniform


def orthogonal(scale: float = 1.0) -> Initializer:
    """Returns an initializer for orthonormal rows or columns, times ``scale``; at least 2-D."""

    def draw(key: Any, shape: Shape, dtype: tf.DType) -> tf.Tensor:
        if len(shape) < 2:
            raise ValueError(f"orthogonal needs a shape with at least two axes, found {shape}.")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        tall = [max(rows, columns), min(rows, columns)]
        q, r = tf.linalg.qr(tf.random.stateless_normal(tall, key, dtype=dtype))
        q *= tf.sign(tf.linalg.diag_part(r))  # makes the distribution uniform
        return scale * tf.reshape(q if rows >= columns else tf.transpose(q), shape)

    return Initializer(f"orthogonal(scale={scale!r})", draw)


def _fans(shape: Shape) -> tuple[float, float]:
    if len(shape) < 2:
        n = float(math.prod(shape))
        return n, n
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)
