"""One cell run eagerly and traced, and what both leave."""

from __future__ import annotations

import collections
import types
from typing import Any

import numpy as np
import tensorflow as tf
from IPython.utils.capture import capture_output

SETUP = """
import argparse, collections, dataclasses, enum, functools, random, types
import numpy as np, tensorflow as tf
x = tf.constant([1.0, 2.0]); y = tf.constant([3.0, 4.0]); n = 3
v = tf.Variable([1.0, 1.0])
class Box:
    def __init__(self, a=None): self.a = a; self.items = []
"""
RUNS = 3
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)


def shown(value: Any, seen: dict[int, int] | None = None) -> str:
    """A value as text; an object that was met before is its number."""
    seen = {} if seen is None else seen
    if isinstance(value, tf.Variable):
        return f"variable {value.numpy().tolist()}"
    if isinstance(value, tf.Tensor):
        return f"tensor {value.numpy().tolist()}"  # which a graph's tensor lacks
    if isinstance(value, np.ndarray):
        return f"array {value.tolist()}"
    if isinstance(value, (int, float, str, bytes, type(None), types.ModuleType)):
        return repr(value)
    if id(value) in seen:
        return f"#{seen[id(value)]}"
    if not isinstance(value, tuple):
        seen[id(value)] = len(seen)
    parts = []
    if isinstance(value, dict):
        parts += [f"{key!r}: {shown(item, seen)}" for key, item in value.items()]
    elif isinstance(value, _CONTAINERS):
        parts += [shown(item, seen) for item in value]
    named = _attributes(value)
    parts += [f"{name}={shown(item, seen)}" for name, item in named.items()]
    is_definition = isinstance(value, type | types.FunctionType)
    kind = value.__qualname__ if is_definition else type(value).__name__
    return f"{kind}({', '.join(parts)})"


def _attributes(value: Any) -> dict[str, Any]:
    if isinstance(value, type | types.FunctionType):
        return {name: item for name, item in vars(value).items() if name in ("last", "calls")}
    named = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        for name in vars(cls).get("__slots__", ()):
            if not name.startswith("__") and hasattr(value, name):
                named[name] = getattr(value, name)
    return named


def left(shell: Any, setup: str, cell: str, probe: str) -> list[str]:
    """What an expression is after each of three runs of a cell; before the last, `x` changes."""
    before = set(shell.user_ns)
    found = []
    try:
        with capture_output():
            shell.run_cell(SETUP + setup).raise_error()
            for run in range(RUNS):
                if run == RUNS - 1:
                    shell.run_cell("x = x + 10.0").raise_error()
                shell.run_cell(cell).raise_error()
                ran = shell.run_cell(probe)
                ran.raise_error()
                found.append(shown(ran.result))
    finally:
        for name in set(shell.user_ns) - before:
            del shell.user_ns[name]
        with capture_output():
            shell.run_cell("%reload_ext nbfn").raise_error()
    return found


def assert_the_same(shell: Any, setup: str, cell: str, probe: str, options: str = "") -> None:
    """Both leave the same, each of the three times; the traced one runs with some options."""
    traced = left(shell, setup, f"%%tf_function {options}\n{cell}", probe)
    assert traced == left(shell, setup, cell, probe)
