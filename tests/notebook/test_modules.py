"""A bound module across cells: used in traced cells, redefined, rebound, trained, displayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

CLASS = """
class Net(nn.Module):
    width: int = 8

    def setup(self):
        self.hidden = nn.Dense(self.width)

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(self.hidden(x))) * {factor}
"""
FORWARD = "%%tf_function forward\ny = model(x)\ny"
TRAIN = """%%tf_function train
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(model(x) ** 2)
optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
loss"""

pytestmark = pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")


@pytest.fixture
def notebook(run: Callable[[str], Any]) -> Callable[[str], Any]:
    run("from nbfn import nn\nx = tf.ones([2, 4])")
    run(CLASS.format(factor=1.0))
    run("model = Net().bind(Net().init(nn.key(0), x))")
    return run


def test_a_redefined_class_takes_effect_when_the_module_is_rebound(notebook: Any) -> None:
    first = notebook(FORWARD).result
    assert "hit" in notebook(FORWARD).text
    notebook("before = model.named_variables()")
    notebook(CLASS.format(factor=2.0))
    assert "hit" in notebook(FORWARD).text, "the bound module is still the old one"
    notebook("model = model.rebind(Net(), x)")
    again = notebook(FORWARD)
    assert "Net.__call__" in again.text
    np.testing.assert_allclose(again.result, 2.0 * first, rtol=1e-6)
    same = "all(v is before[k] for k, v in model.named_variables().items())"
    assert notebook(same).result is True


def test_training_goes_on_in_a_rebound_module(notebook: Any, always_traced: None) -> None:
    notebook("optimizer = tf.keras.optimizers.SGD(0.1)\noptimizer.build(model.trainable_variables)")
    losses = [float(notebook(TRAIN).result) for _ in range(3)]
    notebook(CLASS.format(factor=1.0) + "# another comment\n")
    notebook("model = model.rebind(Net(), x)")
    losses += [float(notebook(TRAIN).result) for _ in range(2)]
    assert losses == sorted(losses, reverse=True)
    assert len(set(losses)) == 5
    assert notebook("train.hits").result >= 2


def test_a_module_is_displayed_as_its_tree(notebook: Any) -> None:
    notebook(FORWARD)
    text = notebook("model").text
    assert "Net: 4 variables, 4 trainable, 196 B" in text
    assert "hidden: Dense  (float32[2, 4] -> float32[2, 8])" in text
