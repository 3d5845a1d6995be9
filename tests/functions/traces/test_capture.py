"""Captures are shown under the user's names."""

from __future__ import annotations

import gc
import sys

import keras
import pytest
import tensorflow as tf

import nbfn
from tests.harness.messages import raises

weight = tf.Variable(tf.ones([3, 2]), name="not_this_name")
layers = {"first": [tf.Variable(1.0)]}


def test_globals_by_name_and_path_in_the_order_of_use() -> None:
    f = nbfn.function(lambda x: x @ weight * layers["first"][0])
    f(tf.ones([1, 3]))
    assert [capture.name for capture in f.captures] == ["weight", "layers/first/0"]
    first = f.captures[0]
    assert (first.kind, first.shape, first.dtype, first.device) == (
        "variable",
        (3, 2),
        "float32",
        "CPU:0",
    )
    assert (first.nbytes, first.trainable) == (24, True)
    assert first.value is weight


def test_closures() -> None:
    inner = tf.Variable(2.0, trainable=False)
    f = nbfn.function(lambda x: x * inner)
    f(tf.constant(1.0))
    assert [(c.name, c.trainable) for c in f.captures] == [("inner", False)]


def test_modules_layers_and_optimizers() -> None:
    model = keras.Sequential([keras.layers.Dense(2, name="hidden")])
    optimizer = keras.optimizers.SGD(momentum=0.5)
    model.build([None, 3])
    optimizer.build(model.trainable_variables)

    @nbfn.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step(tf.ones([1, 3]))
    names = {capture.name for capture in step.captures}
    assert {"model/hidden/kernel", "model/hidden/bias", "optimizer/learning_rate"} <= names


def test_methods_name_their_own_attributes() -> None:
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.kernel = tf.Variable(1.0)

        @nbfn.function
        def step(self, x):
            return self.kernel * x

    model = Model()
    model.step(tf.constant(1.0))
    assert [capture.name for capture in model.step.captures] == ["self/kernel"]


def test_tensors_and_tables() -> None:
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a"], [1]), default_value=0
    )
    offset = tf.constant([1, 2])
    f = nbfn.function(lambda words: table.lookup(words) + offset)
    f(tf.constant(["a", "b"]))
    assert {("table", "resource"), ("offset", "tensor")} <= {(c.name, c.kind) for c in f.captures}


def test_what_has_no_name_keeps_tensorflows() -> None:
    holder = {1: tf.Variable(1.0, name="hidden_away")}
    f = nbfn.function(lambda x, get=lambda: holder[1]: x * get())
    f(tf.constant(1.0))
    assert [capture.name for capture in f.captures] == ["hidden_away"]


def test_a_capture_keeps_nothing_alive() -> None:
    variable = tf.Variable(1.0)
    holder = [variable]
    f = nbfn.function(lambda x: x * holder[0])
    f(tf.constant(1.0))
    capture = f.captures[0]
    holder.clear()
    del variable, f
    gc.collect()
    with raises(ReferenceError):
        capture.value  # noqa: B018


def test_a_variable_has_the_name_that_the_notebook_has_for_it_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    namespace = sys.modules["__main__"].__dict__
    monkeypatch.setitem(namespace, "net", {"w": tf.Variable(1.0)})
    f = nbfn.function(lambda x: x * namespace["net"]["w"])
    f(1.0)
    assert [each.name for each in f.captures] == ["net/w"]
    monkeypatch.setitem(namespace, "before", namespace["net"])
    monkeypatch.setitem(namespace, "net", {"w": tf.Variable(2.0)})
    assert [each.name for each in f.captures] == ["before/w"]
