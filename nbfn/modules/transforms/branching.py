"""``nn.cond`` and ``nn.switch``: calls one of several functions of a module, chosen by a tensor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import tf_function
from nbfn.modules.errors import ParamShapeError, TransformError
from nbfn.modules.lifting.axes import flat_tensors, pack
from nbfn.modules.lifting.inner_store import Inner
from nbfn.modules.lifting.lifting import Leaf, Lift, describe
from nbfn.modules.variables.store import Path


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    module: Any,
    *operands: Any,
) -> Any:
    """Returns ``true_fun(module, *operands)`` or ``false_fun(module, *operands)``.

    Writes and random draws are those of the chosen function. While variables are being created, the
    other function runs too, so that its variables exist; what it writes to them is discarded.

    Args:
      pred: a boolean scalar.
      true_fun: called if it is true.
      false_fun: called otherwise; must return a value of the same structure.
      module: the module, or a structure of modules.
      *operands: for the functions.

    Raises:
      TransformError: the two return different structures, only one makes a variable, or a module
        was hidden in a closure.

    Implements: Flax Linen, ``nn.cond``.
    """
    index = tf.cast(pred, tf.int32)
    return _branch("nn.cond", index, [false_fun, true_fun], (module, *operands))


def switch(index: Any, branches: Sequence[Callable[..., Any]], module: Any, *operands: Any) -> Any:
    """Returns ``branches[index](module, *operands)``; an index out of range is clipped.

    Args:
      index: an int32 scalar.
      branches: functions of the module that return values of the same structure.
      module: the module, or a structure of modules.
      *operands: for the functions.

    Raises:
      TransformError: there is no branch, the branches return different structures, only some make a
        variable, or a module was hidden in a closure.

    Implements: Flax Linen, ``nn.switch``.
    """
    if not branches:
        raise TransformError("nn.switch needs at least one branch.")
    # As in JAX. `tf.switch_case` itself would run the last branch for any index out of range.
    inside = tf.clip_by_value(tf.cast(index, tf.int32), 0, len(branches) - 1)
    return _branch("nn.switch", inside, list(branches), (module, *operands))


def _branch(
    label: str, index: Any, branches: list[Callable[..., Any]], values: tuple[Any, ...]
) -> Any:
    lift = Lift(label, values)
    is_static = not tf.is_symbolic_tensor(index)
    if is_static and lift.is_creating():
        return _run_all(lift, int(index), branches, values)
    if is_static:
        return lift.once(branches[int(index)], values, {})
    return _trace_branches(lift, index, branches, values)


def _run_all(
    lift: Lift, index: int, branches: list[Callable[..., Any]], values: tuple[Any, ...]
) -> Any:
    """Runs every branch as if it were chosen; keeps only the variables of the others."""
    # Each from the same state: no branch sees what another has written.
    runs = [lift.run(fn, values, {}) for fn in branches]
    _check_shared(lift, [inner.made for _, inner in runs])
    output, chosen = runs[index]
    lift.commit(chosen.writes(), chosen.made)
    lift.count_draws(chosen, lift.streams)
    for _, inner in runs:
        lift.make(inner.made)
    return output


def _trace_branches(
    lift: Lift, index: Any, branches: list[Callable[..., Any]], values: tuple[Any, ...]
) -> Any:
    variables = lift.variables
    runs: list[tuple[Any, Inner, dict[Leaf, Any]]] = []

    def body(fn: Callable[..., Any]) -> Any:
        output, inner = lift.run(fn, values, {})
        runs.append((output, inner, inner.writes()))
        return [flat_tensors(output), [flat_tensors(v) for v in runs[-1][2].values()]]

    if lift.is_creating():
        # Initial values are needed for all branches, so all run.
        results = list(map(body, branches))
        choices: list[Callable[[], Any]] = [functools.partial(tuple, each) for each in results]
    else:
        # Each is traced before `tf.switch_case`, because all must write the same variables.
        choices = [_concrete(functools.partial(body, fn)) for fn in branches]
    output, forms = runs[0][0], {k: v for *_, writes in runs for k, v in writes.items()}
    _check_shared(lift, [inner.made for _, inner, _ in runs])
    created = {k: v for _, inner, _ in reversed(runs) for k, v in inner.made.items()}
    start = {**created, **variables} if lift.is_creating() else variables
    for other, _, writes in runs:
        if _shape_of(other) != _shape_of(output):
            raise TransformError(
                f"{lift.label}: the functions return different structures, {_shape_of(output)} and "
                f"{_shape_of(other)}. They must return the same."
            )
        for leaf in forms.keys() - writes.keys() - start.keys():
            raise TransformError(
                f"{lift.label}: {describe(leaf)} is made by one of the functions only. Make it "
                "before, or in all of them."
            )

    def choice(call: Callable[[], Any], writes: dict[Leaf, Any]) -> Any:
        tensors, changed = call()
        new = dict(zip(writes, changed, strict=True))
        return [tensors, [new[k] if k in new else flat_tensors(start[k]) for k in forms]]

    tensors, changed = tf.switch_case(
        index,
        [functools.partial(choice, c, run[2]) for c, run in zip(choices, runs, strict=True)],
    )
    _count_draws(lift, index, [inner.drawn for _, inner, _ in runs])
    lift.commit(
        {k: pack(v, c) for (k, v), c in zip(forms.items(), changed, strict=True)},
        created if lift.is_creating() else None,
    )
    return pack(output, tensors)


def _concrete(call: Callable[[], Any]) -> Callable[[], Any]:
    # Not a default argument or a partial: TensorFlow unwraps decorated functions among arguments,
    # so a transformed function would be called without its transformation (TensorFlow 2.21).
    traced = tf_function(lambda: call(), autograph=False)
    return traced.get_concrete_function()  # type: ignore[no-any-return]


def _check_shared(lift: Lift, created: list[dict[Leaf, Any]]) -> None:
    """Refuses variables with one name that differ: the functions would share one of them."""
    shapes: dict[Leaf, str] = {}
    for leaf, value in (item for each in created for item in each.items()):
        shape = str([(str(part.shape), part.dtype.name) for part in flat_tensors(value)])
        if shapes.setdefault(leaf, shape) != shape:
            raise ParamShapeError(
                f"{lift.label}: {describe(leaf)} is {shapes[leaf]} in one of the functions and "
                f"{shape} in another, but they share it. Give the modules names of their own."
            )


def _count_draws(lift: Lift, index: Any, drawn: list[dict[tuple[str, Path], int]]) -> None:
    """Counts the draws of the chosen branch."""
    for name, path in dict.fromkeys(key for each in drawn for key in each):
        counts = [each.get((name, path), 0) for each in drawn]
        # A surrounding transformation counts draws with Python numbers instead of tensors.
        is_inside = isinstance(lift.store, Inner)
        lift.store.advance(name, path, max(counts) if is_inside else tf.gather(counts, index))


def _shape_of(value: Any) -> str:
    return str(pack(value, [tensor.dtype.name for tensor in flat_tensors(value)]))
