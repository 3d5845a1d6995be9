"""Cells that many hours begin with."""

from __future__ import annotations

IMPORTS = """\
%load_ext nbfn
import keras
import numpy as np
import tensorflow as tf

import nbfn

keras.utils.set_random_seed(1)
"""

DATA = """\
random = np.random.default_rng(0)
x = tf.constant(random.normal(size=[16, 3]), tf.float32)
y = tf.reduce_sum(x, 1, keepdims=True)
"""

STEP = """\
@nbfn.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss
"""

TRAIN = """\
for epoch in range(5):
    loss = step(x, y)
print(f"loss {loss:.4f}")
"""

BUILT = """\
keras.utils.set_random_seed(2)
model = keras.Sequential([
    keras.layers.Input([3]),
    keras.layers.Dense(4, activation="relu"),
    keras.layers.Dense(1),
])
"""

ANOTHER_MODEL = "global `model` is another Sequential"
ANOTHER_ADAM = "global `optimizer` is another Adam"
ANOTHER_SGD = "global `optimizer` is another SGD"
