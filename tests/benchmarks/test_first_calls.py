"""Processor time of first calls, each workload in a fresh process. `make bench` prints it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.programs.first_calls import WORKLOADS

_spent = [0.0]
"""Seconds of processor time that the processes have printed so far: the clock of these tests."""


@pytest.mark.parametrize("kind", ["tf.function", "nbfn.function"])
@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(
            name,
            marks=pytest.mark.benchmark(group=f"first calls: {name}", timer=lambda: _spent[0]),
        )
        for name in WORKLOADS
    ],
)
def test_first_calls(benchmark: Any, workload: str, kind: str) -> None:
    def run() -> None:
        command = [sys.executable, "-m", "tests.programs.first_calls", workload, kind]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        _spent[0] += float(done.stdout)

    benchmark.pedantic(run, rounds=3)
