"""A cell that is run again is a hit, though the names of its loops are in the notebook now."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbfn.notebook.cells.foresight import Foresight
from nbfn.notebook.cells.names import names_of

SETUP = (
    "x = tf.constant([1.0, -2.0, 3.0]); y = tf.constant(2.0); n = 3; t = tf.constant(5)\n"
    "L = [x, y]; d = {'a': x}; empty = []"
)


@pytest.mark.parametrize(
    "cell",
    [
        "for i in tf.range(3):\n    w = y * 2",
        "for i in tf.range(n):\n    w = y * 2",
        "for i in tf.range(t):\n    if i % 2 == 0:\n        continue\n    y = y + 1",
        "for i in range(len(L)):\n    w = y * i",
        "for e in x:\n    y = y + e",
        "for e in L:\n    w = e",
        "for k, e in d.items():\n    w = e",
        "for k, e in enumerate(L):\n    w = e * k",
        "for a, b in zip(L, [1, 2]):\n    w = a * b",
        "for i in range(x.shape[0]):\n    w = y * i",
        "while y < 10:\n    w = y\n    y = y + 1\n",
        "i = 0\nfor j in (1, 2):\n    i += j\n    w = x * i",
        "for i in tf.range(3):\n    for j in tf.range(n):\n        y = y + 1\n    w = y",
        "if n > 2:\n    w = x\nelse:\n    u = x",
        "if n > 2:\n    import math\nz = math.pi * x",
        "for i in tf.range(3):\n    w = y * 2\nz = w",
        "for i in empty:\n    w = i",
    ],
)
def test_the_second_run_is_a_hit(run, shell, cell: str) -> None:
    run(SETUP)
    for expected in ((1, 0), (2, 1), (3, 2)):
        run(SETUP)
        run("%%tf_function step\n" + cell)
        step = shell.user_ns["step"]
        assert (step.calls, step.hits) == expected


@pytest.mark.parametrize(
    ("change", "back"), [("L = []", "L = [x, y]"), ("L = L[:0]", "L = [x]"), ("L = {}", "L = [y]")]
)
def test_a_loop_that_no_longer_runs_leaves_the_old_values(run, shell, change, back) -> None:
    run(SETUP)
    cell = "%%tf_function step\nfor e in L:\n    w = e * 2.0"
    run(cell)
    run(f"w = tf.constant(7.0)\n{change}")
    run(cell)
    assert shell.user_ns["w"].numpy() == 7.0
    run(back)
    run(cell)
    assert np.all(shell.user_ns["w"].numpy() == shell.user_ns["L"][-1].numpy() * 2)


def test_a_tensor_that_stops_the_loop_leaves_the_old_values(run, shell) -> None:
    run(SETUP)
    cell = "%%tf_function step\nfor i in tf.range(t):\n    w = y * 2"
    run(cell)
    run("w = tf.constant(7.0); t = tf.constant(0)")
    for _ in range(2):
        run(cell)
        assert shell.user_ns["w"].numpy() == 7.0
    run("t = tf.constant(2)")
    run(cell)
    assert shell.user_ns["w"].numpy() == 4.0
    assert shell.user_ns["step"].parameters == "(t, y, i, w)"  # what it needed once stays


@pytest.mark.parametrize(
    ("code", "surely"),
    [
        ("for i in range(3):\n    a = 1", "i a"),
        ("for i in range(0):\n    a = 1", ""),
        ("for i in xs:\n    a = 1\n    if i:\n        break\n    b = 1", "i a"),
        ("for i in xs:\n    if i:\n        continue\n    b = 1", "i"),
        ("for i in xs:\n    for j in xs:\n        break\n    b = 1", "i j b"),
        ("for i in xs:\n    for j in xs:\n        a = 1\n    else:\n        break\n    b = 1", "i"),
        ("xs = []\nfor i in xs:\n    a = 1", "xs"),
        ("for i in f():\n    a = 1", ""),
        ("for i in box.items:\n    a = 1", ""),
        ("for i in noisy:\n    a = 1", ""),
        ("while one < 2:\n    a = 1", "a"),
        ("while one > 2:\n    a = 1", ""),
        ("while -one + 2 == 1 and True:\n    a = 1", ""),
        ("while matrix.shape[1] > 2:\n    a = 1", "a"),
        ("if matrix > 0:\n    a = 1", ""),
        ("if one:\n    a = 1\nelse:\n    b = 1", "a"),
        ("if missing:\n    a = 1", ""),
        ("if one == 1:\n    one = 2\nif one == 1:\n    a = 1", "one"),
        ("for i in range:\n    a = 1", ""),
        ("for i in big + big:\n    a = 1", ""),
    ],
)
def test_what_is_foreseen(code: str, surely: str) -> None:
    class Noisy:
        def __iter__(self) -> Any:
            raise AssertionError("the user's code ran")

        __len__ = __bool__ = __eq__ = __gt__ = __iter__

    class Box:
        @property
        def items(self) -> Any:
            raise AssertionError("the user's code ran")

    namespace = {
        "xs": [1, 2],
        "f": Noisy().__iter__,
        "noisy": Noisy(),
        "box": Box(),
        "one": 1,
        "matrix": tf.zeros([2, 3]),
        "big": np.zeros(5_000),
    }
    foresight = Foresight(namespace, {"range": range})
    assert sorted(names_of(ast.parse(code).body, foresight).writes) == sorted(surely.split())


@pytest.mark.parametrize(
    "cell",
    [
        "s = 0.0\nfor q in tf.unstack(x):\n    s = s + q",
        "for each in rows():\n    z = each * x",
        "for name, part in vars(model).items():\n    last = part * x",
        "if kind(x):\n    z = x * 2",
    ],
)
def test_what_a_first_run_wrote_a_second_needs_not(run, shell, cell: str) -> None:
    run(
        "import types\nx = tf.constant([1.0, 2.0]); model = types.SimpleNamespace(a=2.0)\n"
        "def rows(): return [1.0, 2.0]\ndef kind(x): return x.shape.rank == 1"
    )
    for _ in range(3):
        run(f"%%tf_function step\n{cell}")
    step = shell.user_ns["step"]
    assert (len(step.traces), step.hits) == (1, 2)


def test_what_a_second_run_does_not_write_stays(run, shell) -> None:
    run("x = tf.constant(1.0)\ndef rows(): return [1.0] * n\nn = 1")
    cell = "%%tf_function step\nfor each in rows():\n    z = each * x\ny = x + 1"
    run(cell)
    run("n = 0; z = tf.constant(5.0)")
    run(cell)
    assert (shell.user_ns["z"].numpy(), shell.user_ns["y"].numpy()) == (5.0, 2.0)
