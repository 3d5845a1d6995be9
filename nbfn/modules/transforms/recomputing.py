"""Recomputes a function for its gradient, except for selected outputs of methods."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import record_gradient
from nbfn.modules.lifecycle.interception import Intercepted, intercept_methods
from nbfn.modules.lifting.axes import flatten, is_array, pack

Policy = Callable[[Any, str], bool]


def recomputed(
    fn: Callable[..., list[Any]], policy: Policy | None, fixed: int
) -> Callable[..., list[Any]]:
    """Returns a function whose gradient calls it again.

    Unlike ``tf.recompute_grad``, it has second derivatives.

    Args:
      fn: a function of tensors that returns a list of tensors, and calls modules.
      policy: whether the output of a module's method is kept from the first call; then the second
        call computes only what the output's own gradient needs. None keeps none.
      fixed: number of leading tensors that are variables rather than intermediate values.
    """

    @tf.custom_gradient
    def call(*tensors: Any) -> Any:
        kept: list[Any] = []
        with _around(policy, _keep, kept):
            results = fn(*tensors)

        def gradient(*cotangents: Any, variables: Any = None) -> Any:
            with tf.GradientTape() as tape:
                inputs = _after(cotangents, tensors, fixed)
                tape.watch(inputs)
                with _around(policy, _give, _after(cotangents, kept)):
                    outputs = fn(*inputs)
            found = tape.gradient(
                outputs,
                [*inputs, *(variables or ())],
                output_gradients=cotangents,
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )
            of_tensors, of_variables = found[: len(inputs)], found[len(inputs) :]
            # TensorFlow passes `variables` if the function uses variables besides its arguments.
            return of_tensors if variables is None else (of_tensors, of_variables)

        return results, gradient

    return call  # type: ignore[no-any-return]


def _after(cotangents: Sequence[Any], tensors: Sequence[Any], fixed: int = 0) -> list[Any]:
    """Copies tensors such that computations on them wait for the gradient.

    Otherwise the compiler would reuse the first computation and keep its results in memory.
    """
    real = [g for g in cotangents if g is not None and g.dtype.is_floating]
    if tf.executing_eagerly() or not real:
        return [tf.identity(tensor) for tensor in tensors]
    with tf.control_dependencies(real):
        inputs = [tf.identity(tensor) for tensor in tensors]
    # XLA ignores control dependencies, and may compute at any time what depends on no gradient
    # (https://github.com/jax-ml/jax/pull/2391). So a zero is added that appears to depend on it.
    # Variables are not copied for this if there are other inputs.
    some = tf.cast(tf.reduce_max(tf.reshape(real[0], [-1])[:1]), tf.bool)
    zero = tf.where(some == some, 0.0, float("nan"))
    free = fixed if fixed < len(inputs) else 0
    return [*inputs[:free], *(_plus(tensor, zero) for tensor in inputs[free:])]


def _plus(tensor: Any, zero: Any) -> Any:
    number = tensor.dtype.is_floating or tensor.dtype.is_complex
    return tensor + tf.cast(zero, tensor.dtype) if number else tensor


@contextlib.contextmanager
def _around(
    policy: Policy | None, act: Callable[[Any, list[Any]], Any], kept: list[Any]
) -> Iterator[None]:
    """Calls ``act(output, kept)`` for the outputs selected by the policy."""
    if policy is None:
        yield
        return

    def chosen(next_fun: Any, args: Any, kwargs: Any, context: Intercepted) -> Any:
        output = next_fun(*args, **kwargs)
        return act(output, kept) if policy(context.module, context.method_name) else output

    with intercept_methods(chosen):
        yield


def _keep(output: Any, kept: list[Any]) -> Any:
    kept.extend(t for t in flatten(output) if is_array(t))
    return output


def _give(output: Any, kept: list[Any]) -> Any:
    return pack(output, [_in_place(t, kept) for t in flatten(output)])


def _in_place(again: Any, kept: list[Any]) -> Any:
    """Returns the next kept value, with the gradient of the recomputed one."""
    if not is_array(again):
        return again
    value = kept.pop(0)
    # The value does not depend on the recomputation, so a graph does not run that.
    return value if record_gradient([value], [again], lambda g: [g]) else again
