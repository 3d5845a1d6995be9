"""Which segments are graphs, by a clock of the test's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nbfn.functions.segments import analysis, speed
from nbfn.functions.segments.cell import live_cells
from nbfn.functions.segments.segment import Segment
from nbfn.functions.segments.speed import CALL, COLD, SegmentTimes

CELL = "%%tf_function step\nprint(1)\ny = helper(x)\nprint(2)"


@pytest.fixture
def clock(monkeypatch) -> dict[str, float]:
    """Seconds that each run as Python and as a graph takes; nothing else takes any."""
    passing = {"python": 1.0, "graph": 0.5}
    monkeypatch.setattr(speed, "clock", lambda: 0.0)
    python, graph = SegmentTimes.ran_as_python, SegmentTimes.ran_as_graph
    monkeypatch.setattr(
        SegmentTimes, "ran_as_python", lambda self, _: python(self, passing["python"])
    )
    monkeypatch.setattr(SegmentTimes, "ran_as_graph", lambda self, _: graph(self, passing["graph"]))
    return passing


@pytest.fixture
def notebook(run, clock) -> Callable[[str], object]:
    run("x = tf.constant([1.0, 2.0])\ndef helper(z): return tf.sin(z) * 2.0")
    return run


def test_what_is_short_is_not_traced(notebook, shell, clock) -> None:
    clock["python"] = CALL / 2
    for _ in range(8):
        notebook(CELL)
    step = shell.user_ns["step"]
    assert step.traces == ()
    assert step.lines[3] == "is too short for a graph to be faster"
    for _ in range(2):
        notebook("%%tf_function all_of_it\ny = helper(x)")
    assert shell.user_ns["all_of_it"].hits == 1, "the whole cell is asked for"


def test_lines_within_a_short_statement_are_as_short(notebook, shell, clock) -> None:
    clock["python"] = CALL / 2
    notebook("%%tf_function step\nwith tf.name_scope('a'):\n    y = helper(x)\nprint(y)")
    assert shell.user_ns["step"].lines[3] == "is too short for a graph to be faster"


def test_a_first_run_is_a_measure_only_if_it_is_long(notebook, shell, clock) -> None:
    clock["python"] = COLD / 2
    notebook(CELL)
    assert shell.user_ns["step"].traces == ()
    notebook(CELL)
    assert len(shell.user_ns["step"].traces) == 1
    clock["python"] = COLD * 2
    notebook(CELL.replace("step", "other"))
    assert len(shell.user_ns["other"].traces) == 1


def test_what_is_known_is_not_asked_in_each_turn(notebook, monkeypatch, clock) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        Segment, "run", lambda self, *_, run=Segment.run: asked.append("trace") or run(self, *_)
    )
    monkeypatch.setattr(
        analysis,
        "judge",
        lambda node, *_, do=analysis.judge: asked.append(node) or do(node, *_),
    )
    cell = "%%tf_function step\nfor n in [2] * 9 + [*range(100)]:\n    print(n)\n"
    notebook(f"{cell}    y = helper(tf.ones([n]))")
    assert 0 < asked.count("trace") < 40, "where traces serve, but none has served for long"
    asked.clear()
    clock["python"] = CALL
    cell = (
        "%%tf_function step\nfor n in range(100):\n    with tf.GradientTape(persistent=True) as t:"
    )
    notebook(f"{cell}\n        y = helper(x)")
    assert 0 < len(asked) < 20, "a short statement under a tape"


def test_a_slower_graph_goes_back_to_python(notebook, shell, clock) -> None:
    clock["graph"] = 2.0
    for _ in range(12):
        notebook(CELL)
    step = shell.user_ns["step"]
    assert step.lines[3] == "was slower as a graph"
    hits = [each.hits for each in step.functions]
    notebook(CELL)
    assert [each.hits for each in step.functions] == hits
    for _ in range(12):
        notebook("%%tf_function all_of_it\ny = helper(x)")
    assert shell.user_ns["all_of_it"].hits == 11, "the whole cell stays a graph"


def test_a_faster_graph_stays(notebook, shell) -> None:
    for _ in range(12):
        notebook(CELL)
    step = shell.user_ns["step"]
    assert step.lines[3] == "graph"
    assert step.hits >= 9
    assert step.speedup == pytest.approx(2.0)


def test_traces_that_cost_more_than_they_saved_go_on_serving(
    notebook, shell, monkeypatch, clock
) -> None:
    traced = SegmentTimes.traced
    monkeypatch.setattr(SegmentTimes, "traced", lambda self, _: traced(self, 1000.0))
    turns = "for n in [2] * 4 + [3] + [2] * 100:\n    print(n)\n"
    notebook(f"%%tf_function step\n{turns}    y = helper(tf.ones([n]))")
    assert shell.user_ns["step"].hits > 90


def test_three_misses_without_a_hit_are_enough(notebook, shell) -> None:
    for size in (2, 2, 2, 3, 3, 4, 4):
        notebook(f"x = tf.ones([{size}])")
        notebook(CELL)
    step = shell.user_ns["step"]
    assert (step.lines[3], len(step.traces)) == ("graph", 3)
    for size in (5, 6, 7, 8, 9, 9):
        notebook(f"x = tf.ones([{size}])")
        notebook(CELL)
    assert (len(step.traces), step.hits) == (6, 4)
    notebook("x = tf.ones([3])")
    notebook(CELL)
    assert step.hits == 5, "what is there serves"


def test_traces_that_never_served_are_not_looked_up_again(notebook, shell) -> None:
    for size in range(2, 8):
        notebook(f"x = tf.ones([{size}])")
        notebook(CELL)
    step = shell.user_ns["step"]
    assert (step.hits, step.lines[3]) == (0, "needs a new trace at each run")
    notebook("x = tf.ones([2])")
    notebook(CELL)
    assert step.hits == 0


def test_under_auto_a_trace_has_to_repay_itself(notebook, clock) -> None:
    notebook("%tf_auto on")
    try:
        for seconds, turns, traces in ((0.01, 9, 0), (0.01, 14, 1), (0.6, 5, 1)):
            clock["python"] = seconds
            notebook(f"for i in range({turns}):\n    print(i)\n    y = helper(x) + {seconds}")
            assert len(live_cells()[-1].traces) == traces, (seconds, turns)
    finally:
        notebook("%tf_auto off")
