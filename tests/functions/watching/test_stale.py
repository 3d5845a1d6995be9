"""A watched tf.function says that it uses old values: TensorFlow does not trace again for them."""

from __future__ import annotations

import warnings
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from tests.harness.messages import warns

ONE = tf.constant(1.0)


def watched(code: str, **names: Any) -> tuple[dict[str, Any], Any, Any]:
    space = {"__name__": "__main__", "tf": tf, **names}
    exec(code, space)
    function = tf.function(space["f"])
    observer = nbfn.watch(function)
    observer.count_hits()
    return space, function, observer


def test_a_changed_global_is_reported_once_for_each_value() -> None:
    space, f, observer = watched("def f(x):\n    return x * rate", rate=2.0)
    f(ONE)
    f(ONE)
    for rate in (3.0, 4.0):
        space["rate"] = rate
        with warns(nbfn.NbfnWarning):
            assert float(f(ONE)) == 2.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f(ONE)
    assert [str(c) for c in observer.recorder.staleness.changes_since(observer.traces[0])] == [
        "global `rate` was 2.0, is 4.0"
    ]
    space["rate"] = 2.0
    assert not observer.recorder.staleness.changes_since(observer.traces[0])


def test_a_retrace_of_tensorflow_is_not_put_down_to_state() -> None:
    space, f, observer = watched("def f(x):\n    return x * rate", rate=2.0)
    f(ONE)
    space["rate"] = 3.0
    assert f(tf.ones([2])).numpy().tolist() == [3.0, 3.0]
    assert [cause.code for cause in observer.retraces[0].causes] == ["rank"]


@pytest.mark.filterwarnings("error")
def test_what_a_trace_changes_itself_is_not_reported() -> None:
    code = (
        "def f(x):\n"
        "    made.append(1)\n"
        "    if 'v' not in kept:\n"
        "        kept['v'] = tf.Variable(2.0)\n"
        "    return x * kept['v'] + tf.py_function(lambda: float(count[0]), [], tf.float32)"
    )
    space, f, _ = watched(code, made=[], kept={}, count=[0])
    for _ in range(3):
        f(ONE)
        space["count"][0] += 1


@pytest.mark.filterwarnings("error::nbfn.NbfnWarning")
def test_keras_trains_in_peace() -> None:
    class Scaled(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(2)
            self.seen = 0

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def train_step(self, data: Any) -> Any:
            self.seen += 1
            return super().train_step(data)

    model = Scaled()
    model.compile("adam", "mse")
    nbfn.watch(model)
    x = np.ones([8, 3], np.float32)
    for _ in range(2):
        model.fit(x, x[:, :2], epochs=2, batch_size=4, verbose=0)
        model.evaluate(x, x[:, :2], verbose=0)


class Annealed(keras.Model):
    """Its own step reads an attribute, which Keras's functions bake in."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.beta = 1.0
        self.steps = 0

    def call(self, x: Any) -> Any:
        return self.dense(x) * self.beta

    def train_step(self, x: Any) -> dict[str, Any]:
        self.steps += 1
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(x) ** 2) * self.beta
        weights = self.trainable_variables
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        return {"loss": loss}


def fit(model: Any, epochs: int = 1, *callbacks: Any) -> list[str]:
    """Trains a model; returns the warnings of stale traces."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(np.ones([4, 2], "float32"), epochs=epochs, callbacks=list(callbacks), verbose=0)
    return [str(each.message) for each in caught if issubclass(each.category, nbfn.NbfnWarning)]


def test_an_attribute_that_fit_has_baked_in() -> None:
    model = Annealed()
    model.compile(keras.optimizers.Adam(0.1))
    observer = nbfn.watch(model)
    assert observer is not None
    assert fit(model, 2) == fit(model) == []
    model.beta = 3.0
    (text,) = fit(model, 3)
    assert "is stale: attribute `self.beta` was 1.0, is 3.0; the call uses the old value" in text
    assert "compile" in text
    model.compile(keras.optimizers.Adam(0.1))
    assert fit(model) == fit(model) == []
    model.dense.trainable = False
    (text,) = fit(model)
    assert "setting `self.dense.trainable` was True, is False" in text


def test_a_callback_that_changes_it_in_each_epoch_is_reported_a_few_times() -> None:
    model = Annealed()
    model.compile(keras.optimizers.SGD(0.1))
    observer = nbfn.watch(model)

    def change(epoch: int, _: Any) -> None:
        model.beta = 1.0 + epoch

    assert len(fit(model, 10, keras.callbacks.LambdaCallback(on_epoch_begin=change))) == 3
    assert observer.functions
