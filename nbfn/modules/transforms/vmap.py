"""``nn.vmap``: one module for each of many inputs, with shared or stacked variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import Conversion, no_autograph_fast, plain_eager_device
from nbfn.modules.errors import TransformError
from nbfn.modules.lifecycle.methods import enters
from nbfn.modules.lifting.axes import (
    Slices,
    at,
    axis_of,
    common_size,
    each,
    flatten,
    from_front,
    pack,
    spread,
    stack,
    to_front,
)
from nbfn.modules.lifting.inner_store import Inner, own_streams, split_streams
from nbfn.modules.lifting.lifting import Leaf, Lift
from nbfn.modules.lifting.target import transformed
from nbfn.modules.lifting.traces import call_traced
from nbfn.modules.variables.filters import Filter


@no_autograph_fast
def vmap(
    target: Any,
    variable_axes: Mapping[Any, int | None] | None = None,
    split_rngs: Mapping[Any, bool] | None = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
) -> Any:
    """Maps a module over an axis of its inputs.

    With ``variable_axes={"params": 0}`` and ``split_rngs={"params": True}`` it is an ensemble: each
    slice has parameters of its own, stacked in one tensor. With ``{"params": None}`` all slices
    share them.

    An eager call keeps its trace for later calls that are like it, as long as nothing has changed
    that its code can read: its fields, what functions close over, globals, attributes of objects. A
    function that changes such things itself is traced anew each time, as by ``tf.vectorized_map``;
    other effects of its Python, such as printing, come with a trace only.

    Args:
      target: a module class, or a function whose first argument is a module.
      variable_axes: by filter of collections, the axis along which variables are stacked, or None
        if they are shared. Collections that are not named do not exist inside.
      split_rngs: by filter of streams, whether each slice has a key of its own. Streams that are
        not named do not exist inside.
      in_axes: the axis of each argument after the module that is mapped over; None for none; an
        int for all. What is no tensor, and keyword arguments, are the same for all.
      out_axes: where the axis is in the outputs; None if all are the same.
      axis_size: the size of the axis, where no argument tells it.
      methods: for a class, the methods to transform; or a dict of these, each with those of the
        options above that differ.

    Returns:
      The transformed class (``VmapDense``) or function.

    Raises:
      TransformError: sizes or structures do not fit, or a module was hidden in a closure.
      ImmutableCollectionError: a shared collection is written.

    Implements: Flax Module lifecycle, section "Functionalization".
    """

    def call(
        fn: Callable[..., Any], options: Mapping[str, Any], module: Any, *args: Any, **kwargs: Any
    ) -> Any:
        lift = Lift("nn.vmap", (module, args, kwargs))
        if lift.is_creating() or plain_eager_device() is None:
            mapping = _Mapping(lift, fn, module, args, kwargs, **options)
            if tf.executing_eagerly():
                lift.user = _EAGER
            return mapping.created() if lift.is_creating() else mapping.mapped()
        mapped = enters(functools.partial(_mapped, fn, options))
        return call_traced(lift, mapped, module, args, kwargs, {}, by_state=True)

    options = {
        "variable_axes": variable_axes or {},
        "split_rngs": split_rngs or {},
        "in_axes": in_axes,
        "out_axes": out_axes,
        "axis_size": axis_size,
    }
    return transformed(target, "nn.vmap", "Vmap", call, methods, options)


_EAGER = Conversion(by_default=True)
"""How the user's functions are called where no trace is around them: as by a tf.function."""


@no_autograph_fast
def _mapped(fn: Any, options: Mapping[str, Any], module: Any, *args: Any, **kwargs: Any) -> Any:
    """A mapped call inside of a trace that is kept."""
    lift = Lift("nn.vmap", (module, args, kwargs))
    lift.user = _EAGER
    return _Mapping(lift, fn, module, args, kwargs, **options).mapped()


