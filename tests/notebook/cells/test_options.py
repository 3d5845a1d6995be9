"""The options of the magic's line reach every segment of a cell."""

from __future__ import annotations

import numpy as np
import pytest

import nbfn

CELL = "y = tf.sin(x)\nprint('now')\nz = tf.add_n([y, x]) * 2.0"
BRANCH = "def turn(z):\n    if tf.reduce_sum(z) > 0.0:\n        return z * 2.0\n    return -z\n"


@pytest.fixture
def ready(run, always_traced):
    run("import nbfn\nx = tf.constant([1.0, 2.0])\n" + BRANCH)
    return run


@pytest.mark.parametrize(
    ("line", "option", "value"),
    [
        ("--jit", "jit_compile", True),
        ("--relax", "reduce_retracing", True),
        ("--max-traces 3", "max_traces", 3),
        ("--on-limit evict", "on_limit", "evict"),
        ("--on-stale ignore", "on_stale", "ignore"),
    ],
)
def test_each_segment_has_the_option(ready, shell, line: str, option: str, value: object) -> None:
    for _ in range(2):
        ran = ready(f"%%tf_function step {line}\n{CELL}")
        assert ran.stdout == "now\n"
    step = shell.user_ns["step"]
    assert [each.options[option] for each in step.functions] == [value] * 2
    assert step.hits == 2
    np.testing.assert_allclose(shell.user_ns["z"], 2.0 * (shell.user_ns["y"] + shell.user_ns["x"]))


def test_relaxed_segments_take_every_size(ready, shell) -> None:
    for size in (2, 3, 4, 5):
        ready(f"x = tf.ones([{size}])")
        ready(f"%%tf_function step --relax\n{CELL}")
    traces = [len(each.traces) for each in shell.user_ns["step"].functions]
    assert max(traces) == 2
    assert shell.user_ns["z"].shape == (5,)


def test_a_helper_that_decides_by_a_tensor_needs_autograph(ready, shell) -> None:
    cell = "print('now')\ny = turn(x)"
    for line, lines in (("", "graph"), ("--no-autograph", "needs the value of a tensor")):
        for _ in range(2):
            ready(f"%%tf_function step {line}\n{cell}")
        assert lines in shell.user_ns["step"].lines[3]


def test_a_limit_that_raises_names_the_segment(ready) -> None:
    ready(f"%%tf_function step --max-traces 1 --on-limit raise\n{CELL}")
    ready("x = tf.ones([3])")
    with pytest.raises(nbfn.NbfnError, match=r"`step:2` has 1 trace, max_traces is 1"):
        ready(f"%%tf_function step --max-traces 1 --on-limit raise\n{CELL}")


def test_stances(ready, shell) -> None:
    ready(f"%%tf_function step\n{CELL}")
    ready("x = tf.ones([3])")
    with pytest.raises(nbfn.NbfnError, match="`step:2` would retrace"):
        ready(f"%%tf_function step --stance fail_on_retrace\n{CELL}")
    for stance in ("eager", "eager_on_retrace"):
        ready(f"%%tf_function step --stance {stance}\n{CELL}")
        assert shell.user_ns["z"].shape == (3,)
    assert (len(shell.user_ns["step"].traces), shell.user_ns["step"].hits) == (2, 0)
    ready(f"%%tf_function step\n{CELL}")
    ready(f"%%tf_function step\n{CELL}")
    assert (len(shell.user_ns["step"].traces), shell.user_ns["step"].hits) == (4, 2)


def test_the_check_of_each_segment(ready, shell) -> None:
    ready("v = tf.Variable(1.0)")
    first = ready(f"%%tf_function step --check\nv.assign_add(1.0)\n{CELL}").stdout
    assert first.count("does the same eagerly and traced") == 2
    assert shell.user_ns["v"].numpy() == 2.0
    assert ready(f"%%tf_function step --check\nv.assign_add(1.0)\n{CELL}").stdout == "now\n"
    assert shell.user_ns["v"].numpy() == 3.0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--max-traces 0", "--max-traces is 0, expected at least 1"),
        ("--nothing", "unrecognized arguments: --nothing"),
        ("print", "`print` is not a name that a function can have"),
        ("1", "`1` is not a name that a function can have"),
        ("--on-limit stop", "argument --on-limit: invalid choice"),
    ],
)
def test_misuse_is_one_line(ready, refused, shell, line: str, message: str) -> None:
    text = refused(f"%%tf_function {line}\ny = x").strip()
    assert text.startswith(f"UsageError: {message}")
    assert "\n" not in text
    assert "y" not in shell.user_ns
