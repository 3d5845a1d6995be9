"""A failing operation stops what comes after it, and nothing that comes before, as in Python.

Each way to fail has a cell; drawn are the statements around it and what it stands in.
"""

from __future__ import annotations

import os
import random
import textwrap
from typing import Any

import pytest

from tests.functions.segments.comparing.sides_of_cells import fresh_shell, graphs_pay, run_cell
from tests.functions.segments.corpus.story import Story

EXAMPLES = int(os.environ.get("NBFN_EXAMPLES", "12"))

SETUP = """
v, u, w = tf.Variable(1.0), tf.Variable(0.0), tf.Variable(tf.zeros([3]))
x, big = tf.constant(2.0), tf.ones([64, 64])

def checked(value):
    tf.debugging.check_numerics(value, "not finite")
    return value

def guarded(n):
    tf.debugging.assert_less(n, 4)
    u.assign_add(100.0)

def branching(n):
    if n > 3:
        tf.debugging.check_numerics(tf.math.log(3.0 - tf.cast(n, tf.float32)), "not finite")
        u.assign_add(50.0)
    else:
        u.assign_add(7.0)

def looping(n):
    for k in tf.range(3):
        u.assign_add(0.5)
        tf.gather(w, n + k - 3)
        u.assign_add(0.25)
"""
WRITES = [
    "v.assign_add(1.0)",
    "u.assign(v * 2.0)",
    "w.assign_add([1.0, 2.0, 3.0])",
    "w.scatter_nd_update([[1]], [x])",
    "total = tf.reduce_sum(big @ big); v.assign_add(total * 0.0)",
]
FAILURES = [
    "loss = tf.math.log(4.0 - f) * v; tf.debugging.check_numerics(loss, 'bad'); v.assign(loss)",
    "tf.debugging.assert_all_finite(tf.math.log(3.0 - f), 'not finite')",
    "tf.Assert(n < 4, [n])",
    "taken = tf.gather(w, n - 2)",
    "shaped = tf.reshape(w, [n - 1, 1])",
    "parsed = tf.strings.to_number(tf.where(n < 4, '1.5', 'x'))",
    "solved = tf.linalg.cholesky([[4.0 - f, 0.0], [0.0, 1.0]])",
    "w.assign(checked(w / (4.0 - f)))",
    "guarded(n)",
    "branching(n)",
    "looping(n)",
]


def drawn(number: int) -> str:
    """A loop whose body fails in its fifth turn, if it comes so far."""
    draw = random.Random(number)
    before = draw.choices(WRITES, k=draw.randint(0, 3))
    after = draw.choices(WRITES, k=draw.randint(1, 3))
    failure = FAILURES[number % len(FAILURES)]
    if draw.random() < 0.5:
        failure = f"if i % 2 == 0:\n    {failure}\n    u.assign_add(0.125)"
    turn = draw.choice(["i in range(6)", "i in tf.range(6)"])
    body = "\n".join(["n = tf.constant(i)", "f = tf.cast(n, tf.float32)", *before, failure, *after])
    return f"for {turn}:\n{textwrap.indent(body, '    ')}\n"


@pytest.mark.parametrize("number", range(EXAMPLES))
@pytest.mark.filterwarnings("ignore")
def test_a_failure_stops_what_comes_after(number: int) -> None:
    story = Story("failing", SETUP, drawn(number))
    line = ("%%tf_function", "%%tf_function --auto")[number % 2]
    with graphs_pay():
        assert left_by(story, line) == left_by(story, ""), f"{line}\n{story.cell}"


def left_by(story: Story, line: str) -> list[Any]:
    """After each of three runs: the variables, and what was raised."""
    found: list[Any] = []
    with fresh_shell() as shell:
        before = set(shell.user_ns)
        shell.run_cell(story.setup, store_history=True).raise_error()
        for _ in range(3):
            ran = run_cell(shell, story.cell, line, before)
            values = [shell.user_ns[name].numpy().tolist() for name in "vuw"]
            found.append((str(values), ran.failure and ran.failure.kind))
    return found
