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


NUMBERS = """
v = tf.Variable([1.0, 2.0]); x = tf.constant([[3.0, 1.0]]); start = tf.constant([1.0, 2.0])

def growth(limit):
    a, b = 0, 1
    while tf.cast(a, tf.float32) < limit:
        a, b = b, a + b
    return tf.cast(a, tf.float32)

def pairs(t):
    n = int(tf.reduce_sum(t))
    return t * tf.cast(n * (n - 1) // 2, tf.float32)

def halved(t):
    scale = 1e9
    if tf.reduce_sum(t) > 0.0:
        scale *= 1e3
    return t * ((scale + 0.125) - scale)

def bucket(t):
    return tf.one_hot(int(tf.reduce_mean(t)), 4)

def counted(t):
    n = tf.math.count_nonzero(t > 0.5)
    return t / tf.cast(n, tf.float32) if n else t

def total(t):
    s = 0.0
    for each in t:
        s += each
    return s
"""


@pytest.mark.parametrize(
    ("cell", "between"),
    [
        ("z = growth(start[0] * 10.0)", "start = start * 1e4"),
        ("z = pairs(start)", "start = start * 1e3"),
        ("z = halved(start)", "start = -start"),
        (
            "for t in (start, start / 0.0):\n    try:\n        z = bucket(t)\n"
            "    except OverflowError:\n        z = -t",
            "pass",
        ),
        ("v.assign_sub(x[0])\nz = counted(v)", "x = -x"),
        ("z = total(start)", "start = start * 2.0"),
        # Results whose keys would be those of names.
        (
            "v.assign_sub(x[0])\nlow_2 = tf.reduce_mean(v)\n"
            "low = [tf.reduce_max(v), tf.reduce_min(v)]",
            "pass",
        ),
        ("v.assign_add(x[0])\nresult_2 = x * 2.0\nresult = x * 3.0\nresult + 1.0", "pass"),
    ],
)
def test_numbers_of_called_functions_and_keys_of_results(notebook, cell: str, between: str) -> None:
    notebook(NUMBERS, cell, between=between)


def test_a_loop_that_sums_a_tensor_may_be_in_a_graph(notebook) -> None:
    cell = "print(1)\nz = total(start)"
    assert notebook(NUMBERS, cell)["step"].lines[3] == "graph"


def test_a_tensor_with_attributes_of_keras_is_no_cause_of_a_retrace(notebook) -> None:
    cell = "p = softmax(big)\nprint(p.shape)\nz = p * 2.0\nw = z + 1.0"
    step = notebook(SETUP, cell, between="big = big * 2.0")["step"]
    assert "on which Keras keeps more than its value" in step.lines[4]
    assert [len(each.retraces) for each in step.functions] == [0] * len(step.functions)
