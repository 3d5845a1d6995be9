"""Runs one function for many slices of arguments and variables: for vmap and scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import TransformError
from nbfn.modules.lifting.axes import (
    at,
    axis_of,
    flatten,
    is_array,
    move_axis,
    pack,
    split_axes,
    spread,
    stack,
)
from nbfn.modules.lifting.inner_store import Inner, own_streams, split_streams
from nbfn.modules.lifting.lifting import Leaf, Lift
from nbfn.modules.variables.filters import Filter

Call = tuple[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]]
"""A function, the module, the arguments that may be mapped, and the keyword arguments."""
Slices = tuple[Sequence[Any], Sequence[Any], Mapping[str, Any]]
"""The slice of one run: inputs, variables, keys."""


class SlicedCalls:
    """A function that is called once for each slice of its arguments and variables.

    Attributes:
      own: the collections that are sliced.
      shared: those with the axis None.
      size: the number of runs, an int or an int32 scalar.
      slices: the mapped arguments and variables, each with its axis first, and the keys of the
        split streams.
      streams: the random streams shared by all runs.
    """

    def __init__(
        self,
        lift: Lift,
        call: Call,
        variable_axes: Mapping[Any, Any],
        split_rngs: Mapping[Any, bool],
        in_axes: Any,
        size: tuple[str, int | None],
    ) -> None:
        """Separates arguments and variables into slices and shared values.

        Args:
          lift: the state of the modules.
          call: the function and its arguments.
          variable_axes: by filter of collections, the axis.
          split_rngs: by filter of streams, whether each run has a separate key.
          in_axes: the axes of the arguments.
          size: the name of the option for the number of runs, and its value.

        Raises:
          TransformError: the axes do not fit, or their sizes differ.
        """
        self.lift, self._axes, self._size_option = lift, variable_axes, size[0]
        self._fn, self._module, self._args, self._kwargs = call
        self.own, self.shared = split_axes(variable_axes)
        leaves = flatten(self._args)
        self._at = [
            axis if is_array(leaf) else None
            for leaf, axis in zip(leaves, spread(in_axes, self._args, "in_axes"), strict=True)
        ]
        inputs = [
            move_axis(_with_axis(leaf, axis), axis, 0)
            for leaf, axis in zip(leaves, self._at, strict=True)
            if axis is not None
        ]
        stacked = {k: move_axis(v, self._axis(k), 0) for k, v in lift.leaves(self.own).items()}
        self._stacked = list(stacked)
        self.size = self._common_size([*inputs, *stacked.values()], size[1])
        self.streams, keys = split_streams(lift.store, split_rngs, lift.root, self.size)
        self.slices: Slices = inputs, list(stacked.values()), keys

    def at(self, i: Any) -> Slices:
        """Returns the slices of one run."""
        inputs, stacked, keys = self.slices
        return (
            [t[i] for t in inputs],
            [t[i] for t in stacked],
            {n: at(k, i) for n, k in keys.items()},
        )

    def run(
        self, slices: Slices, others: Mapping[Leaf, Any], mutable: Filter, *first: Any
    ) -> tuple[Any, Inner]:
        """Calls the function for one slice.

        Args:
          slices: the slices of the run.
          others: the variables that are not split.
          mutable: the collections that it may write.
          *first: arguments before those that are mapped.
        """
        inputs, stacked, keys = slices
        rest = iter(inputs)
        leaves = [
            next(rest) if axis is not None else leaf
            for leaf, axis in zip(flatten(self._args), self._at, strict=True)
        ]
        values = (self._module, *first, *pack(self._args, leaves))
        variables = {**others, **dict(zip(self._stacked, stacked, strict=True))}
        streams = {**self.streams, **own_streams(keys)}
        return self.lift.run(self._fn, values, self._kwargs, variables, streams, mutable)

    def one_by_one(
        self,
        run: Callable[[int, bool], tuple[Any, Inner]],
        others: dict[Leaf, Any],
        reverse: bool = False,
        or_none: bool = False,
    ) -> list[Any] | None:
        """Creates the variables run by run, because each run has its own key.

        Args:
          run: called with the index of the run, and whether it is the first.
          others: the variables that are not split; updated with the runs' writes.
          reverse: whether to begin with the last.
          or_none: whether to stop after the first run if it wrote no sliced variable.

        Returns:
          The outputs; None if stopped.

        Raises:
          TransformError: the number of runs is unknown or 0.
        """
        if not isinstance(self.size, int):
            raise TransformError(
                f"{self.lift.label} makes variables, so it must know how many: the mapped axis has "
                f"no static size. Give {self._size_option}, or call init with inputs of known "
                "shape."
            )
        if not self.size:
            raise TransformError(
                f"{self.lift.label} makes variables over an axis of size 0, so there is no first "
                "one to make. Call init with inputs that have at least one slice."
            )
        outputs: dict[int, Any] = {}
        new: dict[int, dict[Leaf, Any]] = {}
        for i in reversed(range(self.size)) if reverse else range(self.size):
            is_first = not outputs
            outputs[i], inner = run(i, is_first)
            new[i], rest = self.parted(inner.writes())
            self.lift.commit(rest)
            others.update(rest)
            if is_first:
                self.lift.count_draws(inner, self.streams)
                if or_none and not new[i]:
                    return None
        every = range(self.size)
        self.lift.commit({k: stack([new[i][k] for i in every], self._axis(k)) for k in new[0]})
        return [outputs[i] for i in every]

    def parted(self, writes: Mapping[Leaf, Any]) -> tuple[dict[Leaf, Any], dict[Leaf, Any]]:
        """Splits writes into those to sliced variables and the rest."""
        own = {k: v for k, v in writes.items() if k[0] in self.own}
        return own, {k: v for k, v in writes.items() if k not in own}

    def commit(self, writes: Mapping[Leaf, Any]) -> None:
        """Commits the sliced variables of all runs, stacked along the first axis."""
        self.lift.commit(
            {
                leaf: pack(value, [move_axis(t, 0, self._axis(leaf)) for t in flatten(value)])
                for leaf, value in writes.items()
            }
        )

    def _axis(self, leaf: Leaf) -> Any:
        return axis_of(self._axes, leaf[0])

    def _common_size(self, tensors: Sequence[Any], size: int | None) -> Any:
        label, option = self.lift.label, self._size_option
        sizes_found = {int(t.shape[0]) for t in tensors if t.shape[0] is not None}
        if size is not None:
            sizes_found.add(int(size))
        if len(sizes_found) > 1:
            raise TransformError(
                f"{label} maps over axes of different sizes: {sorted(sizes_found)}. Check in_axes, "
                f"variable_axes and {option}."
            )
        if sizes_found:
            return sizes_found.pop()
        if tensors:
            return tf.shape(tensors[0])[0]
        raise TransformError(
            f"{label} has nothing to map over: no argument and no variable has an axis. Give "
            f"{option}."
        )


def _with_axis(leaf: Any, axis: int) -> Any:
    """Returns a tensor; raises `TransformError` if it has no such axis."""
    rank = len(leaf.shape)
    if -rank <= axis < rank:
        return leaf
    raise TransformError(
        f"in_axes maps over the axis {axis} of an argument of shape {tuple(leaf.shape)}, which has "
        f"{f'only {rank} axes' if rank else 'none'}. Give it None in in_axes, or an axis."
    )
