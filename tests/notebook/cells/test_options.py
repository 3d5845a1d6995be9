"""The options of the magic's line, and magics that say how calls run."""

from __future__ import annotations

import numpy as np
import pytest

import nbfn
from nbfn.functions.recording.refusal import StaleTraceError
from tests.harness.messages import raises, warns

CELL = "y = tf.sin(x)\nprint('now')\nz = tf.add_n([y, x]) * 2.0"
STALE = "k = 2.0; x = tf.constant(1.0); n = 3\ndef scaled(a): return a * k"
PLAIN = "import nbfn\nx = tf.constant([1.0, 2.0]); rate = 2.0\n"
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
    with raises(nbfn.NbfnError):
        ready(f"%%tf_function step --max-traces 1 --on-limit raise\n{CELL}")


def test_stances(ready, shell) -> None:
    ready(f"%%tf_function step\n{CELL}")
    ready("x = tf.ones([3])")
    with raises(nbfn.NbfnError):
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
    assert first.count("now\n") == 1
    assert shell.user_ns["v"].numpy() == 2.0
    assert ready(f"%%tf_function step --check\nv.assign_add(1.0)\n{CELL}").stdout == "now\n"
    assert shell.user_ns["v"].numpy() == 3.0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--max-traces 0", "--max-traces is 0, expected at least 1"),
        (
            "--nothing",
            "unrecognized arguments: --nothing; %%tf_function? shows what it takes",
        ),
        ("print", "`print` is not an identifier, or it names a builtin"),
        ("1", "`1` is not an identifier, or it names a builtin"),
        ("--on-limit stop", "argument --on-limit: invalid choice"),
    ],
)
def test_misuse_is_one_line(ready, refused, shell, line: str, message: str) -> None:
    text = refused(f"%%tf_function {line}\ny = x").strip()
    assert text.startswith(f"UsageError: {message}")
    assert "\n" not in text
    assert "y" not in shell.user_ns


# What is stale, eager or limited ----------------------------------------------------------


def test_a_stale_body_that_must_not_retrace_raises(run) -> None:
    run(STALE)
    cell = "%%tf_function step --on-stale raise\nscaled(x)"
    assert float(run(cell).result) == 2.0
    run("k = 3.0")
    for _ in range(2):
        with raises(StaleTraceError):
            run(cell)
    run("k = 2.0")
    assert float(run(cell).result) == 2.0


def test_a_stale_body_warns_and_serves_the_old_trace(run) -> None:
    run(STALE)
    cell = "%%tf_function step --on-stale warn\nscaled(x)"
    run(cell)
    run("k = 3.0")
    with warns(nbfn.NbfnWarning):
        assert float(run(cell).result) == 2.0
    assert run("len(step.traces)").result == 1


@pytest.mark.parametrize(
    "options", ["--stance eager_on_retrace", "--max-traces 1 --on-limit eager"]
)
def test_what_falls_back_to_eager_keeps_its_trace(run, shell, options: str) -> None:
    run(STALE)
    for size in (3, 4, 5, 6, 3):
        run(f"x = tf.ones([{size}])")
        assert run(f"%%tf_function step {options}\nx * n").result.numpy().tolist() == [3.0] * size
    assert (len(shell.user_ns["step"].traces), shell.user_ns["step"].hits) == (1, 1)


def test_an_eager_run_says_so(run, shell) -> None:
    run(STALE)
    for _ in range(2):
        ran = run("%%tf_function step --stance eager\nprint('turn')\nx * n")
        assert ran.stdout.startswith("turn\n")
        assert "has not run" not in ran.text
    assert shell.user_ns["step"].traces == ()


def test_stale_traces_are_retraced_or_used(run, shell) -> None:
    run(PLAIN)
    run("%%tf_function\ndef fresh(x):\n    return x * rate")
    run("%%tf_function --on-stale ignore\ndef stale(x):\n    return x * rate")
    run("fresh(x); stale(x); rate = 5.0")
    assert run("fresh(x)").result.numpy().tolist() == [5.0, 10.0]
    assert run("stale(x)").result.numpy().tolist() == [2.0, 4.0]


def test_a_body_with_stale_globals_traces_again(run, shell) -> None:
    run(PLAIN + "class Settings: rate = 2.0\nsettings = Settings()")
    for rate in (2.0, 2.0, 3.0, 3.0):
        run(f"settings.rate = {rate}")
        run("%%tf_function step\ny = x * settings.rate")
        assert shell.user_ns["y"].numpy().tolist() == [rate, 2 * rate]


def test_a_limit_that_evicts(run, shell) -> None:
    for size in (1, 1, 2, 2, 3):
        run(f"x = tf.ones([{size}])")
        run("%%tf_function step --max-traces 2 --on-limit evict\ny = x + 1")
    assert len(shell.user_ns["step"].traces) == 2


def test_an_eager_cell(run, shell) -> None:
    run(PLAIN + "seen = []")
    run("%%tf_function\ndef f(x):\n    seen.append(x)\n    return x * 2")
    assert run("%%tf_eager\nf(x)\nf(x)").result.numpy().tolist() == [2.0, 4.0]
    assert [each.numpy().tolist() for each in shell.user_ns["seen"]] == [[1.0, 2.0]] * 2
    with pytest.raises(ZeroDivisionError):
        run("%%tf_eager\n1 / 0")


def test_an_eager_cell_is_a_cell(run, refused) -> None:
    run(PLAIN)
    assert "Out" not in run("%%tf_eager\nx;").text
    assert "line 3" in refused("%%tf_eager\nx = 1\nx = (")
    assert "UsageError: this magic's cell cannot await" in refused("%%tf_eager\nawait x")
    assert "----> 3 1 / 0" in refused("%%tf_eager\n\n1 / 0")


def test_the_stance_from_now_on(run) -> None:
    run(PLAIN)
    run("%%tf_function\ndef f(x):\n    return x")
    run("f(x)")
    try:
        assert "stance: fail_on_retrace" in run("%tf_stance fail_on_retrace").text
        with raises(nbfn.NbfnError):
            run("f(tf.ones([7]))")
    finally:
        assert "stance: default" in run("%tf_stance default").text
    assert "stance: default" in run("%tf_stance").text


def test_explaining_runs_nothing(run, shell) -> None:
    run(PLAIN)
    run("%%tf_function\ndef f(x, n=1):\n    return x * n")
    run("f(x)")
    assert "a hit: trace 1 would serve" in run("%tf_explain f(x)").text
    assert "would retrace: `n`: Python value was 1, is 2" in run("%tf_explain f(x, n=2)").text
    assert (shell.user_ns["f"].calls, len(shell.user_ns["f"].traces)) == (1, 1)


def test_watching(run, refused) -> None:
    run(PLAIN + "plain = tf.function(lambda x: x + 1)\nplain(x)")
    run("seen = %tf_watch plain")
    run("plain(tf.ones([5]))")
    assert len(run("seen.traces").result) == 2
    assert "`seen`" not in run("%tf_traces seen").text
    assert "UsageError: there is no tf.function in" in refused("%tf_watch x")
    assert "UsageError: name what to watch" in refused("%tf_watch")
    assert "UsageError: give --all or --stop" in refused("%tf_watch --all --stop")
