"""``nn.custom_vjp``: a function of a module with custom gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from nbfn.code import wraps
from nbfn.modules.errors import TransformError
from nbfn.modules.lifecycle.methods import nowrap
from nbfn.modules.lifting.axes import flat_tensors, flatten, pack
from nbfn.modules.lifting.lifting import Leaf, Lift, tensors_of
from nbfn.modules.lifting.trees import Trees
from nbfn.modules.variables.filters import Filter, FilterLike


def custom_vjp(
    fn: Callable[..., Any],
    forward_fn: Callable[..., Any],
    backward_fn: Callable[..., Any],
    grad_vars: FilterLike = "params",
) -> Callable[..., Any]:
    """Replaces the gradients of a function of a module.

    Example, which replaces the gradients of variables by their signs::

      def fn(module, x):
        return module(x)

      def forward(module, x):
        return nn.vjp(fn, module, x)

      def backward(vjp_fn, cotangent):
        variables, *inputs = vjp_fn(cotangent)
        return tf.nest.map_structure(tf.sign, variables), *inputs

      model = nn.Dense(3).bind(nn.Dense(3).init(nn.key(0), tf.ones([1, 4])))
      y = nn.custom_vjp(fn, forward, backward)(model, tf.ones([1, 4]))

    Args:
      fn: ``fn(module, *args)``, the function itself, which runs while variables are created.
      forward_fn: ``forward_fn(module, *args)`` returns ``(output, residual)``.
      backward_fn: ``backward_fn(residual, cotangent)`` returns
        ``(variable_gradients, *input_gradients)``, the former as
        ``{collection: {module: {name: gradient}}}`` below the module, in the form that ``nn.vjp``
        returns.
      grad_vars: the collections that have gradients.

    Returns:
      The function with these gradients; all its arguments after the module are tensors or
      structures of tensors.

    Raises:
      TransformError: the gradients do not have the structure of variables and inputs, or a module
        was hidden in a closure.

    Implements: Flax Linen, ``nn.custom_vjp``.
    """
    wanted = Filter.of(grad_vars)

    @wraps(fn)
    def call(module: Any, *args: Any) -> Any:
        lift = Lift("nn.custom_vjp", (module,))
        if lift.is_creating():
            return lift.once(fn, (module, *args), {})
        trees = Trees("nn.custom_vjp", module)
        watched = [leaf for leaf in lift.variables if leaf[0] in wanted]
        traced: list[Any] = []

        @tf.custom_gradient
        def body(*tensors: Any) -> Any:
            held = {**lift.variables, **dict(zip(watched, tensors, strict=False))}
            inputs = pack(list(args), tensors[len(watched) :])
            result, inner = lift.run(forward_fn, (module, *inputs), {}, held)
            if not isinstance(result, tuple) or len(result) != 2:
                raise TransformError(
                    f"nn.custom_vjp: forward_fn must return (output, residual), found {result!r}."
                )
            output, residual = result
            traced[:] = [output, inner]

            def gradients(*cotangents: Any) -> list[Any]:
                upstream = pack(output, cotangents[: len(flatten(output))])
                of_variables, *of_inputs = lift.user.call(backward_fn, (residual, upstream), {})
                by_leaf = trees.flat(of_variables, "the gradients of variables")
                found = [_at(by_leaf, leaf, trees) for leaf in watched]
                found += flatten(list(of_inputs))
                if len(found) != len(tensors):
                    raise TransformError(
                        "nn.custom_vjp: backward_fn must return the gradients of the variables and "
                        f"of {len(args)} inputs, found {len(of_inputs)} of inputs."
                    )
                return found

            return tensors_of(output, inner), gradients

        tensors = flat_tensors(list(args))
        results = body(*(lift.variables[leaf] for leaf in watched), *tensors)
        output, inner = traced
        return lift.keep(output, inner, results)

    # `wraps` has copied this mark, but `call` does not enter the module (`lifting/target.py`).
    call.__dict__.pop("__nbfn_wrapped__", None)
    return nowrap(call)


def _at(gradients: Mapping[Leaf, Any], leaf: Leaf, trees: Trees) -> Any:
    if leaf not in gradients:
        raise TransformError(
            f"nn.custom_vjp: backward_fn returned no gradient for the variable "
            f"{trees.text(leaf)!r} of {leaf[0]!r}."
        )
    return gradients[leaf]
