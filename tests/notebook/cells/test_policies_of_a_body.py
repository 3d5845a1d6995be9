"""What the options of a cell's line do to a cell that runs: stale traces, eager runs."""

from __future__ import annotations

import pytest

import nbfn
from nbfn.functions.recording.refusal import StaleTraceError

SETUP = "k = 2.0; x = tf.constant(1.0); n = 3\ndef scaled(a): return a * k"


def test_a_stale_body_that_must_not_retrace_raises(run) -> None:
    run(SETUP)
    cell = "%%tf_function step --on-stale raise\nscaled(x)"
    assert float(run(cell).result) == 2.0
    run("k = 3.0")
    for _ in range(2):
        with pytest.raises(StaleTraceError, match="`k`"):
            run(cell)
    run("k = 2.0")
    assert float(run(cell).result) == 2.0


def test_a_stale_body_warns_and_serves_the_old_trace(run) -> None:
    run(SETUP)
    cell = "%%tf_function step --on-stale warn\nscaled(x)"
    run(cell)
    run("k = 3.0")
    with pytest.warns(nbfn.NbfnWarning, match="stale"):
        assert float(run(cell).result) == 2.0
    assert run("len(step.traces)").result == 1


def test_a_stale_body_traces_again_by_default(run) -> None:
    run(SETUP)
    for value in (2.0, 3.0):
        run(f"k = {value}")
        assert float(run("%%tf_function step --on-stale retrace\nscaled(x)").result) == value


@pytest.mark.parametrize(
    "options", ["--stance eager_on_retrace", "--max-traces 1 --on-limit eager"]
)
def test_what_falls_back_to_eager_keeps_its_trace(run, shell, options: str) -> None:
    run(SETUP)
    for size in (3, 4, 5, 6, 3):
        run(f"x = tf.ones([{size}])")
        assert run(f"%%tf_function step {options}\nx * n").result.numpy().tolist() == [3.0] * size
    assert (len(shell.user_ns["step"].traces), shell.user_ns["step"].hits) == (1, 1)


def test_an_eager_run_says_so(run, shell) -> None:
    run(SETUP)
    for _ in range(2):
        ran = run("%%tf_function step --stance eager\nprint('turn')\nx * n")
        assert ran.stdout.startswith("turn\n")
        assert "has not run" not in ran.text
    assert shell.user_ns["step"].traces == ()


def test_export_names_the_magics_own_option(run, refused, tmp_path) -> None:
    run("import nbfn\nf = nbfn.function(lambda x: x + 1)\ny = f(tf.constant(1.0))")
    (tmp_path / "model").mkdir()
    said = refused(f"%tf_export {tmp_path / 'model'} f")
    assert "give --overwrite to replace it" in said
    assert "overwrite=True" not in said