class _Mapping:
    """One call of a mapped function."""

    def __init__(
        self,
        lift: Lift,
        fn: Callable[..., Any],
        module: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        variable_axes: Mapping[Any, Any],
        split_rngs: Mapping[Any, bool],
        in_axes: Any,
        out_axes: Any,
        axis_size: int | None,
    ) -> None:
        self.fn, self.module, self.args, self.kwargs = fn, module, args, kwargs
        self.lift = lift
        self.axes, self.out_axes = variable_axes, out_axes
        self.slices = Slices(args, in_axes)
        self.inputs = self.slices.inputs
        named = Filter(frozenset(c for c in lift.store.tree if axis_of(variable_axes, c)[0]))
        self.shared: dict[Leaf, Any] = {}
        self.stacked: dict[Leaf, Any] = {}
        for leaf, value in lift.leaves(named).items():
            axis = axis_of(variable_axes, leaf[0])[1]
            if axis is None:
                self.shared[leaf] = value
            else:
                self.stacked[leaf] = to_front(value, axis)
        self.size = common_size(
            [*self.inputs, *self.stacked.values()], axis_size, "nn.vmap", "axis_size"
        )
        self.streams, self.keys = split_streams(lift.store, split_rngs, lift.root, self.size)

    def run(
        self,
        inputs: Sequence[Any],
        stacked: Sequence[Any],
        keys: Mapping[str, Any],
        mutable: Filter,
    ) -> tuple[Any, Inner]:
        """Calls the function for one slice."""
        variables = {**self.shared, **dict(zip(self.stacked, stacked, strict=True))}
        streams = {**self.streams, **own_streams(keys)}
        values = (self.module, *self.slices.whole(inputs))
        return self.lift.run(self.fn, values, self.kwargs, variables, streams, mutable)

    def created(self) -> Any:
        """The output, after making the variables: slice by slice, because each has its own key."""
        if not isinstance(self.size, int):
            raise TransformError(
                "nn.vmap makes variables, so it must know how many: the mapped axis has no static "
                "size. Give axis_size, or call init with inputs of known shape."
            )
        outputs, made = [], list[dict[Leaf, Any]]()
        for i in range(self.size):
            output, inner = self.run(
                [t[i] for t in self.inputs],
                [t[i] for t in self.stacked.values()],
                {name: at(keys, i) for name, keys in self.keys.items()},
                self._mutable(shared=i == 0),
            )
            writes = inner.writes()
            if i == 0:
                first = {k: v for k, v in writes.items() if self._axis(k) is None}
                self.lift.commit(first)
                self.lift.count_draws(inner, self.streams)
                self.shared.update(first)
                if len(first) == len(writes):
                    return self.mapped(counted=True)
            made.append({k: v for k, v in writes.items() if self._axis(k) is not None})
            outputs.append(output)
        self.lift.commit({k: stack([m[k] for m in made], self._axis(k)) for k in made[0]})
        axes = spread(self.out_axes, outputs[0], "out_axes")
        columns = zip(*(flatten(o) for o in outputs), strict=True)
        return pack(outputs[0], [stack(c, a) for c, a in zip(columns, axes, strict=True)])

    def mapped(self, counted: bool = False) -> Any:
        """The output, all slices at once."""
        told: list[Any] = []

        @no_autograph_fast
        def body(slices: Any) -> Any:
            _, inputs, stacked, keys = slices
            output, inner = self.run(inputs, stacked, keys, self._mutable())
            writes = inner.writes()
            told[:] = [output, list(writes), inner, [pack(v, flatten(v)) for v in writes.values()]]
            tensors = [tf.convert_to_tensor(leaf) for leaf in flatten(output)]
            return tensors, [
                [tf.convert_to_tensor(leaf) for leaf in flatten(v)] for v in writes.values()
            ]

        slices = (tf.range(self.size), self.inputs, list(self.stacked.values()), self.keys)
        tensors, changed = tf.vectorized_map(body, slices)
        output, written, inner, forms = told
        if not counted:
            self.lift.count_draws(inner, self.streams)
        self.lift.commit(
            {
                leaf: pack(form, [from_front(t, self._axis(leaf)) for t in new])
                for leaf, form, new in zip(written, forms, changed, strict=True)
            }
        )
        axes = spread(self.out_axes, output, "out_axes")
        return each(_placed, pack(output, tensors), axes)

    def _axis(self, leaf: Leaf) -> Any:
        return axis_of(self.axes, leaf[0])[1]

    def _mutable(self, shared: bool = False) -> Filter:
        named = (spec for spec, axis in self.axes.items() if axis is not None or shared)
        # The first entry that matches decides, so what an earlier one shares stays shared.
        found = Filter(frozenset())
        for spec in named:
            found = found | Filter.of(spec)
        if not shared:
            for spec, axis in self.axes.items():
                if axis is None:
                    found = found - Filter.of(spec)
        return found


def _placed(tensor: Any, axis: Any) -> Any:
    return tensor[0] if axis is None else from_front(tensor, axis)
