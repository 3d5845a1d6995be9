"""A traced cell leaves what an eager one leaves: names, values, what shares what, and output."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, Phase, assume, example, given, settings
from IPython.utils.capture import capture_output

from nbfn.notebook.cells.in_place import InPlaceError
from tests.notebook.generated_cells import SETUP, cells

EXAMPLES = int(os.environ.get("NBFN_EXAMPLES", "40"))
ENDS_WITH_THE_TRACE = {"tape"}


def plain(value: Any, seen: dict[int, int]) -> Any:
    """A value as something that can be compared; what was met before is its number."""
    if isinstance(value, (list, dict, set)) or type(value).__name__ == "Box":
        if id(value) in seen:
            return ("seen", seen[id(value)])
        seen[id(value)] = len(seen)
    if isinstance(value, tf.Variable):
        return ("variable", value.numpy().tolist(), value.dtype.name)
    if tf.is_tensor(value) or isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return ("tensor", np.round(array, 4).tolist())
    if isinstance(value, dict):
        return {key: plain(item, seen) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item, seen) for item in value)
    if isinstance(value, (FunctionType, type)):
        return value.__name__
    if isinstance(value, ModuleType):
        return repr(value)
    if type(value).__name__ == "Box":
        return plain(vars(value), seen)
    return repr(value)


@contextmanager
def fresh(shell) -> Iterator[dict[str, Any]]:
    before = set(shell.user_ns)
    shell.run_cell(SETUP).raise_error()
    try:
        yield shell.user_ns
    finally:
        for name in set(shell.user_ns) - before:
            del shell.user_ns[name]
        shell.run_cell("%reload_ext nbfn").raise_error()


def left_by(shell, cell: str, magic: str) -> tuple[list[Any], dict[str, Any]]:
    """What two runs of a cell display, and what they leave."""
    with fresh(shell) as namespace:
        results = []
        for _ in range(2):
            ran = shell.run_cell(magic + cell)
            ran.raise_error()
            results.append(None if cell.endswith(";") else plain(ran.result, {}))
        seen: dict[int, int] = {}
        names = {
            name: plain(value, seen)
            for name, value in sorted(namespace.items())
            if not name.startswith("_") and name not in (*ENDS_WITH_THE_TRACE, "In", "Out")
        }
    return results, names


@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    report_multiple_bugs=False,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
@example("L.append(x + y)\nv.assign_add(x)")
@example("mixed.append(x)\nalso = mixed")
@example("b = a.mean()\na[0] = 9.0")
@given(cells)
@pytest.mark.filterwarnings("ignore")
def test_generated_cells(shell, cell: str) -> None:
    with capture_output():
        try:
            eager = left_by(shell, cell, "")
        except Exception:
            assume(False)
        refused = None
        try:
            traced = left_by(shell, cell, "%%tf_function\n")
        except (InPlaceError, tf.errors.OperatorNotAllowedInGraphError) as error:
            refused = f"{error} {error.__notes__}" if ":=" in cell else str(error)
    if refused is None:
        assert traced == eager
    else:
        assert "in a branch or a loop" in refused or "AutoGraph leaves a function with" in refused
