"""An edit keeps the graphs of the statements that stay."""

from __future__ import annotations

CELL = "%%tf_function step\ny = tf.sin(x)\nprint('a')\nz = y * 2.0\nprint('b')\nw = z + 1.0"


def test_statements_that_stay_keep_their_traces(run, shell, always_traced) -> None:
    run("x = tf.constant([1.0, 2.0])")
    run(CELL)
    sin, times, plus = shell.user_ns["step"].functions
    edited = CELL.replace("y = tf", "# a comment\n\ny = tf").replace("z = y * 2.0", "z = y * 3.0")
    ran = run(edited)
    step = shell.user_ns["step"]
    assert [each.label for each in step.functions] == ["step:4", "step:6", "step:8"]
    assert (step.functions[0], step.functions[2]) == (sin, plus)
    assert (sin.hits, plus.hits) == (1, 1)
    assert step.functions[1] is not times
    assert shell.user_ns["w"].numpy().tolist() == (shell.user_ns["y"].numpy() * 3.0 + 1.0).tolist()
    assert ran.stdout == "a\nb\n"


def test_errors_are_at_the_new_line(run, refused, shell, always_traced) -> None:
    cell = "%%tf_function step\nprint(1)\nv.assign_add(1.0)\ny = tf.reshape(x, [n])"
    run("x = tf.constant([1.0, 2.0]); n = tf.constant(2); v = tf.Variable(0.0)")
    run(cell)
    moved = cell.replace("v.assign", "# a comment\nv.assign")
    run(moved)
    assert shell.user_ns["step"].hits == 1
    run("n = tf.constant(3)")
    assert "----> 5 y = tf.reshape(x, [n])" in refused(moved)


def test_back_and_forth(run, shell, always_traced) -> None:
    run("x = tf.constant([1.0, 2.0])")
    for factor in (2.0, 3.0, 2.0):
        run(CELL.replace("2.0", str(factor)))
        assert shell.user_ns["z"].numpy().tolist() == (shell.user_ns["y"].numpy() * factor).tolist()
    assert shell.user_ns["step"].hits == 4


def test_other_options_make_other_functions(run, shell, always_traced) -> None:
    run("x = tf.constant([1.0, 2.0])")
    run(CELL)
    before = shell.user_ns["step"].functions
    run(CELL.replace("step", "step --relax"))
    assert not set(before) & set(shell.user_ns["step"].functions)
