"""Inspects the graph of a function's first trace for problems that its author should know early.

These are large constants, which each trace stores again; draws of equal random numbers; and devices
that do not exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.state.helpers import named, with_helpers
from nbfn.text import join

LARGE_CONSTANT = 10_000_000
"""Minimum size in bytes of a constant that is reported."""

_MAX_LINES = 3
_BRANCH = re.compile(r"(cond_(true|false)|branch)")
"""Names of graphs that run conditionally."""


def first_look(python_function: Any, graph: Any) -> list[str]:
    """Returns a sentence for each problem in a graph.

    Args:
        python_function: The function that was traced.
        graph: Its graph, a ``FuncGraph``.
    """
    draws: dict[Any, list[Any]] = {}
    devices: dict[str, Any] = {}
    sentences: list[str] = []
    for each in _tensorflow.graphs_in(graph):
        is_branch = _BRANCH.search(str(getattr(each, "name", ""))) is not None
        for op in each.get_operations():
            kind = op.type
            if kind == "Const":
                if _nbytes(op) > LARGE_CONSTANT:
                    sentences.append(_of_constant(op, python_function))
            elif kind in _tensorflow.HIDDEN_STATE and not is_branch:
                seeds = _seeds(op)
                if any(seeds):
                    draws.setdefault((kind, seeds), []).append(op)
            if op.device:
                devices.setdefault(op.device, op)
    sentences += [_of_draws(ops) for ops in draws.values() if len(ops) > 1]
    sentences += _of_devices(devices)
    return list(dict.fromkeys(sentences))


def _nbytes(op: Any) -> int:
    output = op.outputs[0]
    return int(output.dtype.size or 0) * int(output.shape.num_elements() or 0)


def _of_constant(op: Any, python_function: Any) -> str:
    size = _nbytes(op)
    name = next(
        (
            name
            for function in with_helpers(python_function)
            for name, value in named(function).items()
            if isinstance(value, np.ndarray) and value.size == op.outputs[0].shape.num_elements()
        ),
        None,
    )
    what = "" if name is None else f"`{name}` as "
    made = "" if name is None else f", {name} = tf.Variable({name})"
    return (
        f"{_at(op)}{what}a constant of {size / 1e6:.0f} MB, which each trace copies; a graph "
        f"holds 2 GB at most. Keep it in a tf.Variable{made}, or pass it as an argument"
    )


def _seeds(op: Any) -> tuple[int, ...]:
    try:
        return int(op.get_attr("seed")), int(op.get_attr("seed2"))
    except ValueError:  # the operation has no seeds
        return ()


def _of_draws(ops: list[Any]) -> str:
    lines = sorted({line for op in ops if (line := _tensorflow.users_line(op)) is not None})
    shown = [str(line) for line in lines[:_MAX_LINES]]
    where = f"lines {join(shown)}: " if len(shown) > 1 else f"line {join(shown)}: " * bool(shown)
    return (
        f"{where}{len(ops)} draws with the same seed come out equal, as each counts from its "
        "beginning. Give each another seed=, or draw from one tf.random.Generator"
    )


def _of_devices(devices: dict[str, Any]) -> Iterator[str]:
    if not devices:
        return
    there = [device.name for device in tf.config.list_logical_devices()]
    known = [tf.DeviceSpec.from_string(name) for name in there]
    for device, op in devices.items():
        asked = tf.DeviceSpec.from_string(device)
        if asked.device_type is None or asked.job not in (None, "localhost"):
            continue
        index = asked.device_index or 0
        if not any((e.device_type, e.device_index) == (asked.device_type, index) for e in known):
            listed = join([f"{each.device_type}:{each.device_index}" for each in known])
            yield (
                f"{_at(op)}the device {asked.device_type}:{index} is requested but does not exist, "
                f"so this runs elsewhere. There is {listed}"
            )


def _at(op: Any) -> str:
    line = _tensorflow.users_line(op)
    return "" if line is None else f"line {line}: "
