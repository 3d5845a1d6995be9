"""A graph whose values would differ from Python's is not used."""

from __future__ import annotations

import pytest

SETUP = """
import keras
keras.utils.set_random_seed(0)
y = tf.constant([[0.0, 1.0]]); big = tf.constant([[100.0, -1000.0]]); n = 3
v = tf.Variable([1.0, 2.0]); test = False; body = None; seen = []
embedding = keras.layers.Embedding(4, 2, mask_zero=True); lstm = keras.layers.LSTM(2)
softmax = keras.Sequential([keras.layers.Activation("softmax")])
loss_of = keras.losses.CategoricalCrossentropy()
ids = tf.constant([[1, 2, 0, 0]]); lstm(embedding(ids)); softmax(big)

class Counted:
    def __mul__(self, other):
        seen.append(1)
        return x

counted = Counted()

def collected(z):
    out = []
    for each in z:
        out.append(each)
    return z * len(out)

def chosen(z):
    options = {"scale": 1.0}
    if z[0] > 5.0:
        options["scale"] = 2.0
    return z * options["scale"]

def power(count):
    k = 1
    for _ in tf.range(count):
        k = k * 2
    return tf.cast(k, tf.float32)

def of_number(z):
    return z * 0.5 + float(n)

def first_or(z):
    return tf.constant(-1.0) if z.shape[0] == 0 else tf.reduce_mean(z)
"""


@pytest.mark.parametrize(
    ("cell", "between"),
    [
        # What Keras keeps in attributes of tensors.
        ("e = embedding(ids)\nprint(e.shape)\nh = lstm(e)", "ids = tf.reverse(ids, [1])"),
        ("p = softmax(big)\nprint(p.shape)\nloss = loss_of(y, p)", "big = big * 2.0"),
        ("z = tf.nn.softmax(big)\nloss = loss_of(y, z)", "pass"),
        # Sizes that depend on values.
        ("z = tf.boolean_mask(x, x > 0.5)\nw = first_or(z)", "x = x - 10.0"),
        ("z = tf.unique(x)[0]\nw = x if z.shape == x.shape else -x", "x = x * 0.0"),
        # Numbers that AutoGraph makes tensors, and containers in loops and branches of a graph.
        ("z = power(40) + x[0]", "pass"),
        ("z = collected(x)", "x = tf.concat([x, x], 0)"),
        ("z = chosen(x)", "x = x + 10.0"),
        # Names of the user's that the generated source had.
        ("z = x\nfor i in range(8):\n    z = z * 0.5 + (1.0 if test else 2.0)", "test = True"),
        ("z = x\nfor i in range(8):\n    z = z * 0.5 + (1.0 if body is None else 2.0)", "body = 1"),
        # A helper that reads the loop's number, and an operator of the user's.
        ("z = x\nfor n in range(8):\n    z = of_number(z)", "pass"),
        ("for t in counted * 2.0:\n    z = t * 2.0\nprint(len(seen))", "pass"),
    ],
)
def test_values_are_those_of_a_plain_cell(notebook, cell: str, between: str) -> None:
    notebook(SETUP, cell, between=between)


@pytest.mark.parametrize("made", ["tf.split(v * x, 2)", "dict(zip('ab', tf.split(v * x, 2)))"])
def test_gradients_of_several_tensors_under_an_open_tape(notebook, made: str) -> None:
    parts = "a, b = parts" if "dict" not in made else "a, b = parts['a'], parts['b']"
    notebook(
        "v = tf.Variable([1.0, 2.0])",
        f"with tf.GradientTape(persistent=True) as tape:\n    parts = {made}\n    print(1)\n"
        f"{parts}\nprint(tape.gradient(b, v), tape.gradient(a, v))",
    )
