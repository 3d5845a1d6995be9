"""Errors of graphs are Python's where nothing was written, and at the cell's line where it was."""

from __future__ import annotations

import re

import pytest

SETUP = "v = tf.Variable(0.0); n = tf.constant(2); runs = 0"
FAILS = "runs += 1\nif runs == 2: n = tf.constant(3)"


@pytest.mark.parametrize(
    "cell",
    [
        "y = x * 2.0\nz = tf.reshape(y, [n])\nw = z + 1.0",
        "print('before')\ny = x + 1.0\nz = tf.reshape(y, [n])\nprint('after')",
        "y = x + v\ntf.debugging.assert_equal(n, 2, 'n is not 2')\nz = y * 2.0",
        "y = x + 1.0\nz = tf.gather(y, n - 1)\nw = tf.strings.to_number(tf.strings.as_string(n))",
        "try:\n    z = tf.reshape(x, [n])\nexcept tf.errors.InvalidArgumentError as e:\n"
        "    print(e)\nelse:\n    print('fine')\nfinally:\n    y = x * 2.0",
        "for i in range(3):\n    y = x * 2.0\n    z = tf.reshape(y, [n])\n    w = z + 1.0",
    ],
)
def test_the_error_is_pythons(notebook, cell: str) -> None:
    names = notebook(SETUP, cell, between=FAILS)
    assert names["y"].shape == (2,), "what was assigned before the error is there"


def test_a_new_shape_that_does_not_fit_fails_as_in_a_plain_cell(notebook) -> None:
    between = "runs += 1\nif runs == 2: x = tf.ones([3])"
    notebook(SETUP, "y = x * 2.0\nz = y + tf.ones([2])", between=between)


def test_what_has_written_is_not_run_again(run, refused, shell, always_traced) -> None:
    run(SETUP + "\nx = tf.constant([1.0, 2.0])")
    cell = "%%tf_function step\nprint(1)\nv.assign_add(1.0)\nz = tf.reshape(x, [n])\ny = z + 1.0"
    for _ in range(2):
        run(cell)
    run("n = tf.constant(3); del y, z")
    text = refused(cell)
    assert "----> 4 z = tf.reshape(x, [n])" in text
    assert "InvalidArgumentError: Input to reshape is a tensor with 2 values" in text
    assert re.search(r"site-packages|nbfn/\S+\.py|Detected at node", text) is None
    assert shell.user_ns["v"].numpy() == 3.0, "the assignment was made once"
    assert not {"y", "z"} & set(shell.user_ns)
    run("n = tf.constant(2)")
    run(cell)
    assert shell.user_ns["y"].numpy().tolist() == [2.0, 3.0]
