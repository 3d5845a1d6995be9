"""``nn.jit``: a method of a module as a traced function, also inside a pure application."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbfn._tensorflow import no_autograph_fast
from nbfn.modules.lifting.lifting import Lift
from nbfn.modules.lifting.target import transformed
from nbfn.modules.lifting.traces import call_traced


@no_autograph_fast
def jit(
    target: Any, methods: Sequence[str] | Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """Traces a module's method once for each configuration and kind of input.

    Values, variables and random draws are those of the method itself. A bound module needs this
    only in part of a model: ``tf.function`` around its call does the same for the whole. Arguments
    that are no tensors or arrays are static: each other value has a trace of its own.

    Args:
      target: a module class, or a function whose first argument is a module.
      methods: for a class, the methods to transform.
      **options: of ``tf.function``, such as ``jit_compile=True``.

    Returns:
      The transformed class (``JitDense``) or function.

    Raises:
      TransformError: a module was hidden in a closure, or the target is no module class or
        function.

    Implements: Flax Module lifecycle, section "Functionalization".
    """

    def call(fn: Callable[..., Any], module: Any, *args: Any, **kwargs: Any) -> Any:
        lift = Lift("nn.jit", (module, args, kwargs))
        if lift.is_creating([fn]):
            return lift.once(fn, (module, *args), kwargs)
        return call_traced(lift, fn, module, args, kwargs, options)

    return transformed(target, "nn.jit", "Jit", call, methods)
