"""What ``%%tf_function`` refuses, in one line or by IPython's own report; what a failure leaves."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%tf_function --zip\nx = 1", "UsageError: unrecognized arguments: --zip"),
        ("%%tf_function --max-traces 0\nx = 1", "UsageError: --max-traces is 0"),
        ("%%tf_function 3d\nx = 1", "UsageError: `3d` is no name for a function"),
        ("%%tf_function g\ndef f(x): pass", "UsageError: the cell defines f, but no `g`"),
        ("%%tf_function\n# nothing", "UsageError: the cell holds no code to trace"),
        ("%%tf_function\nx = 1\n!ls", "UsageError: line 3: magics and shell commands"),
        ("%%tf_function\n%time 1", "UsageError: line 2: magics and shell commands"),
        ("%%tf_function\nx = 1\nawait x", "UsageError: line 3: a traced cell cannot await"),
        ("%%tf_function print\nx = 1", "UsageError: `print` is no name for a function"),
        ("%%tf_function class\nx = 1", "UsageError: `class` is no name for a function"),
        ("%%tf_function x\nx = 1", "UsageError: the cell uses the name `x` itself"),
        ("%%tf_function\nglobal x\nx = 1", "UsageError: line 2: a traced cell shares"),
        ("%%tf_function\nfrom math import *", "UsageError: line 2: do `import *` in a cell"),
        ("%%tf_function\nasync def f(): pass", "UsageError: line 2: an async function"),
        ("%%tf_function\n__outputs__ = 1", "UsageError: line 2: nbfn uses the name"),
        ("%%tf_function\n\n@property\ndef f(x): pass", "UsageError: `f` is decorated into a prop"),
    ],
)
def test_misuse_is_one_line(refused, cell: str, message: str) -> None:
    text = refused(cell).strip()
    assert text.startswith(message)
    assert "\n" not in text


def test_an_empty_cell_is_one_line(refused) -> None:
    assert "UsageError" in refused("%%tf_function")


def test_a_syntax_error_is_ipythons_own_report_at_the_right_line(refused) -> None:
    text = refused("%%tf_function\nx = 1\nfoo(\n")
    assert "line 3" in text
    assert "foo(" in text
    assert "SyntaxError" in text
    assert "nbfn" not in text


@pytest.mark.parametrize("code", ["return 5", "break", "if x:\n    return 5"])
def test_what_no_cell_can_hold_is_ipythons_own_report(refused, run, code: str) -> None:
    run("x = 1")
    text = refused("%%tf_function\n" + code)
    assert "SyntaxError" in text
    assert "nbfn" not in text


# Failures ---------------------------------------------------------------------------------


def test_a_failing_trace_leaves_the_notebook_as_it_was(run, shell) -> None:
    run("x = tf.ones([6])\ny = 'before'")
    run("%%tf_function shape\ny = tf.reshape(x, [2, 3])")
    run("y = 'before'\nx = tf.ones([7])")
    before = repr(shell.user_ns["shape"])
    with pytest.raises(ValueError, match="reshape"):
        run("%%tf_function shape\ny = tf.reshape(x, [2, 3])")
    assert shell.user_ns["y"] == "before"
    assert repr(shell.user_ns["shape"]) == before


def test_a_new_cell_that_fails_leaves_the_function_of_that_name(run, shell) -> None:
    run("x = tf.ones([6])")
    run("%%tf_function shape\ny = tf.reshape(x, [2, 3])")
    shape = shell.user_ns["shape"]
    with pytest.raises(ValueError, match="reshape"):
        run("%%tf_function shape\ny = tf.reshape(x, [2, 4])")
    assert shell.user_ns["shape"] is shape


def test_an_error_names_the_line_of_the_cell(shell, refused, run) -> None:
    run("x = tf.ones([2])")
    text = refused("%%tf_function\n\na = 1\nb = x @ tf.ones([3, 3])\n")
    assert "line 4\n" in text
    assert "b = x @ tf.ones([3, 3])" in text


def test_reading_an_unknown_name_is_a_name_error_of_that_line(run) -> None:
    with pytest.raises(NameError, match="no_such_name"):
        run("%%tf_function\ny = no_such_name + 1")
