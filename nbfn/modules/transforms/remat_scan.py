"""``nn.remat_scan``: a deep stack of equal layers with little memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbfn._tensorflow import call_as_here
from nbfn.modules.errors import TransformError
from nbfn.modules.lifecycle.methods import enters, is_entered
from nbfn.modules.lifting.target import transform
from nbfn.modules.transforms.remat import Policy, remat
from nbfn.modules.transforms.scan import scan
from nbfn.modules.variables.filters import FilterLike


def remat_scan(
    target: Any,
    lengths: Sequence[int],
    policy: Policy | None = None,
    variable_broadcast: FilterLike = False,
    variable_carry: FilterLike = False,
    variable_axes: Mapping[Any, int] | None = None,
    split_rngs: Mapping[Any, bool] | None = None,
) -> Any:
    """Runs a module many times, ``(module, x) -> x``, keeping few values for the gradient.

    The loops are nested: ``lengths=(10, 10)`` makes 100 layers, of which 10 values are kept, and 10
    more while the gradient of one inner loop is computed. The stacked variables have the leading
    axes ``lengths``.

    Args:
      target: a module class, or a function of a module and a value that returns another of the same
        structure, dtypes and shapes.
      lengths: the numbers of iterations, outermost loop first.
      policy: as in ``nn.remat``.
      variable_broadcast: as in ``nn.scan``.
      variable_carry: as in ``nn.scan``.
      variable_axes: as in ``nn.scan``; by default all variables are stacked along axis 0.
      split_rngs: as in ``nn.scan``; by default each layer has separate keys.

    Returns:
      The transformed class (``RematScanDense``) or function.

    Raises:
      TransformError: there is no length, the value changes its shape, or a module was hidden in a
        closure.

    Implements: Flax Linen, ``nn.remat_scan``.
    """
    if not lengths or any(not isinstance(n, int) or n < 1 for n in lengths):
        raise TransformError(
            f"nn.remat_scan: lengths must be positive numbers of steps, such as (10, 10), found "
            f"{lengths!r}."
        )
    options = {
        "variable_broadcast": variable_broadcast,
        "variable_carry": variable_carry,
        "variable_axes": {True: 0} if variable_axes is None else variable_axes,
        "split_rngs": {True: True} if split_rngs is None else split_rngs,
    }

    def call(fn: Callable[..., Any], _: Any, module: Any, x: Any) -> Any:
        inner = remat(fn, policy) if len(lengths) == 1 else fn
        return _nest(inner, tuple(lengths), policy, options)(module, x)

    return transform(target, "nn.remat_scan", "RematScan", call)


def _nest(
    fn: Callable[..., Any], lengths: tuple[int, ...], policy: Policy | None, options: Any
) -> Callable[..., Any]:
    if len(lengths) > 1:
        fn = remat(_nest(fn, lengths[1:], policy, options), policy)

    def step(module: Any, x: Any) -> Any:
        return call_as_here(fn, (module, x), {}), None

    loop = scan(enters(step) if is_entered(fn) else step, length=lengths[0], **options)

    @enters
    def run(module: Any, x: Any) -> Any:
        return loop(module, x)[0]

    return run
