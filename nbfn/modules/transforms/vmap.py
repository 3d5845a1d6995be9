"""``nn.vmap``: maps a module over an axis, with shared or stacked variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import Conversion, plain_eager_device
from nbfn.modules.lifecycle.methods import enters
from nbfn.modules.lifting.axes import flatten, move_axis, pack, spread, stack
from nbfn.modules.lifting.inner_store import Inner
from nbfn.modules.lifting.lifting import Lift, tensors_of
from nbfn.modules.lifting.slices import Call, SlicedCalls
from nbfn.modules.lifting.target import transform
from nbfn.modules.lifting.traces import call_traced


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
    slice has its own parameters, stacked in one tensor. With ``{"params": None}`` all slices share
    them.

    An eager call keeps its trace for similar later calls, as long as nothing that its code reads
    has changed: fields, closures, globals, attributes of objects. A function that changes such
    things itself is traced in each call, as by ``tf.vectorized_map``; other Python effects, such as
    printing, happen only while tracing.

    Example, an ensemble of five layers::

      x = tf.ones([2, 4])
      Ensemble = nn.vmap(
        nn.Dense, {"params": 0}, {"params": True}, in_axes=None, axis_size=5
      )
      ensemble = Ensemble(3)
      variables = ensemble.init(nn.key(0), x)  # kernel: [5, 4, 3]
      y = ensemble.apply(variables, x)  # [5, 2, 3]

    Args:
      target: a module class, or a function whose first argument is a module.
      variable_axes: by filter of collections, the axis along which variables are stacked, or None
        if they are shared. Collections that are not listed do not exist inside.
      split_rngs: by filter of streams, whether each slice has a separate key. Streams that are not
        listed do not exist inside.
      in_axes: the axis of each argument after the module that is mapped over; None for none; an int
        for all. Keyword arguments, and values other than tensors, are the same for all slices.
      out_axes: the position of the axis in the outputs; None if all slices are the same.
      axis_size: the size of the axis, if no argument determines it.
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
            mapping = _Mapping(lift, (fn, module, args, kwargs), **options)
            if tf.executing_eagerly():
                lift.user = _EAGER
            return mapping.created() if lift.is_creating() else mapping.mapped()
        mapped = enters(functools.partial(_mapped, fn, options))
        return call_traced(lift, mapped, module, args, kwargs, {}, implicit_for=fn)

    options = {
        "variable_axes": variable_axes or {},
        "split_rngs": split_rngs or {},
        "in_axes": in_axes,
        "out_axes": out_axes,
        "axis_size": axis_size,
    }
    return transform(target, "nn.vmap", "Vmap", call, methods, options)


_EAGER = Conversion(always=True)
"""Calls functions outside of a trace with AutoGraph, as a tf.function does."""


def _mapped(fn: Any, options: Mapping[str, Any], module: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a mapped call inside a cached trace."""
    lift = Lift("nn.vmap", (module, args, kwargs))
    lift.user = _EAGER
    return _Mapping(lift, (fn, module, args, kwargs), **options).mapped()


class _Mapping(SlicedCalls):
    """One call of a mapped function."""

    def __init__(
        self,
        lift: Lift,
        call: Call,
        *,
        out_axes: Any,
        axis_size: int | None,
        **axes: Any,
    ) -> None:
        super().__init__(lift, call, size=("axis_size", axis_size), **axes)
        self.out_axes = out_axes
        self.others = lift.leaves(self.shared)

    def created(self) -> Any:
        """Returns the output, after creating the variables."""

        def one(i: int, is_first: bool) -> tuple[Any, Inner]:
            mutable = self.own | self.shared if is_first else self.own
            return self.run(self.at(i), self.others, mutable)

        outputs = self.one_by_one(one, self.others, or_none=True)
        if outputs is None:
            return self.mapped(counted=True)
        return self._outputs(outputs[0], flatten(stack(outputs, 0)))

    def mapped(self, counted: bool = False) -> Any:
        """Returns the output, with all slices computed at once."""
        traced: list[Any] = []

        def body(slices: Any) -> Any:
            traced[:] = self.run(slices[1:], self.others, self.own)
            return tensors_of(*traced)

        # The range is needed if there is nothing else to map over.
        results = tf.vectorized_map(body, (tf.range(self.size), *self.slices))
        output, inner = traced
        if not counted:
            self.lift.count_draws(inner, self.streams)
        writes = inner.writes()
        form, written = pack([output, list(writes.values())], results)
        self.commit(dict(zip(writes, written, strict=True)))
        return self._outputs(form, flatten(form))

    def _outputs(self, form: Any, tensors: Sequence[Any]) -> Any:
        axes = spread(self.out_axes, form, "out_axes")
        placed = [
            tensor[0] if axis is None else move_axis(tensor, 0, axis)
            for tensor, axis in zip(tensors, axes, strict=True)
        ]
        return pack(form, placed)
