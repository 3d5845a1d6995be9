"""``nn.fold_rngs``: accepted for compatibility with Flax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbfn.modules.lifting.lifting import Lift
from nbfn.modules.lifting.target import transform
from nbfn.modules.variables.filters import Filter, FilterLike


def fold_rngs(target: Any, variables: FilterLike = True, rngs: FilterLike = True) -> Any:
    """Returns the module with unchanged random draws.

    In Flax a method draws other numbers under ``nn.jit`` unless it is wrapped in ``fold_rngs``.
    Here draws depend only on stream, path and count, so they are always the same.

    Args:
      target: a module class, or a function whose first argument is a module.
      variables: a filter of collections, as in Flax.
      rngs: a filter of streams, as in Flax.

    Returns:
      The transformed class (``FoldRngsDense``) or function.

    Raises:
      TransformError: a module was hidden in a closure, or the target is no module class or
        function.
      FilterError: a filter is invalid.

    Implements: Flax Linen, ``nn.fold_rngs``.
    """
    Filter.of(variables), Filter.of(rngs)

    def call(fn: Callable[..., Any], _: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        return Lift("nn.fold_rngs", (module, args, kwargs)).once(fn, (module, *args), kwargs)

    return transform(target, "nn.fold_rngs", "FoldRngs", call)
