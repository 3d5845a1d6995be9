"""A watched tf.function says that it uses old values: TensorFlow does not trace again for them."""

from __future__ import annotations

import warnings
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn

ONE = tf.constant(1.0)


def watched(code: str, **names: Any) -> tuple[dict[str, Any], Any, Any]:
    space = {"__name__": "__main__", "tf": tf, **names}
    exec(code, space)
    function = tf.function(space["f"])
    observer = nbfn.watch(function)
    observer.count_hits()
    return space, function, observer


def test_a_changed_global_is_told_once_for_each_value() -> None:
    space, f, observer = watched("def f(x):\n    return x * rate", rate=2.0)
    f(ONE)
    f(ONE)
    for rate in (3.0, 4.0):
        space["rate"] = rate
        with pytest.warns(nbfn.NbfnWarning, match=f"`rate` was 2.0, is {rate}; the call uses the"):
            assert float(f(ONE)) == 2.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f(ONE)
    assert [str(c) for c in observer.recorder.staleness.since(observer.traces[0])] == [
        "global `rate` was 2.0, is 4.0"
    ]
    space["rate"] = 2.0
    assert not observer.recorder.staleness.since(observer.traces[0])


def test_a_retrace_of_tensorflow_is_not_put_down_to_state() -> None:
    space, f, observer = watched("def f(x):\n    return x * rate", rate=2.0)
    f(ONE)
    space["rate"] = 3.0
    assert f(tf.ones([2])).numpy().tolist() == [3.0, 3.0]
    assert [cause.code for cause in observer.retraces[0].causes] == ["rank"]


@pytest.mark.filterwarnings("error")
def test_what_a_trace_changes_itself_is_not_told() -> None:
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
