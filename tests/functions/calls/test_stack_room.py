"""Frames of traced code share one chunk of CPython's stack."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from nbfn.functions.calls.stack_room import with_room

resource = pytest.importorskip("resource")
CALLS = 500


def leaf() -> None:
    pass


def faults_at(depth: int) -> int:
    """Counts the pages that are mapped while a loop calls a function at this depth."""
    if depth:
        return faults_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        leaf()
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)


def worst(call: Callable[[int], int]) -> int:
    return max(map(call, range(300)))


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="CPython keeps a chunk in reserve")
def test_no_call_maps_memory_again_and_again() -> None:
    assert worst(faults_at) >= CALLS, "CPython has mended this: with_room can go"
    assert worst(lambda depth: with_room(lambda: faults_at(depth))) < CALLS // 10


def test_values_and_errors_pass() -> None:
    assert with_room(lambda: 3) == 3
    with pytest.raises(KeyError):
        with_room(lambda: {}["a"])
