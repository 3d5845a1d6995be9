"""Tapes: those that are used up inside a graph, and all others, which are Python's."""

from __future__ import annotations

import pytest

SETUP = """
v = tf.Variable(2.0); w = tf.Variable(3.0); seen = []
def loss_of(z): return tf.reduce_sum(z * v * v)
def three(z): return z * v, z + v, z * z
"""
CLOSED = """with tf.GradientTape() as tape:
    loss = loss_of(x)
gradient = tape.gradient(loss, v)
v.assign_sub(0.1 * gradient)
"""


def test_a_tape_that_is_used_up_lies_inside(notebook) -> None:
    names = notebook(SETUP, f"{CLOSED}kept = gradient * 1.0")
    step = names["step"]
    assert (len(step.traces), step.hits) == (1, 2)
    with pytest.raises(RuntimeError, match="can only be used to compute one set of gradients"):
        names["tape"].gradient(names["loss"], names["v"])


@pytest.mark.parametrize(
    "cell",
    [
        "with tf.GradientTape(persistent=True) as tape:\n    y = loss_of(x)\n    z = y * y\n"
        "a = tape.gradient(z, v)\nb = tape.gradient(z, y)\nc = tape.gradient(y, v)",
        "with tf.GradientTape() as tape:\n    y = loss_of(x)\n    z = tf.sin(y)\n    q = z * 2.0\n"
        "a = tape.gradient(q, [v, y, z])",
        "with tf.GradientTape() as tape:\n    a, b, c = three(x)\n"
        "    d = tf.reduce_sum(a * b + c)\nprint(tape.gradient(d, [v, a, b, c]))",
        "with tf.GradientTape(watch_accessed_variables=False) as tape:\n    tape.watch(w)\n"
        "    y = loss_of(x) * w\na = tape.gradient(y, [v, w])",
        "with tf.GradientTape() as outer:\n    with tf.GradientTape() as tape:\n"
        "        y = v * v * v\n    first = tape.gradient(y, v)\nsecond = outer.gradient(first, v)",
        "with tf.GradientTape() as tape:\n    tape.watch(x)\n    y = x * x\n    print('inside')\n"
        "a = tape.jacobian(y, x)",
        "with tf.GradientTape() as tape:\n    y = loss_of(x)\n    seen.append(y)\n"
        "    z = y + seen[-1]\na = tape.gradient(z, v)",
        "with tf.GradientTape() as tape:\n    y = loss_of(x)\n    with tape.stop_recording():\n"
        "        z = y * v\n    q = y * z\na = tape.gradient(q, v)",
        "with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as acc:\n    y = tf.sin(x)\n"
        "    z = y * y\na = acc.jvp(z)\nb = acc.jvp(y)",
        "tape = tf.GradientTape()\nwith tape:\n    y = loss_of(x)\na = tape.gradient(y, v)",
        "for i in range(3):\n    with tf.GradientTape() as tape:\n        y = loss_of(x) * i\n"
        "    a = tape.gradient(y, v)\n    if i == 1:\n        v.assign_sub(a)",
        "@tf.custom_gradient\ndef odd(z):\n    def grad(up): return up * 7.0\n"
        "    return z * 2.0, grad\nwith tf.GradientTape() as tape:\n    y = odd(v)\n"
        "a = tape.gradient(y, v)",
    ],
    ids=lambda cell: cell.split("\n")[1].strip(),
)
def test_gradients_are_those_of_a_plain_cell(notebook, cell: str) -> None:
    names = notebook(SETUP, cell)
    assert names["a" if "a" in names else "second" if "second" in names else "d"] is not None


def test_an_operation_without_a_gradient_fails_where_a_plain_cell_does(notebook) -> None:
    cell = (
        "with tf.GradientTape() as tape:\n    y = tf.sin(v)\n"
        "    z = tf.linalg.logm([[tf.cast(y, tf.complex64)]])\n"
        "    q = tf.math.real(z[0, 0]) * y\na = tape.gradient(q, v)\nb = a * 2.0"
    )
    names = notebook(SETUP, cell)
    assert "a" not in names
