"""What is told of the retraces of a cell in segments that runs again and again."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("always_traced")

DATA = "import keras\nx, y = tf.ones([64, 3]), tf.zeros([64, 1])"
MODEL = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(8, activation="relu")
        self.out = keras.layers.Dense(1)

    def call(self, x):
        return self.out(self.hidden(x))

model = keras.Sequential([keras.layers.Input([3]), keras.layers.Dense(8), keras.layers.Dense(1)])
net = Net()
net(x)
opt = keras.optimizers.Adam(0.01)
opt.build(model.trainable_variables + net.trainable_variables)
"""
STEP = """%%tf_function step
for i in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) + net(x) - y) ** 2)
    weights = model.trainable_variables + net.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""
INTERNAL = ("lock", "uid", "address", "built", "parent", "sequential", "dense", "adam.")


def causes(run: Any, cell: str) -> list[str]:
    """The causes of the newest retrace of a cell, in words."""
    (function,) = run(f"{cell}.functions").result
    return [cause.sentence for cause in function.retraces[-1].causes]


def test_a_model_made_again_is_one_cause_and_needs_no_remedy(run) -> None:
    run(DATA)
    for _ in range(3):
        run(MODEL)
        run(STEP)
        shown = run(STEP).text
    assert causes(run, "step") == [
        "global `model` is another Sequential",
        "global `net` is another Net",
        "global `opt` is another Adam",
    ]
    retraces = run("step.retraces").result
    assert [retrace.remedy for retrace in retraces] == [None] * 2
    told = "".join(map(repr, retraces))
    assert [word for word in INTERNAL if word in told] == []
    assert "tf.Variable" not in shown


def test_an_attribute_of_a_layer_has_the_name_by_which_the_user_reaches_it(run) -> None:
    run(DATA)
    run(MODEL)
    for _ in range(2):
        run(STEP)
    run("model.layers[0].trainable = net.hidden.trainable = False")
    for _ in range(2):
        run(STEP)
    assert causes(run, "step") == [
        "setting `model.layers[0].trainable` was True, is False",
        "setting `net.hidden.trainable` was True, is False",
    ]
    assert run("step.retraces[-1].remedy").result is None
