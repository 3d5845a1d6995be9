"""``nn.while_loop``: runs a module in a loop of unknown length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import TransformError
from nbfn.modules.lifting.axes import flat_tensors, pack
from nbfn.modules.lifting.inner_store import Inner, own_streams, split_streams
from nbfn.modules.lifting.lifting import Lift
from nbfn.modules.variables.filters import NOTHING, Filter, FilterLike


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    module: Any,
    init: Any,
    carry_variables: FilterLike = False,
    broadcast_variables: FilterLike = True,
    split_rngs: Mapping[Any, bool] | None = None,
) -> Any:
    """Repeats ``carry = body_fn(module, carry)`` while ``cond_fn(module, carry)`` is true.

    Args:
      cond_fn: returns a boolean scalar; may read variables.
      body_fn: returns a carry of the same structure, dtypes and shapes.
      module: the module, or a structure of modules.
      init: the first carry, a structure of tensors.
      carry_variables: the collections that the body may write; they must exist.
      broadcast_variables: the collections that are read-only.
      split_rngs: by filter of streams, whether each iteration has a separate key. Streams that are
        not listed do not exist inside.

    Returns:
      The last carry.

    Raises:
      TransformError: the body changes the structure of the carry or makes a variable, or a module
        was hidden in a closure.
      ImmutableCollectionError: a collection that is not carried is written.

    Implements: Flax Linen, ``nn.while_loop``.
    """
    lift = Lift("nn.while_loop", module)
    carried = Filter.of(carry_variables)
    shared = lift.leaves(Filter.of(broadcast_variables) - carried)
    by_leaf = lift.leaves(carried)
    fixed, keys = split_streams(lift.store, split_rngs or {}, lift.root)
    drawn: dict[str, Mapping[Any, int]] = {}

    def run(fn: Callable[..., Any], iteration: Any, flat: Any, state: Any, mutable: Filter) -> Any:
        variables = {**shared, **dict(zip(by_leaf, state, strict=True))}
        own = own_streams({n: tf.random.fold_in(k, iteration) for n, k in keys.items()})
        values = (module, pack(init, flat))
        return lift.run(fn, values, {}, variables, {**fixed, **own}, mutable)

    def condition(iteration: Any, flat: Any, state: Any) -> Any:
        result, inner = run(cond_fn, iteration, flat, state, NOTHING)
        drawn["condition"] = inner.drawn
        return result

    def body(iteration: Any, flat: Any, state: Any) -> Any:
        carry, inner = run(body_fn, iteration, flat, state, carried)
        drawn["body"] = inner.drawn
        writes = inner.writes()
        new = flat_tensors(carry)
        created = sorted(writes.keys() - by_leaf.keys())
        if len(new) != len(flat) or created:
            raise TransformError(
                "nn.while_loop: the body must return a carry of the structure of init, and may not "
                f"make variables; init has {len(flat)} tensors, the carry has {len(new)}, and the "
                f"new variables are {created or 'none'}. Make variables before the loop."
            )
        return iteration + 1, new, [writes.get(k, v) for k, v in zip(by_leaf, state, strict=True)]

    start = flat_tensors(init)
    iterations, flat, state = tf.while_loop(
        condition, body, (tf.constant(0), start, list(by_leaf.values()))
    )
    writable = {k: v for k, v in zip(by_leaf, state, strict=True) if k[0] in lift.store.mutable}
    lift.commit(writable)
    for (name, path), draws in _draws(drawn, iterations, isinstance(lift.store, Inner)).items():
        if name in fixed:
            lift.store.advance(name, path, draws)
    return pack(init, flat)


def _draws(
    drawn: Mapping[str, Mapping[Any, int]], iterations: Any, is_inside: bool
) -> dict[Any, Any]:
    """Returns how often each path drew in one iteration, as all iterations draw the same."""
    before, inside = drawn["condition"], drawn.get("body", {})
    pairs = {key: (before.get(key, 0), inside.get(key, 0)) for key in {*before, *inside}}
    if not tf.is_symbolic_tensor(iterations):
        return {key: max(n, m * min(int(iterations), 1)) for key, (n, m) in pairs.items()}
    # A surrounding transformation counts draws with Python numbers instead of tensors.
    if is_inside:
        return {key: max(pair) for key, pair in pairs.items()}
    return {key: tf.maximum(n, m * tf.minimum(iterations, 1)) for key, (n, m) in pairs.items()}
