"""After a change of what its code reads, a traced function answers as Python does."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn

SETUP = """
import enum, functools, threading, types
class Part:
    def __init__(self, k=2.0): self.k = k
class Lazy:
    part = None
    scale = 2.0
    def call(self, x):
        if self.part is None: self.part = Part(self.scale)
        return x * self.part.k
class Weights(tf.Module):
    def __init__(self): self.w, self.rest = tf.Variable(2.0), []
    def total(self, x): return x * tf.add_n([1.0 * v for v in self.trainable_variables])
    def count(self, x): return x * len(self.submodules)
lazy, weights = Lazy(), Weights()
"""


@pytest.mark.parametrize(
    ("setup", "call", "change"),
    [
        ("", "lazy.call(x)", "lazy.part.k = 5.0"),
        ("", "lazy.call(x)", "lazy.part = Part(7.0)"),
        ("", "lazy.call(x)", "lazy.part = None; lazy.scale = 7.0"),
        ("", "weights.total(x)", "weights.w = tf.Variable(7.0)"),
        ("", "weights.total(x)", "weights.rest.append(tf.Variable(3.0))"),
        ("", "weights.total(x)", "weights.more = tf.Variable(3.0)"),
        ("", "weights.count(x)", "weights.sub = Weights()"),
        ("r = range(0, 3, 2)", "x * r.stop", "r = range(0, 4, 2)"),
        ("a = np.zeros(2, [('k', float)]); i = a[0]", "x * i['k']", "a['k'] = 5.0"),
        ("E = enum.Enum('E', {'A': [1.0]})", "x * E.A.value[0]", "E.A.value[0] = 5.0"),
        ("k = 1.0; v = np.vectorize(lambda a: a * k)", "x * v(2.0)", "k = 5.0"),
        ("k = 1.0; v = np.frompyfunc(lambda a: a * k, 1, 1)", "x * v(2.0)", "k = 5.0"),
        (
            "k = 1; key = functools.cmp_to_key(lambda a, b: k * (a - b))",
            "x * sorted([1.0, 2.0], key=key)[0]",
            "k = -1",
        ),
        (
            "a = np.ones(2); p = functools.partial(tf.gather, a)",
            "x * tf.cast(p([1])[0], tf.float32)",
            "a[1] = 5.0",
        ),
        ("p = functools.partial(pow, 3.0)", "x * p(2.0)", "p = functools.partial(pow, 5.0)"),
        ("def h(): pass", "x * getattr(h, 'k', 1.0)", "h.k = 5.0"),
        ("v = tf.Variable(1.0); v.k = 2.0", "x * v * v.k", "v.k = 5.0"),
        (
            "c = tf.train.Checkpoint(step=tf.Variable(2.0))",
            "x * c.step",
            "c.step = tf.Variable(5.0)",
        ),
        ("t = threading.Timer(2.0, print)", "x * t.interval", "t.interval = 5.0"),
        ("m = types.ModuleType('by_hand'); m.k = 2.0", "x * m.k", "m.k = 5.0"),
        (
            "m = keras.Sequential([keras.layers.Dense(1, kernel_initializer='ones')])\n"
            "m.build((1, 1)); m.compile(loss='mse'); y = tf.constant([[3.0]])",
            "m.compute_loss(y=y, y_pred=m(x[None, None]))",
            "m.compile(loss='mae')",
        ),
        (
            "m = keras.Sequential([keras.layers.Dense(1)])\n"
            "m.compile(loss='mse', metrics=['mae'])\n"
            "_ = m.train_on_batch(np.ones([1, 1]), np.ones([1, 1]))",
            "x + sum(tf.reduce_sum(v) for each in m.metrics for v in each.variables)",
            "m.compile(loss='mse', metrics=['mape'])\n"
            "_ = m.train_on_batch(np.ones([1, 1]), np.zeros([1, 1]))",
        ),
        (
            "m = keras.layers.ActivityRegularization(l1=1.0); m(tf.constant([[2.0]]))",
            "x + sum(m.losses)",
            "m(tf.constant([[3.0]]))",
        ),
    ],
)
def test_a_changed_value(setup: str, call: str, change: str) -> None:
    space: dict[str, Any] = {"tf": tf, "np": np, "keras": keras, "__name__": "__main__"}
    exec(SETUP + setup, space)
    exec(f"def eager(x): return {call}", space)
    traced, x = nbfn.function(space["eager"], autograph=False), tf.constant(1.0)
    assert float(traced(x)) == float(space["eager"](x))
    traced(x)
    assert traced.hits >= 1, "nothing has changed"
    exec(change, space)
    assert float(traced(x)) == float(space["eager"](x))
    hits = traced.hits
    traced(x)
    assert traced.hits == hits + 1


def test_what_each_trace_stores_anew_makes_no_traces() -> None:
    class Shapes:
        last, shape = None, None

        @nbfn.function
        def call(self, x: Any) -> Any:
            self.last, self.shape = str(x.dtype), tuple(x.shape)
            return x * 2

    shapes = Shapes()
    for _ in range(4):
        for x in (tf.constant(1.0), tf.constant([1, 2]), tf.constant([1.0, 2.0, 3.0])):
            shapes.call(x)
    assert len(shapes.call.traces) == 3
