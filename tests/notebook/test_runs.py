"""When each cell of a notebook ran, and what it has spent on what."""

from __future__ import annotations

import os
import re
import signal
import threading
import time

import pytest
from IPython.utils.capture import capture_output

import nbfn
from nbfn.sessions.messages.runs import TimelineRun, runs
from nbfn.views.bundle import bundle_of
from tests.harness.messages import warns


@pytest.fixture
def ran(shell):
    """Runs a cell, well or badly, and returns what was noted of it."""
    runs.clear()

    def ran_(cell: str) -> TimelineRun:
        with capture_output():
            shell.run_cell(cell, store_history=True, cell_id="the-cell")
        return runs.rows()[-1]

    return ran_


def test_a_run_tells_its_cell_and_its_parts(ran, shell) -> None:
    assert ran("import nbfn, time").calls == 0
    run = ran(
        "@nbfn.function\n"
        "def f(x):\n"
        "    time.sleep(0.1)\n"
        "    return x + 1\n"
        "f(tf.ones([1])), f(tf.ones([1])), f(tf.ones([2]))\n"
        "time.sleep(0.1)"
    )
    assert (run.cell.id, run.first, run.last) == ("the-cell", *[shell.execution_count - 1] * 2)
    assert (run.calls, run.traces, run.failed, run.interrupted) == (3, 2, 0, 0)
    assert run.tracing > 0.15
    assert run.seconds - run.tracing - run.graph > 0.05
    assert len(runs.rows()) == 2


def test_a_cell_that_fails_has_run_too(ran) -> None:
    assert ran("1 / 0").failed == 1
    assert ran("1 +").failed == 1
    assert ran("1 + 1").failed == 0


def test_a_cell_within_a_cell_is_a_part_of_it(ran) -> None:
    run = ran("get_ipython().run_cell('import time; time.sleep(0.1); 1 / 0')")
    assert len(runs.rows()) == 1
    assert run.failed == 0
    assert run.seconds - run.tracing - run.graph > 0.05


def test_an_interrupted_cell_is_shown_as_interrupted(ran) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    run = ran("import time; time.sleep(60)")
    timer.join()
    assert (run.failed, run.interrupted) == (0, 1)
    assert 0.3 <= run.seconds < 30


def test_a_long_graph_that_nbfn_did_not_make_is_seen(ran) -> None:
    run = ran(
        "@tf.function\n"
        "def g(x):\n"
        "    for _ in tf.range(2000):\n"
        "        x = x @ x / tf.norm(x)\n"
        "    return x\n"
        "_ = g(tf.random.normal([300, 300]))"
    )
    assert run.graph == run.sampled > run.seconds / 2


def test_a_cell_in_segments_says_what_ran_in_graphs(ran, always_traced) -> None:
    cell = "%%tf_function\ny = tf.ones([3]) * 2\nz = y + 1\nprint('done')"
    ran("y = 1")
    for _ in range(3):
        run = ran(cell)
    assert run.segments == "2 of 3 statements in 1 graph (lines 2-3)"
    assert run.calls == 1
    assert run.graph > 0


def test_silent_cells_and_other_threads_are_no_runs(ran, shell) -> None:
    ran("1")
    shell.run_cell("2", silent=True)
    assert len(runs.rows()) == 1


def test_a_failure_to_note_breaks_no_cell(ran, shell, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no clock")

    monkeypatch.setattr(runs, "begin", fail)
    with warns(nbfn.NbfnWarning):
        assert shell.run_cell("x = 1").success
    assert shell.user_ns["x"] == 1


def test_the_session_says_where_the_time_went(ran, shell) -> None:
    ran("import time, nbfn; time.sleep(0.2)")
    shell.run_cell("f = nbfn.function(lambda x: x); _ = f.run(tf.ones([1]))")
    bundle = bundle_of(nbfn.Session(shell.user_ns))
    for text in (bundle["text/plain"], bundle["text/html"]):
        share = r"(?:(?:<|&lt;) )?\d+ %"
        said = rf"went: [\d.]+ m?s in 2 runs of cells: {share} tracing, {share} running"
        assert re.search(said, text)
        assert "copies between devices: 0 in 1 watched call; of other calls" in text


def test_what_a_running_cell_does_is_seen_from_its_ticker(ran, shell) -> None:
    found: list[TimelineRun] = []

    def look() -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end and not found:
            found.extend(each for each in runs.rows() if each.running)
            time.sleep(0.05)

    thread = threading.Thread(target=look)
    thread.start()
    ran("import time; time.sleep(2)")
    thread.join()
    assert 1 <= found[0].seconds < 2


def test_a_run_ends_although_an_interrupt_came_after_the_cell(ran, shell, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("nbfn.sessions.contents.cells.cells.note", interrupted)
        assert ran("x = 1").seconds >= 0
    (run,) = runs.rows()
    assert not run.running
    ran("x = 2")
    assert len(runs.rows()) == 2
