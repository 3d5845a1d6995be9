"""``nn.remat``: recomputes values for the gradient instead of keeping them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import TransformError
from nbfn.modules.lifting.axes import COMPOSITE, flatten, is_array, pack
from nbfn.modules.lifting.lifting import Lift, tensors_of
from nbfn.modules.lifting.target import transformed
from nbfn.modules.transforms.recomputing import Policy, recomputed


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
            held = dict(zip(variables, values, strict=False))
            positional, named = pack([list(args), kwargs], values[len(variables) :])
            traced[:] = lift.run(fn, (module, *positional), named, held)
            return tensors_of(*traced)

        fixed = sum(i < len(variables) for i in passed)
        again = recomputed(body, options["policy"], fixed)
        results = again(*(tf.convert_to_tensor(inputs[i]) for i in passed))
        output, inner = traced
        return lift.keep(output, inner, results)

    return transformed(target, "nn.remat", "Checkpoint", call, methods, options)


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
