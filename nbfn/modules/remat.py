"""``nn.remat``: values that are computed again for the gradient instead of being kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn.modules.filters import Filter
from nbfn.modules.inner_store import same_streams
from nbfn.modules.lift_axes import flatten, is_array, pack
from nbfn.modules.lift_target import transformed
from nbfn.modules.lifting import Lift

_EVERYTHING = Filter.of(True)


def remat(target: Any, methods: Sequence[str] | Mapping[str, Any] | None = None) -> Any:
    """Forgets intermediate values and computes them again when gradients are taken.

    Outputs and gradients are those of the module; random draws are the same both times.

    Args:
      target: a module class, or a function whose first argument is a module.
      methods: for a class, the methods to transform.

    Returns:
      The transformed class (``CheckpointDense``) or function.

    Raises:
      TransformError: a module was hidden in a closure, or the target is no module class or
        function.

    Implements: Flax Module lifecycle, section "Functionalization".
    """

    def call(fn: Callable[..., Any], module: Any, *args: Any, **kwargs: Any) -> Any:
        lift = Lift("nn.remat", (module, args, kwargs))
        if lift.is_creating():
            return lift.once(fn, (module, *args), kwargs)
        streams, variables = same_streams(lift.store), lift.leaves(_EVERYTHING)
        inputs = [*variables.values(), *flatten([list(args), kwargs])]
        # Gradients reach what is passed, and only what can have one may be passed.
        passed = [i for i, value in enumerate(inputs) if _is_differentiable(value)]
        told: list[Any] = []

        @tf.recompute_grad
        def body(*tensors: Any) -> Any:
            values = list(inputs)
            for i, tensor in zip(passed, tensors, strict=True):
                values[i] = tensor
            held = dict(zip(variables, values, strict=False))
            positional, named = pack([list(args), kwargs], values[len(variables) :])
            output, inner = lift.run(fn, (module, *positional), named, held, streams, _EVERYTHING)
            writes = inner.writes()
            told[:] = [output, writes, inner]
            return [tf.convert_to_tensor(leaf) for leaf in flatten([output, list(writes.values())])]

        results = body(*(tf.convert_to_tensor(inputs[i]) for i in passed))
        form, writes, inner = told
        lift.count_draws(inner, streams)
        output, written = pack([form, list(writes.values())], results)
        lift.commit(dict(zip(writes, written, strict=True)))
        return output

    return transformed(target, "nn.remat", "Checkpoint", call, methods)


def _is_differentiable(value: Any) -> bool:
    if not is_array(value):
        return False
    dtype = tf.as_dtype(value.dtype)
    return bool(dtype.is_floating or dtype.is_complex)
