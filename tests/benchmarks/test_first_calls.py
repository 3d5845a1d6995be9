"""Processor time of first calls, each workload in a fresh process. `make bench` prints it."""

from __future__ import annotations

import functools
import subprocess
import sys
from typing import Any

import pytest

from tests.benchmarks.turns import clock, in_turn, report
from tests.programs.first_calls import WORKLOADS

KINDS = ("tf.function", "nbfn.function")


def first_calls(workload: str, kind: str) -> float:
    command = [sys.executable, "-m", "tests.programs.first_calls", workload, kind]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@functools.cache
def measured(workload: str) -> dict[str, list[float]]:
    ways = {kind: functools.partial(first_calls, workload, kind) for kind in KINDS}
    return in_turn(ways, rounds=7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(name, marks=pytest.mark.benchmark(group=f"first calls: {name}", timer=clock))
        for name in WORKLOADS
    ],
)
def test_first_calls(benchmark: Any, workload: str, kind: str) -> None:
    report(benchmark, measured(workload)[kind])
