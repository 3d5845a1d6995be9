"""``nn.scan``: runs a module step by step over an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import TransformError
from nbfn.modules.lifting.axes import flat_tensors, flatten, move_axis, pack, spread, stack
from nbfn.modules.lifting.inner_store import Inner
from nbfn.modules.lifting.lifting import Leaf, Lift, describe
from nbfn.modules.lifting.slices import Call, SlicedCalls
from nbfn.modules.lifting.target import transform
from nbfn.modules.variables.filters import Filter, FilterLike


def scan(
    target: Any,
    variable_axes: Mapping[Any, int] | None = None,
    variable_broadcast: FilterLike = False,
    variable_carry: FilterLike = False,
    split_rngs: Mapping[Any, bool] | None = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
) -> Any:
    """Runs a module in a loop: ``(module, carry, *xs) -> (carry, ys)``.

    With ``variable_axes={"params": 0}``, each step has its own parameters, as layers have; with
    ``variable_broadcast="params"``, all steps share them, as in a recurrent network. In a graph it
    is one ``tf.while_loop`` for any length.

    Args:
      target: a module class, or a function of a module, the carry and slices of the inputs.
      variable_axes: by filter of collections, the axis along which the variables of the steps are
        stacked.
      variable_broadcast: the collections that all steps share and must not write.
      variable_carry: the collections that each step passes to the next; they must exist.
      split_rngs: by filter of streams, whether each step has a separate key. Streams that are not
        listed do not exist inside.
      in_axes: the axis of each input after the carry that is stepped over; None, which is also
        ``nn.broadcast``, for none.
      out_axes: the position of that axis in the outputs ``ys``.
      length: the number of steps, if no input determines it.
      reverse: whether to begin with the last step.
      unroll: number of steps in the graph per iteration of the loop; True for all, without a loop.
        More steps make a larger graph with more parallelism.
      methods: for a class, the methods to transform; or a dict of these, each with those of the
        options above that differ.

    Returns:
      The transformed class (``ScanCell``) or function.

    Raises:
      TransformError: sizes or structures do not fit, the carry changes its shape, or a module was
        hidden in a closure.
      ImmutableCollectionError: a shared collection is written.

    Implements: Flax Module lifecycle, section "Functionalization".
    """

    def call(
        fn: Callable[..., Any],
        options: Mapping[str, Any],
        module: Any,
        carry: Any,
        *xs: Any,
        **kwargs: Any,
    ) -> Any:
        lift = Lift("nn.scan", (module, xs, kwargs))
        loop = _Loop(lift, (fn, module, xs, kwargs), **options)
        return loop.created(carry) if lift.is_creating() else loop.looped(carry)

    options = {
        "variable_axes": variable_axes or {},
        "variable_broadcast": variable_broadcast,
        "variable_carry": variable_carry,
        "split_rngs": split_rngs or {},
        "in_axes": in_axes,
        "out_axes": out_axes,
        "length": length,
        "reverse": reverse,
        "unroll": unroll,
    }
    return transform(target, "nn.scan", "Scan", call, methods, options)


class _Loop(SlicedCalls):
    """One call of a scanned function."""

    def __init__(
        self,
        lift: Lift,
        call: Call,
        *,
        variable_broadcast: FilterLike,
        variable_carry: FilterLike,
        out_axes: Any,
        length: int | None,
        reverse: bool,
        unroll: int | bool,
        **axes: Any,
    ) -> None:
        if unroll is not True and (not isinstance(unroll, int) or unroll < 1):
            raise TransformError(f"nn.scan: unroll must be True or at least 1, found {unroll!r}.")
        super().__init__(lift, call, size=("length", length), **axes)
        if isinstance(self.size, int) and self.size == 0:
            raise TransformError("nn.scan steps over an axis of size 0, so there is no output.")
        self.out_axes, self.reverse, self.unroll = out_axes, reverse, unroll
        carried = Filter.of(variable_carry) - self.own
        self.broadcast = (self.shared | Filter.of(variable_broadcast)) - self.own - carried
        self.mutable = self.own | carried
        self.others = lift.leaves(self.broadcast)
        self.carried = lift.leaves(carried)

    def step(
        self, i: Any, carry: Any, carried: Mapping[Leaf, Any], is_first: bool = False
    ) -> tuple[Any, Any, Inner]:
        """Runs one step; returns the carry, the output, and the store inside."""
        mutable = self.mutable | self.broadcast if is_first else self.mutable
        output, inner = self.run(self.at(i), {**self.others, **carried}, mutable, carry)
        if not isinstance(output, tuple) or len(output) != 2:
            raise TransformError(
                f"nn.scan: each step must return (carry, output), found {output!r}. Return "
                "(carry, None) if there is no output."
            )
        _check_carry(flat_tensors(carry), flat_tensors(output[0]))
        return output[0], output[1], inner

    def created(self, carry: Any) -> Any:
        """Returns the result, after creating the variables."""
        self.others.update(self.carried)

        def one(i: int, is_first: bool) -> tuple[Any, Inner]:
            nonlocal carry
            carry, output, inner = self.step(i, carry, {}, is_first)
            return output, inner

        outputs = self.one_by_one(one, self.others, self.reverse)
        assert outputs is not None
        return carry, self._outputs(outputs[0], flatten(stack(outputs, 0)))

    def looped(self, carry: Any) -> Any:
        """Returns the result, computed by one loop."""
        start = self.size - 1 if self.reverse else 0
        # The first step runs before the loop, to find the structure of the loop's variables.
        first_carry, first_output, inner = self.step(start, carry, self.carried)
        self.lift.count_draws(inner, self.streams)
        writes = inner.writes()
        own, rest = self.parted(writes)
        carried = {**self.carried, **rest}
        columns = flat_tensors([first_output, *own.values()])
        arrays = [
            tf.TensorArray(t.dtype, self.size, element_shape=t.shape).write(start, t)
            for t in columns
        ]
        state = flat_tensors(first_carry), list(carried.values())

        def body(turn: Any, flat: Any, state_now: Any, arrays: Any) -> Any:
            i = self.size - 1 - turn if self.reverse else turn
            new, output, inner = self.step(
                i, pack(first_carry, flat), dict(zip(carried, state_now, strict=True))
            )
            writes = inner.writes()
            _check_same(own, self.parted(writes)[0])
            items = flat_tensors([output, *(writes[k] for k in own)])
            return (
                turn + 1,
                flat_tensors(new),
                [writes.get(k, old) for k, old in zip(carried, state_now, strict=True)],
                [a.write(i, item) for a, item in zip(arrays, items, strict=True)],
            )

        flat, state_now, arrays = self._run_loop(body, (*state, arrays))
        results = [array.stack() for array in arrays]
        for result, column in zip(results, columns, strict=True):
            result.set_shape([None, *column.shape])
        count = len(flatten(first_output))
        self.commit(dict(zip(own, pack(list(own.values()), results[count:]), strict=True)))
        self.lift.commit({k: v for k, v in zip(carried, state_now, strict=True) if k in writes})
        return pack(first_carry, flat), self._outputs(first_output, results[:count])

    def _run_loop(self, body: Callable[..., Any], state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the state after all iterations except the first."""
        unroll = self.unroll
        if isinstance(self.size, int) and (unroll is True or unroll >= self.size):
            for turn in range(1, self.size):
                _, *state = body(turn, *state)  # type: ignore[assignment]
            return tuple(state)
        if unroll is True:
            raise TransformError(
                "nn.scan: unroll=True needs a known number of steps. Give length, or inputs of "
                "known shape."
            )
        turned: tuple[Any, ...] = (tf.constant(1), *state)
        for steps in sorted({int(unroll), 1}, reverse=True):  # the remaining steps run one by one

            def turns(*state: Any, steps: int = steps) -> Any:
                for _ in range(steps):
                    state = body(*state)
                return state

            def more(turn: Any, *_: Any, steps: int = steps) -> Any:
                return turn + steps <= self.size

            # XLA supports gradients only of loops with a maximum.
            most = self.size // steps if isinstance(self.size, int) else None
            turned = tf.while_loop(more, turns, turned, maximum_iterations=most)
        return turned[1:]

    def _outputs(self, form: Any, tensors: Sequence[Any]) -> Any:
        axes = spread(self.out_axes, form, "out_axes")
        if None in axes:
            raise TransformError(
                "nn.scan: out_axes must be the position of the steps' axis for each output, not "
                "None or nn.broadcast. Return what has no such axis in the carry."
            )
        return pack(form, [move_axis(t, 0, a) for t, a in zip(tensors, axes, strict=True)])


def _check_carry(before: Sequence[Any], after: Sequence[Any]) -> None:
    if len(before) != len(after) or any(
        b.dtype != a.dtype or not b.shape.is_compatible_with(a.shape)
        for b, a in zip(before, after, strict=True)
    ):
        raise TransformError(
            "nn.scan: a step changes the carry. It was "
            f"{[(b.dtype.name, b.shape) for b in before]}, and is "
            f"{[(a.dtype.name, a.shape) for a in after]}; it must keep structure, dtype and shape."
        )


def _check_same(first: Mapping[Leaf, Any], now: Mapping[Leaf, Any]) -> None:
    if first.keys() != now.keys():
        odd = sorted(first.keys() ^ now.keys())[0]
        raise TransformError(
            f"nn.scan: {describe(odd)} is written in some steps only. Write it in each."
        )
