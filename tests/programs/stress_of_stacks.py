"""Reads the stacks of threads that call and return deeply, as fast as it can.

``python tests/programs/stress_of_stacks.py SECONDS`` prints how many it read. A crash is what it
looks for: walking the same frames with a Python loop ended in a segmentation fault within seconds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

# By its file: this runs in Pythons that have none of nbfn's dependencies.
_FILE = Path(__file__).parents[2] / "nbfn" / "underway" / "stacks.py"
_SPEC = spec_from_file_location("stacks", _FILE)
assert _SPEC is not None
assert _SPEC.loader is not None
_stacks = module_from_spec(_SPEC)
sys.modules["stacks"] = _stacks
_SPEC.loader.exec_module(_stacks)
stack_of = _stacks.stack_of


SWITCHING = 1e-5
"""Seconds after which a thread lets another one run; 500 times as often as usual."""


class Cycle:
    """Garbage that only the collector finds, with a finalizer, which is Python."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(20))


def generated(depth: int) -> Iterator[int]:
    if depth:
        yield from generated(depth - 1)
    yield depth


def descend(depth: int) -> int:
    """Calls itself through C and a lambda, and makes frames of other kinds at the bottom."""
    if depth:
        further = lambda _: descend(depth - 1)  # noqa: E731
        return sorted([0], key=further)[0]
    Cycle()
    try:
        return int("none")
    except ValueError:
        return len(list(generated(5)))


def work() -> None:
    depth = 0
    while True:
        depth = (depth * 7 + 3) % 60
        descend(depth)


def main(seconds: float) -> None:
    sys.setswitchinterval(SWITCHING)
    threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    read, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for thread in threads:
            assert thread.ident is not None
            stack = stack_of(thread.ident)
            assert stack[-1].function == "_bootstrap", stack
            read += 1
    print(f"read {read}", flush=True)
    os._exit(0)  # the threads go on


if __name__ == "__main__":
    main(float(sys.argv[1]))
