"""Bound modules under a distribution strategy, with two devices of one machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

CODE = """
import numpy as np, tensorflow as tf, keras
cpu = tf.config.list_physical_devices("CPU")[0]
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)
from nbfn import nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.BatchNorm(momentum=0.5)(nn.Dense(5)(x), training=True)
        drawn = nn.Dropout(0.5)(tf.ones([1, 64]), training=True)
        return nn.Dense(1)(x), drawn

rngs = {"params": nn.key(0), "dropout": nn.key(1)}
x = tf.random.stateless_normal([8, 3], [1, 2])
variables = Net().init(rngs, x)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = Net().bind(variables, rngs=rngs)
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
data = tf.data.Dataset.from_tensors(x).unbatch().batch(8)
batches = list(strategy.experimental_distribute_dataset(data))

def step(x):
    with tf.GradientTape() as tape:
        y, drawn = model(x)
        loss = tf.reduce_mean(y ** 2)
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss, drawn

@tf.function
def train(batch):
    loss, drawn = strategy.run(step, args=(batch,))
    return strategy.reduce("mean", loss, axis=None), strategy.experimental_local_results(drawn)

results = [train(batches[0]) for _ in range(3)]
losses = [float(loss) for loss, _ in results]
assert losses[0] > losses[1] > losses[2], losses
masks = [mask.numpy().tobytes() for _, drawn in results for mask in drawn]
assert len(set(masks)) == 6, "each replica and each step draws its own mask"
counts = model.named_variables()["rngs/dropout/counts"]
assert counts.numpy()[:2].tolist() == [3, 0], counts

def mean(half):
    updated = Net().apply(variables, half, rngs=rngs, mutable="batch_stats")[1]
    return updated["batch_stats"]["BatchNorm_0"]["moving_mean"]

means = [mean(x[:4]), mean(x[4:])]
with strategy.scope():
    fresh = Net().bind(variables, rngs=rngs)
strategy.run(lambda x: fresh(x), args=(batches[0],))
stored = fresh.state["batch_stats"]["BatchNorm_0"]["moving_mean"]
np.testing.assert_allclose(stored.numpy(), (means[0] + means[1]) / 2, rtol=1e-5)
print("replicated")
"""


def test_replicas_train_together_and_draw_apart() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "replicated", done.stderr[-3000:]
