"""The stack of a running thread is read in one step, and nothing of it is kept."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nbfn.underway.stacks import MAX_DEPTH, stack_of
from tests.programs.environments import ROOT, find_python

STRESS = Path(__file__).parents[1] / "programs" / "stress_of_stacks.py"


@contextmanager
def waiting(depth: int, kept: Any = None) -> Iterator[int]:
    """A thread that waits, so many calls deep; inside the block it does."""
    reached, go_on = threading.Event(), threading.Event()

    def descend(depth: int, kept: Any) -> None:
        if depth:
            descend(depth - 1, kept)
        else:
            reached.set()
            assert go_on.wait(60)

    thread = threading.Thread(target=descend, args=(depth, kept))
    thread.start()
    assert reached.wait(60)
    assert thread.ident is not None
    del kept
    try:
        yield thread.ident
    finally:
        go_on.set()
        thread.join()


def test_the_lines_of_another_thread_innermost_first() -> None:
    with waiting(3) as thread:
        stack = stack_of(thread)
    ours = [at for at in stack if at.file == __file__]
    assert [at.function for at in ours] == ["descend"] * 4
    first = waiting.__wrapped__.__code__.co_firstlineno  # type: ignore[attr-defined]
    assert [at.line - first for at in ours] == [10, 7, 7, 7]
    assert stack.index(ours[0]) < stack.index(ours[-1])
    assert stack[-1].function == "_bootstrap"


def test_a_thread_that_is_not_there() -> None:
    assert stack_of(-1) == []


def test_of_a_very_deep_stack_the_innermost_lines() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        with waiting(2000) as thread:
            stack = stack_of(thread)
    finally:
        sys.setrecursionlimit(before)
    assert len(stack) == MAX_DEPTH + 1
    assert stack[-1].function == "descend"


def test_what_the_thread_holds_is_not_kept() -> None:
    class Held:
        pass

    held = Held()
    alive = weakref.ref(held)
    with waiting(3, held) as thread:
        del held
        stack = stack_of(thread)
    assert stack
    gc.disable()  # so that no cycle of ours is taken away by chance
    try:
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_stays_as_the_user_has_it(enabled: bool) -> None:
    if not enabled:
        gc.disable()
    try:
        stack_of(threading.get_ident())
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_threads_that_call_and_return_deeply(version: str) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version}")
    ended = subprocess.run(
        [python, str(STRESS), "1"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("read ")
