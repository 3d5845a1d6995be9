"""``nn.remat``: recomputes values for the gradient instead of keeping them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import record_gradient
from nbfn.modules.errors import TransformError
from nbfn.modules.lifecycle.interception import Intercepted, intercept_methods
from nbfn.modules.lifting.axes import COMPOSITE, flatten, is_array, pack
from nbfn.modules.lifting.lifting import Lift, tensors_of
from nbfn.modules.lifting.target import transform

Policy = Callable[[Any, str], bool]


def remat(
    target: Any,
    policy: Policy | None = None,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    static_argnums: Any = (),
    prevent_cse: bool = True,
    concrete: bool = False,
) -> Any:
    """Discards intermediate values and recomputes them when gradients are taken.

    Outputs and gradients are those of the module; random draws are the same both times.

    Example that keeps the outputs of convolutions and recomputes only cheap operations::

      class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
          return nn.relu(nn.Conv2D(8, 3)(x))

      Small = nn.remat(Block, policy=lambda module, method: isinstance(module, nn.Conv2D))
      variables = Small().init(nn.key(0), tf.ones([1, 9, 9, 3]))

    Args:
      target: a module class, or a function whose first argument is a module.
      policy: which outputs of methods are kept, as ``policy(module, method name)``; by default
        none. In a traced function, operations that lead to a kept output are not recomputed unless
        its gradient needs them; an eager call recomputes them anyway.
      methods: for a class, the methods to transform; or a dict of these, each with those of the
        options that differ.
      static_argnums: without effect, because only tensors are differentiated; accepted, so that
        code for Flax runs.
      prevent_cse: always true: TensorFlow separates the second computation from the first.
      concrete: always false: in an eager call, values are known anyway.

    Returns:
      The transformed class (``CheckpointDense``) or function.

    Raises:
      TransformError: a module was hidden in a closure, the target is not a module class or
        function, or an option is not supported by TensorFlow.

    Implements: Flax Module lifecycle, section "Functionalization"; Flax Linen, ``nn.remat``.
    """
    options = {
        "policy": policy,
        "static_argnums": static_argnums,
        "prevent_cse": prevent_cse,
        "concrete": concrete,
    }
    _check(**options)

    def call(
        fn: Callable[..., Any], options: Mapping[str, Any], module: Any, *args: Any, **kwargs: Any
    ) -> Any:
        _check(**options)
        lift = Lift("nn.remat", (module, args, kwargs))
        if lift.is_creating():
            return lift.once(fn, (module, *args), kwargs)
        variables = lift.variables
        inputs = [*variables.values(), *flatten([list(args), kwargs])]
        for value in inputs:
            if isinstance(value, COMPOSITE):
                raise TransformError(
                    f"nn.remat takes dense tensors, found a {type(value).__name__}: its gradient "
                    "would be lost. Pass its parts, such as .flat_values and .row_splits or "
                    ".indices and .values, and put it together inside."
                )
        # Only differentiable inputs may be passed to a function with a custom gradient.
        passed = [i for i, value in enumerate(inputs) if _is_differentiable(value)]
        traced: list[Any] = []

        def body(*tensors: Any) -> Any:
            values = list(inputs)
            for i, tensor in zip(passed, tensors, strict=True):
                values[i] = tensor
            by_leaf = dict(zip(variables, values, strict=False))
            positional, named = pack([list(args), kwargs], values[len(variables) :])
            traced[:] = lift.run(fn, (module, *positional), named, by_leaf)
            return tensors_of(*traced)

        fixed = sum(i < len(variables) for i in passed)
        again = recomputed(body, options["policy"], fixed)
        results = again(*(tf.convert_to_tensor(inputs[i]) for i in passed))
        output, inner = traced
        return lift.keep(output, inner, results)

    return transform(target, "nn.remat", "Checkpoint", call, methods, options)


checkpoint = remat


def _check(policy: Any, prevent_cse: bool, concrete: bool, **_: Any) -> None:
    if not prevent_cse or concrete:
        raise TransformError(
            "nn.remat: prevent_cse=False and concrete=True are options of JAX's compiler, and "
            "TensorFlow has nothing like them. Leave them out."
        )
    if policy is not None and not callable(policy):
        raise TransformError(
            f"nn.remat: policy must be a function of a module and a method's name that says "
            f"whether the output is kept, found {policy!r}."
        )


def _is_differentiable(value: Any) -> bool:
    if not is_array(value):
        return False
    dtype = tf.as_dtype(value.dtype)
    return bool(dtype.is_floating or dtype.is_complex)


# A function that its gradient calls again --------------------------------------------------


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
        saved: list[Any] = []
        with _around(policy, _keep, saved):
            results = fn(*tensors)

        def gradient(*cotangents: Any, variables: Any = None) -> Any:
            with tf.GradientTape() as tape:
                inputs = _after(cotangents, tensors, fixed)
                tape.watch(inputs)
                with _around(policy, _give, _after(cotangents, saved)):
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
    policy: Policy | None, act: Callable[[Any, list[Any]], Any], saved: list[Any]
) -> Iterator[None]:
    """Calls ``act(output, kept)`` for the outputs selected by the policy."""
    if policy is None:
        yield
        return

    def chosen(next_fun: Any, args: Any, kwargs: Any, context: Intercepted) -> Any:
        output = next_fun(*args, **kwargs)
        return act(output, saved) if policy(context.module, context.method_name) else output

    with intercept_methods(chosen):
        yield


def _keep(output: Any, saved: list[Any]) -> Any:
    saved.extend(t for t in flatten(output) if is_array(t))
    return output


def _give(output: Any, saved: list[Any]) -> Any:
    return pack(output, [_in_place(t, saved) for t in flatten(output)])


def _in_place(again: Any, saved: list[Any]) -> Any:
    """Returns the next kept value, with the gradient of the recomputed one."""
    if not is_array(again):
        return again
    value = saved.pop(0)
    # The value does not depend on the recomputation, so a graph does not run that.
    return value if record_gradient([value], [again], lambda g: [g]) else again
