"""After a change of what its code reads, a traced function answers as Python does."""

from __future__ import annotations

import functools
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn

SETUP = """
import enum, functools, heapq, operator, threading, types, nbfn, pydantic, traitlets
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
kept = weight = None
def keeping(x):
    global kept
    if kept is None: kept = 2.0
    return x * kept
def weighing(x):
    global weight
    if weight is None: weight = tf.Variable(2.0)
    return x * weight
def enclosing():
    rate = None
    def scaled(x):
        nonlocal rate
        if rate is None: rate = 2.0
        return x * rate
    def set_rate(value):
        nonlocal rate
        rate = value
    return scaled, set_rate
scaled, set_rate = enclosing()
caches, sizes = {}, {}
def caching(x):
    if "k" not in caches: caches["k"] = Part(2.0)
    return x * caches["k"].k
def sizing(x):
    key = tuple(x.shape)
    if key not in sizes: sizes[key] = 2.0
    return x * sizes[key]
lazy, weights = Lazy(), Weights()
"""


@pytest.mark.parametrize(
    ("setup", "call", "change"),
    [
        ("", "lazy.call(x)", "lazy.part.k = 5.0"),
        ("", "lazy.call(x)", "lazy.part = Part(7.0)"),
        ("", "lazy.call(x)", "lazy.part = None; lazy.scale = 7.0"),
        ("", "keeping(x)", "kept = 7.0"),
        ("", "weighing(x)", "weight = tf.Variable(7.0)"),
        ("", "scaled(x)", "set_rate(7.0)"),
        ("", "caching(x)", "caches['k'] = Part(7.0)"),
        ("", "caching(x)", "caches['k'].k = 7.0"),
        ("", "sizing(x)", "sizes[()] = 7.0"),
        ("", "sizing(x)", "sizes.clear()"),
        ("", "sizing(x)", "sizes = {(): 7.0}"),
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
        ("def h(k): return k", "h(x)", "h.__code__ = (lambda k: k * 5.0).__code__"),
        ("def h(k, by=2.0): return k * by", "h(x)", "h.__defaults__ = (5.0,)"),
        ("def h(k, *, by=2.0): return k * by", "h(x)", "h.__kwdefaults__ = {'by': 5.0}"),
        ("def h(k, by=[2.0]): return k * by[0]", "h(x)", "h.__defaults__ = ([5.0],)"),
        ("v = tf.Variable(1.0); v.k = 2.0", "x * v * v.k", "v.k = 5.0"),
        (
            "c = tf.train.Checkpoint(step=tf.Variable(2.0))",
            "x * c.step",
            "c.step = tf.Variable(5.0)",
        ),
        ("t = threading.Timer(2.0, print)", "x * t.interval", "t.interval = 5.0"),
        (
            "class Config(traitlets.HasTraits):\n"
            "    rate, rest = traitlets.Float(2.0), traitlets.List([1.0])\n"
            "c = Config()",
            "x * c.rate + sum(c.rest)",
            "c.rest.append(5.0)",
        ),
        (
            "class Config(traitlets.HasTraits):\n"
            "    rate = traitlets.Float()\n"
            "    @traitlets.default('rate')\n"
            "    def _rate(self): return 2.0\n"
            "c = Config()",
            "x * c.rate",
            "c.rate = 5.0",
        ),
        (
            "class Config(pydantic.BaseModel): rates: list[float] = [2.0]\nc = Config()",
            "x * sum(c.model_dump()['rates'])",
            "c.rates.append(5.0)",
        ),
        (
            "@nbfn.function\ndef scale(x): return x * scale.rate\nscale.rate = 2.0",
            "x * scale.rate",
            "scale.rate = 5.0",
        ),
        (
            "p = functools.partial(caching); p.rate = 2.0",
            "x * p.rate",
            "p.rate = 5.0",
        ),
        (
            "limit = 3.0\n"
            "class Key:\n"
            "    def __hash__(self): return 1\n"
            "    def __eq__(self, other): return limit > 2.0",
            "x * len({Key(), Key()})",
            "limit = 1.0",
        ),
        (
            "order = {1.0: 1, 2.0: 2}\n"
            "class Item:\n"
            "    def __init__(self, key): self.key = key\n"
            "    def __lt__(self, other): return order[self.key] < order[other.key]",
            "x * heapq.nsmallest(1, [Item(1.0), Item(2.0)])[0].key",
            "order[1.0] = 3",
        ),
        ("m = types.ModuleType('by_hand'); m.k = 2.0", "x * m.k", "m.k = 5.0"),
        (
            "pick = operator.itemgetter(0)",
            "pick([x, 5.0 * x])",
            "pick = operator.itemgetter(1)",
        ),
        (
            "own = Weights(); own.rest = [tf.Variable(3.0)]",
            "x * len(own.trainable_variables)",
            "own.rest[0]._trainable = False",
        ),
        (
            "m = types.ModuleType('lazy'); m.k = [2.0]\n"
            "exec('def __getattr__(name): return k[0]', vars(m))",
            "x * m.rate",
            "m.k[0] = 5.0",
        ),
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


@pytest.mark.parametrize(
    "loss",
    [
        "part.loss",
        "part.step",
        "part",
        "nbfn.function(part.loss)",
        "nbfn.function(nbfn.function(part.loss))",
        "nbfn.function(part.step)",
        "nbfn.function(part)",
        "nbfn.function(functools.partial(Part.loss, part))",
        "functools.partial(part.loss, by=1.0)",
        "functools.partial(part.step)",
        "staticmethod(part.loss)",
        "{'loss': nbfn.function(part.loss)}['loss']",
        "functools.partial(lambda losses: losses[0](), [part.loss])",
    ],
)
def test_a_method_that_is_wrapped_and_called(loss: str) -> None:
    space: dict[str, Any] = {"tf": tf, "nbfn": nbfn, "functools": functools, "__name__": "__main__"}
    exec(METHODS, space)
    exec(f"loss = {loss}\ndef eager(x): return x * loss()", space)
    traced, x = nbfn.function(space["eager"], autograph=False), tf.constant(2.0)
    assert float(traced(x)) == 4.0
    space["part"].rate = 5.0
    assert float(traced(x)) == 10.0
    traced(x)
    assert len(traced.traces) == 2


def test_a_method_of_a_librarys_object() -> None:
    layer = keras.layers.LeakyReLU(0.5)
    f, x = nbfn.function(layer.call), tf.constant(-1.0)
    assert float(f(x)) == -0.5
    layer.negative_slope = 0.25
    assert float(f(x)) == -0.25


METHODS = """
class Part:
    def __init__(self): self.rate = 2.0
    def loss(self, by=1.0): return tf.constant(self.rate * by)
    @nbfn.function(autograph=False)
    def step(self): return tf.constant(self.rate)
    def __call__(self): return tf.constant(self.rate)
part = Part()
"""


@pytest.mark.parametrize(
    ("call", "reset", "made"),
    [
        ("lazy.call(x)", "lazy.part = None", "lazy.part.k"),
        ("lazy.call(x)", "del lazy.part", "lazy.part.k"),
        ("keeping(x)", "kept = None", "kept"),
        ("caching(x)", "caches.clear()", "caches['k'].k"),
        ("sizing(x)", "sizes = {}", "sizes"),
        ("weighing(x)", "weight.assign(5.0); weight = None", "weight"),
        ("x * defaults['k']", "defaults = collections.defaultdict(lambda: 2.0)", "dict(defaults)"),
    ],
)
def test_what_is_taken_away_again_is_made_again(call: str, reset: str, made: str) -> None:
    space: dict[str, Any] = {"tf": tf, "np": np, "__name__": "__main__"}
    exec(SETUP + "import collections\ndefaults = collections.defaultdict(lambda: 2.0)\n", space)
    exec(f"def eager(x): return {call}", space)
    traced = nbfn.function(space["eager"], autograph=False)
    for x in (tf.constant(1.0), tf.constant([3.0]), tf.constant(2.0), tf.constant([1.0])):
        np.testing.assert_array_equal(traced(x), 2.0 * x)
        assert eval(made, space) in (2.0, {"k": 2.0}, {tuple(x.shape): 2.0})
        exec(reset, space)


def test_steps_that_set_names_in_turn_make_no_traces() -> None:
    class Trainer:
        is_training, mode = False, None

        @nbfn.function
        def train(self, x: Any) -> Any:
            self.is_training, self.mode = True, "train"
            return x * 2 if self.is_training else x

        @nbfn.function
        def test(self, x: Any) -> Any:
            self.is_training, self.mode = False, "test"
            return x * 2 if self.is_training else x

    trainer = Trainer()
    for _ in range(5):
        assert float(trainer.train(1.0)) == 2.0
        assert float(trainer.test(1.0)) == 1.0
    assert len(trainer.train.traces) + len(trainer.test.traces) <= 3


def test_what_each_trace_stores_again_makes_no_traces() -> None:
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
