"""Measurements in turn: over seconds, the speed of a shared machine changes by tens of percent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_spent = [0.0]
"""Seconds that were reported so far."""


def clock() -> float:
    """Returns the seconds that were reported so far: the timer of benchmarks that use `report`."""
    return _spent[0]


def report(benchmark: Any, seconds: Sequence[float]) -> None:
    """Reports what was measured as the rounds of a benchmark, whose timer is `clock`."""
    left = iter(seconds)

    def run() -> None:
        _spent[0] += next(left)

    benchmark.pedantic(run, rounds=len(seconds))


def in_turn(ways: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Measures each way once a round; each returns the seconds that it took."""
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, measure in ways.items():
            found[way].append(measure())
    return found
