"""What noting a cell's run costs: the same after ten thousand traces as after one.

`make bench` prints it. The feed's share is measured with a page attached, whose
message has what has changed and nothing else.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.messages.feed import Feed
from nbfn.sessions.messages.runs import MAX_RUNS, Timeline
from nbfn.site import Cell


@pytest.fixture(params=[1, 1000], ids=["1 function", "1,000 functions, 10,000 traces"])
def functions(request: pytest.FixtureRequest) -> list[Any]:
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(request.param):
            f = nbfn.function(lambda x, n: x * n, autograph=False, max_traces=None)
            for n in range(10):
                f(tf.ones([1]), n)
            made.append(f)
    return made


@pytest.mark.parametrize("reported", [False, True], ids=["noted", "noted and reported"])
@pytest.mark.benchmark(group="a run of a cell with one call")
def test_run(benchmark: Any, monkeypatch: Any, functions: list[Any], reported: bool) -> None:
    runs, one = Timeline(), tf.ones([1])
    monkeypatch.setattr("nbfn.sessions.messages.feed.runs", runs)
    feed = Feed()
    feed.subscribe(lambda _: None)

    def run() -> None:
        runs.begin(Cell("cell", 1))
        functions[0](one, 0)
        runs.end("done")
        if reported:
            feed.flush()

    for _ in range(MAX_RUNS + 10):
        run()
    benchmark(run)
