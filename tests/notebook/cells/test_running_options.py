"""Options and magics that say how calls run: stale traces, stances, local state, checks."""

from __future__ import annotations

import pytest

SETUP = "import nbfn\nx = tf.constant([1.0, 2.0]); rate = 2.0\n"


def test_stale_traces_are_retraced_or_used(run, shell) -> None:
    run(SETUP)
    run("%%tf_function\ndef fresh(x):\n    return x * rate")
    run("%%tf_function --on-stale ignore\ndef stale(x):\n    return x * rate")
    run("fresh(x); stale(x); rate = 5.0")
    assert run("fresh(x)").result.numpy().tolist() == [5.0, 10.0]
    assert run("stale(x)").result.numpy().tolist() == [2.0, 4.0]


def test_a_body_with_stale_globals_traces_again(run, shell) -> None:
    run(SETUP + "class Settings: rate = 2.0\nsettings = Settings()")
    for rate in (2.0, 2.0, 3.0, 3.0):
        run(f"settings.rate = {rate}")
        run("%%tf_function step\ny = x * settings.rate")
        assert shell.user_ns["y"].numpy().tolist() == [rate, 2 * rate]


def test_local_state_lives_for_one_call(run, shell) -> None:
    run(SETUP)
    for _ in range(2):
        run("%%tf_function --local-state\nv = tf.Variable(1.0)\nv.assign_add(1.0)\ny = v + 0.0")
        assert shell.user_ns["y"].numpy() == 2.0


def test_a_limit_that_evicts(run, shell) -> None:
    for size in (1, 1, 2, 2, 3):
        run(f"x = tf.ones([{size}])")
        run("%%tf_function step --max-traces 2 --on-limit evict\ny = x + 1")
    assert len(shell.user_ns["step"].traces) == 2


def test_a_stance_for_one_run(run, shell) -> None:
    run(SETUP)
    run("%%tf_function step\ny = x + 1")
    run("x = tf.ones([3])")
    with pytest.raises(nbfn_error(), match="would retrace"):
        run("%%tf_function step --stance fail_on_retrace\ny = x + 1")
    run("%%tf_function step --stance eager\ny = x + 1\nn = int(y[0])")
    assert shell.user_ns["n"] == 2


def nbfn_error() -> type[Exception]:
    import nbfn

    return nbfn.NbfnError


def test_an_eager_cell(run, shell) -> None:
    run(SETUP + "seen = []")
    run("%%tf_function\ndef f(x):\n    seen.append(x)\n    return x * 2")
    assert run("%%tf_eager\nf(x)\nf(x)").result.numpy().tolist() == [2.0, 4.0]
    assert [each.numpy().tolist() for each in shell.user_ns["seen"]] == [[1.0, 2.0]] * 2
    with pytest.raises(ZeroDivisionError):
        run("%%tf_eager\n1 / 0")


def test_an_eager_cell_is_a_cell(run, refused) -> None:
    run(SETUP)
    assert "Out" not in run("%%tf_eager\nx;").text
    assert "line 3" in refused("%%tf_eager\nx = 1\nx = (")
    assert "UsageError: this magic's cell cannot await" in refused("%%tf_eager\nawait x")
    assert "----> 3 1 / 0" in refused("%%tf_eager\n\n1 / 0")


def test_the_stance_from_now_on(run) -> None:
    run(SETUP)
    run("%%tf_function\ndef f(x):\n    return x")
    run("f(x)")
    try:
        assert "stance: fail_on_retrace" in run("%tf_stance fail_on_retrace").text
        with pytest.raises(nbfn_error(), match="would retrace"):
            run("f(tf.ones([7]))")
    finally:
        assert "stance: default" in run("%tf_stance default").text
    assert "stance: default" in run("%tf_stance").text


def test_explaining_runs_nothing(run, shell) -> None:
    run(SETUP)
    run("%%tf_function\ndef f(x, n=1):\n    return x * n")
    run("f(x)")
    assert "a hit: trace 1 would serve" in run("%tf_explain f(x)").text
    assert "would retrace: `n`: Python value was 1, is 2" in run("%tf_explain f(x, n=2)").text
    assert (shell.user_ns["f"].calls, len(shell.user_ns["f"].traces)) == (1, 1)


def test_watching(run, refused) -> None:
    run(SETUP + "plain = tf.function(lambda x: x + 1)\nplain(x)")
    run("seen = %tf_watch plain")
    run("plain(tf.ones([5]))")
    assert len(run("seen.traces").result) == 2
    assert "`seen`" not in run("%tf_traces seen").text
    assert "UsageError: there is no tf.function in" in refused("%tf_watch x")
    assert "UsageError: name what to watch" in refused("%tf_watch")
    assert "UsageError: give --all or --stop" in refused("%tf_watch --all --stop")


def test_checking_leaves_everything_as_it_was(run, shell, always_traced) -> None:
    run(SETUP + "v = tf.Variable(1.0); L = []")
    ran = run("%%tf_function step --check\nv.assign_add(1.0)\nL.append(x)\ny = x * v")
    assert "does the same eagerly and traced" in ran.stdout
    assert (shell.user_ns["v"].numpy(), len(shell.user_ns["L"])) == (2.0, 1)
    assert shell.user_ns["y"].numpy().tolist() == [2.0, 4.0]
