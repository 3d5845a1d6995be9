"""``nn.cond`` and ``nn.switch``: one of several functions of a module, chosen by a tensor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import TransformError
from nbfn.modules.filters import Filter
from nbfn.modules.inner_store import same_streams
from nbfn.modules.lift_axes import flatten, pack
from nbfn.modules.lifting import Lift, describe
from nbfn.modules.methods import marked

_EVERYTHING = Filter.of(True)


@marked
def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    module: Any,
    *operands: Any,
) -> Any:
    """``true_fun(module, *operands)`` or ``false_fun(module, *operands)``.

    Variables and random draws are those of the function that is chosen. While variables are made,
    both functions run, so that the variables of both exist.

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


@marked
def switch(index: Any, branches: Sequence[Callable[..., Any]], module: Any, *operands: Any) -> Any:
    """``branches[index](module, *operands)``; an index outside counts as the nearest inside.

    Args:
      index: an int32 scalar.
      branches: functions of the module that return values of the same structure.
      module: the module, or a structure of modules.
      *operands: for the functions.

    Raises:
      TransformError: there is no branch, the branches return different structures, only some make
        a variable, or a module was hidden in a closure.

    Implements: Flax Linen, ``nn.switch``.
    """
    if not branches:
        raise TransformError("nn.switch needs at least one branch.")
    inside = tf.clip_by_value(tf.cast(index, tf.int32), 0, len(branches) - 1)
    return _branch("nn.switch", inside, list(branches), (module, *operands))


def _branch(
    label: str, index: Any, branches: list[Callable[..., Any]], values: tuple[Any, ...]
) -> Any:
    lift = Lift(label, values)
    known = not tf.is_symbolic_tensor(index)
    if lift.is_creating():
        outputs = [lift.once(fn, values, {}) for fn in branches]
        if known:
            return outputs[int(index)]
        chosen = [functools.partial(_tensors, output) for output in outputs]
        return pack(outputs[0], tf.switch_case(index, chosen))
    if known:
        return lift.once(branches[int(index)], values, {})
    return _traced(lift, index, branches, values)


def _traced(
    lift: Lift, index: Any, branches: list[Callable[..., Any]], values: tuple[Any, ...]
) -> Any:
    streams, variables = same_streams(lift.store), lift.leaves(_EVERYTHING)
    told: list[Any] = []

    @marked
    def body(fn: Callable[..., Any]) -> Any:
        output, inner = lift.run(fn, values, {}, variables, streams, _EVERYTHING)
        writes = inner.writes()
        told.append((output, writes, inner.drawn))
        return [_tensors(output), [_tensors(v) for v in writes.values()]]

    # Each is traced before the choice is made of them, because all must give the same.
    calls = [marked(lambda fn=fn: body(fn)) for fn in branches]
    traced = [tf.function(call, autograph=False).get_concrete_function() for call in calls]
    output, forms = told[0][0], {k: v for _, writes, _ in told for k, v in writes.items()}
    for other, writes, _ in told:
        if _shape_of(other) != _shape_of(output):
            raise TransformError(
                f"{lift.label}: the functions return different structures, {_shape_of(output)} and "
                f"{_shape_of(other)}. They must return the same."
            )
        for leaf in forms.keys() - writes.keys() - variables.keys():
            raise TransformError(
                f"{lift.label}: {describe(leaf)} is made by one of the functions only. Make it "
                "before, or in all of them."
            )

    def choice(concrete: Any, writes: Any) -> Any:
        tensors, changed = concrete()
        new = dict(zip(writes, changed, strict=True))
        return [tensors, [new[k] if k in new else _tensors(variables[k]) for k in forms]]

    tensors, changed = tf.switch_case(
        index,
        [functools.partial(choice, c, w) for c, (_, w, _) in zip(traced, told, strict=True)],
    )
    drawn: dict[Any, int] = {}
    for _, _, draws in told:
        drawn = {k: max(drawn.get(k, 0), draws.get(k, 0)) for k in {*drawn, *draws}}
    for (name, path), count in drawn.items():
        lift.store.advance(name, path, count)
    lift.commit({k: pack(v, c) for (k, v), c in zip(forms.items(), changed, strict=True)})
    return pack(output, tensors)


def _tensors(value: Any) -> list[Any]:
    return [tf.convert_to_tensor(leaf) for leaf in flatten(value)]


def _shape_of(value: Any) -> str:
    return str(pack(value, [tf.convert_to_tensor(leaf).dtype.name for leaf in flatten(value)]))
