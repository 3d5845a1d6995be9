"""Processor time of first calls, each workload in a fresh process. `make bench` prints it."""

from __future__ import annotations

import functools
import subprocess
import sys
from typing import Any

import pytest

from tests.programs.first_calls import WORKLOADS

KINDS = ("tf.function", "nbfn.function")
ROUNDS = 5

_spent = [0.0]
"""Seconds of processor time that the processes have printed so far: the clock of these tests."""


@functools.cache
def measured(workload: str) -> dict[str, list[float]]:
    """Measures the kinds in turn: over minutes, the speed of a machine changes by some percent."""
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(ROUNDS):
        for kind in KINDS:
            command = [sys.executable, "-m", "tests.programs.first_calls", workload, kind]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds[kind].append(float(done.stdout))
    return seconds


@pytest.mark.parametrize("kind", KINDS)
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
    seconds = iter(measured(workload)[kind])

    def run() -> None:
        _spent[0] += next(seconds)

    benchmark.pedantic(run, rounds=ROUNDS)
