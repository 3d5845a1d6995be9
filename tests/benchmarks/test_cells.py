"""What cells as people write them cost in segments, each against a plain run of the same cell."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import time
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

import pytest
import tensorflow as tf

from nbfn.functions.segments.analysis import analyse_cell
from nbfn.functions.segments.body import Surroundings
from nbfn.functions.segments.cell import TracedCell
from tests.benchmarks.turns import clock, in_turn, report
from tests.functions.segments import corpus
from tests.functions.segments.corpus.story import Story

WARM_UP = 12
"""Runs after which each segment has found whether it is faster as a graph."""

SUBJECTS = ("exploration", "training", "simulation", "by_hand", "text", "images", "tables")


def compiled(tree: Any) -> CodeType:
    return compile(tree, "<a cell>", "exec", dont_inherit=True)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def plainly(story: Story) -> Callable[[], Any]:
    """Runs a story's setup; what runs its cell plainly."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = compiled(ast.parse(story.cell))
    exec(compiled(ast.parse(story.setup)), namespace)
    return lambda: exec(code, namespace)


def in_segments(story: Story) -> Callable[[], Any]:
    """Runs a story's setup; what runs its cell in segments."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compiled(ast.parse(story.setup)), namespace)
    cell = analyse_cell(ast.parse(story.cell).body, compiled)
    return TracedCell(cell, "cell", Surroundings(namespace, compiled, {}))


WAYS = {"plain": plainly, "in segments": in_segments}


def runnable(stories: Sequence[Story]) -> list[Story]:
    """The stories whose cells run by themselves, and end well."""
    found = []
    for story in stories:
        try:
            with quiet():
                plainly(story)()
        except Exception:
            continue
        found.append(story)
    return found


def prepared(stories: Sequence[Story], way: str) -> list[Callable[[], Any]]:
    with quiet():
        return [WAYS[way](story) for story in stories]


def run_all(cells: Sequence[Callable[[], Any]]) -> float:
    started = time.perf_counter()
    with quiet():
        for cell in cells:
            cell()
    return time.perf_counter() - started


@functools.cache
def run_again(subject: str) -> dict[str, list[float]]:
    stories = runnable(getattr(corpus, subject).STORIES)
    ways = {way: functools.partial(run_all, prepared(stories, way)) for way in WAYS}
    in_turn(ways, WARM_UP)
    return in_turn(ways, rounds=15)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.benchmark(timer=clock)
def test_run_again(benchmark: Any, subject: str, way: str) -> None:
    benchmark.group = f"cells run again: {subject}"
    report(benchmark, run_again(subject)[way])


@functools.cache
def run_first() -> dict[str, list[float]]:
    stories = runnable(corpus.training.STORIES)
    ways = {way: lambda way=way: run_all(prepared(stories, way)) for way in WAYS}
    return in_turn(ways, rounds=3)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.benchmark(group="cells run for the first time: training", timer=clock)
def test_first_run(benchmark: Any, way: str) -> None:
    report(benchmark, run_first()[way])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.benchmark(group="a cell with nothing to trace")
def test_empty_cell(benchmark: Any, way: str) -> None:
    run = WAYS[way](Story("nothing", "", "done = None"))
    run()
    benchmark(run)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.benchmark(group="a loop of 200 small steps in a cell")
def test_loop(benchmark: Any, way: str) -> None:
    body = "p = tf.ones([8])\nfor _ in range(200):\n    a = -p\n    p = p + a * 0.01"
    run = WAYS[way](Story("a loop", "", body))
    for _ in range(WARM_UP):
        run()
    assert tf.executing_eagerly()
    benchmark(run)
