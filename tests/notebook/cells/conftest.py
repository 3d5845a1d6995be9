"""A cell run several times, plainly and in segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from tests.functions.segments.comparing.sides_of_cells import (
    Shell,
    differences_of_runs,
    fresh_shell,
    run_cell,
)

RUNS = 3
SETUP = "import tensorflow as tf, numpy as np, nbfn\nx = tf.constant([1.0, 2.0])\n"


Notebook = Callable[..., Mapping[str, Any]]


@pytest.fixture
def notebook(always_traced: None) -> Iterator[Notebook]:
    """Runs a setup once and a cell three times; what it does must be what it does plainly.

    It returns the names of the notebook; what the cell became is ``step``.
    """
    with ExitStack() as stack:

        def notebook_(
            setup: str, cell: str, line: str = "%%tf_function step", between: str = ""
        ) -> Mapping[str, Any]:
            with fresh_shell() as shell:
                plain = _runs(shell, setup, cell, "", between)
            shell = stack.enter_context(fresh_shell())
            traced = _runs(shell, setup, cell, line, between)
            for one, other in zip(plain, traced, strict=True):
                assert differences_of_runs(one, other) == []
            names: Mapping[str, Any] = shell.user_ns
            return names

        yield notebook_


def _runs(shell: Shell, setup: str, cell: str, line: str, between: str) -> list[Any]:
    before = {*shell.user_ns, "tf", "np", "nbfn"}
    shell.run_cell(SETUP + setup).raise_error()
    runs = []
    for number in range(RUNS):
        if number:
            shell.run_cell(between).raise_error()
        runs.append(run_cell(shell, cell, line, before))
    return runs
