"""Inspects the graph of a function's first trace for problems that its author should know early.

These are large constants, which each trace stores again; draws of equal random numbers; and devices
that do not exist.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from nbfn import _tensorflow
from nbfn.functions.traced.missing_devices import missing_devices
from nbfn.state.helpers import named_values, with_helpers
from nbfn.text import join

LARGE_CONSTANT = 10_000_000
"""Minimum size in bytes of a constant that is reported."""

_MAX_LINES = 3
_BRANCH = re.compile(r"(cond_(true|false)|branch)")
"""Names of graphs that run conditionally (``unique_fn_name`` in cond_v2.py, TensorFlow 2.21)."""


def graph_problems(python_function: Any, graph: Any) -> list[str]:
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
    sentences += [_of_draws(ops) for ops in draws.values() if _are_the_users(ops)]
    sentences += [f"{_at(devices[device])}{text}" for device, text in missing_devices(devices)]
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
            for name, value in named_values(function).items()
            # A heuristic: TensorFlow has copied the array, so only the size links the two.
            if isinstance(value, np.ndarray) and value.size == op.outputs[0].shape.num_elements()
        ),
        None,
    )
    what = "" if name is None else f"`{name}` as "
    example = "" if name is None else f", {name} = tf.Variable({name})"
    return (
        f"{_at(op)}{what}a constant of {size / 1e6:.0f} MB, which each trace copies; a graph "
        f"holds 2 GB at most. Keep it in a tf.Variable{example}, or pass it as an argument"
    )


def _seeds(op: Any) -> tuple[int, ...]:
    try:
        return int(op.get_attr("seed")), int(op.get_attr("seed2"))
    except ValueError:  # the operation has no seeds
        return ()


def _are_the_users(ops: list[Any]) -> bool:
    """Returns whether user code makes several of these draws, not a library in one of its calls."""
    if len(ops) < 2:
        return False
    users, all_lines = zip(*map(_tensorflow.user_lines_of, ops), strict=True)
    return len(set(users)) > 1 or len(set(all_lines)) < len(ops)


def _of_draws(ops: list[Any]) -> str:
    lines = sorted({place[1] for op in ops if (place := _tensorflow.place_of_operation(op))})
    shown = [str(line) for line in lines[:_MAX_LINES]]
    where = f"lines {join(shown)}: " if len(shown) > 1 else f"line {join(shown)}: " * bool(shown)
    return (
        f"{where}{len(ops)} draws with the same seed are equal, as each operation has its "
        "own counter. Give each its own seed=, or draw from one tf.random.Generator"
    )


def _at(op: Any) -> str:
    place = _tensorflow.place_of_operation(op)
    return "" if place is None else f"line {place[1]}: "
