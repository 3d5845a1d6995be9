"""``nn.fold_rngs``: accepted for compatibility with Flax."""

from __future__ import annotations

from typing import Any

from nbfn.modules.variables.filters import Filter, FilterLike


def fold_rngs(target: Any, variables: FilterLike = True, rngs: FilterLike = True) -> Any:
    """Returns the target: its random draws need no change.

    In Flax a method draws other numbers under ``nn.jit`` unless it is wrapped in ``fold_rngs``.
    Here draws depend only on stream, path and count, so they are always the same.

    Args:
      target: a module class, or a function whose first argument is a module.
      variables: a filter of collections, as in Flax.
      rngs: a filter of streams, as in Flax.

    Raises:
      FilterError: a filter is invalid.

    Implements: Flax Linen, ``nn.fold_rngs``.
    """
    Filter.of(variables), Filter.of(rngs)
    return target
