"""Names of variables: the layer's and the weight's, no two the same, and the session's for all."""

from __future__ import annotations

import sys
from types import ModuleType

import keras
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.traces.variable_names import children, named_leaves, walk

layers = keras.layers


def names(**named: object) -> list[str]:
    return list(named_leaves(named.items()))


def dense(name: str) -> keras.layers.Dense:
    layer = layers.Dense(2, name=name)
    layer.build((None, 2))
    return layer


def test_a_functional_model_has_the_names_of_its_layers() -> None:
    inputs = keras.Input((2,))
    inner = keras.Sequential([layers.Dense(2, name="a")], name="inner")
    hidden = inner(layers.Dense(2, name="one")(inputs))
    model = keras.Model(inputs, layers.Dropout(0.5, name="drop")(layers.Dense(2, name="b")(hidden)))
    assert names(m=model) == [
        *("m/one/kernel", "m/one/bias", "m/inner/a/kernel", "m/inner/a/bias"),
        *("m/b/kernel", "m/b/bias", "m/drop/seed_generator_state"),
    ]


def test_a_shared_layer_is_listed_where_it_comes_first() -> None:
    shared, inputs = dense("shared"), keras.Input((2,))
    one, other = (keras.Model(inputs, shared(inputs)) for _ in range(2))
    assert names(one=one, other=other, shared=shared) == ["one/shared/kernel", "one/shared/bias"]


def test_a_layer_inside_of_another_has_no_name_of_that() -> None:
    class Outer(keras.Model):
        def __init__(self) -> None:
            super().__init__(name="outer")
            self.part = layers.Dense(2, name="part")

        def call(self, x):
            return self.part(x)

    outer = Outer()
    outer(tf.ones([1, 2]))
    assert names(part=outer.part) == ["part/kernel", "part/bias"]


def test_several_of_one_name_are_distinguished() -> None:
    class Twins(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.third = dense("d"), dense("d_1"), dense("d")

    assert names(t=Twins())[::2] == ["t/d/kernel", "t/d_1/kernel", "t/d_2/kernel"]
    mixed = {1: tf.Variable(0.0), "1": tf.Variable(1.0)}
    assert names(m=mixed) == ["m/1", "m/1_1"]
    crossed = {"a/b": tf.Variable(0.0), "a": {"b": tf.Variable(1.0)}}
    assert names(c=crossed) == ["c/a/b", "c/a/b_1"]


def test_an_optimizer_holds_none_of_the_models_variables() -> None:
    layer = dense("d")
    optimizer = keras.optimizers.Adam()
    optimizer.build(layer.trainable_variables)
    model = keras.Sequential([layer])
    model.compile(optimizer)
    assert names(optimizer=optimizer)[2:] == [
        f"optimizer/d_{weight}_{slot}"
        for weight in ("kernel", "bias")
        for slot in ("momentum", "velocity")
    ]
    assert names(model=model)[2:4] == ["model/optimizer/iteration", "model/optimizer/learning_rate"]


def test_metrics_that_compile_makes_and_those_that_are_attributes() -> None:
    class Watched(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.seen = keras.metrics.Mean()

        def call(self, x):
            return x

    model = Watched()
    model.compile("sgd", "mse")
    assert [name for name in names(m=model) if "optimizer" not in name] == [
        *("m/seen/total", "m/seen/count", "m/metrics/loss/total", "m/metrics/loss/count"),
    ]


def test_a_layer_that_lists_other_variables_than_its_layers_has_them_by_path() -> None:
    class Hiding(keras.layers.Layer):
        held = staticmethod(list)

        @property
        def variables(self):
            return [*super().variables, *self.held()]

    layer, hidden = Hiding(name="h"), keras.Variable(1.0, name="hidden")
    layer.held = lambda: [hidden]
    assert names(layer=layer) == ["layer/hidden"]


def test_what_cannot_be_read_is_no_layer() -> None:
    class Failing(keras.layers.Layer):
        @property
        def variables(self):
            raise RuntimeError("not now")

    assert list(children(Failing())) == []


@pytest.fixture
def notebook(monkeypatch):
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    return main.__dict__


def test_captures_have_the_sessions_names(notebook) -> None:
    notebook["W"] = w = tf.Variable(1.0)
    notebook["w"] = w
    inputs = keras.Input((2,))
    notebook["model"] = model = keras.Model(inputs, layers.Dense(2)(layers.Dense(3)(inputs)))
    notebook["weights"] = weights = model.weights

    def make(rate, kernel):
        return nbfn.function(lambda x: model(x) * w * rate * tf.reduce_sum(kernel))

    notebook["step"] = step = make(tf.Variable(2.0), weights[0])
    step(tf.ones([1, 2]))
    session = nbfn.session()
    captured = {capture.name: capture.value for capture in step.captures}
    assert len(captured) == len(step.captures) == 6
    assert captured.pop("rate").numpy() == 2.0  # which the session cannot name
    assert captured.keys() == session.variables.keys()
    assert all(session.variables[name] is value for name, value in captured.items())


def test_what_only_ipython_keeps_has_the_name_in_the_code(notebook) -> None:
    notebook["Out"] = {3: tf.Variable(1.0)}

    def make(rate):
        return nbfn.function(lambda x: x * rate)

    step = make(notebook["Out"][3])
    step(1.0)
    assert [capture.name for capture in step.captures] == ["rate"]


def test_a_large_notebook_does_not_hide_what_its_code_names(notebook) -> None:
    notebook["records"] = [{"row": [str(i), object()]} for i in range(9_000)]
    notebook["w"] = tf.Variable(1.0)
    notebook["late"] = [tf.Variable(2.0)]
    exec("def double(x):\n    return late[0] * x * w", notebook)
    step = nbfn.function(notebook["double"], autograph=False)
    step(1.0)
    assert {capture.name for capture in step.captures} == {"late/0", "w"}


def test_the_default_value_of_a_table_is_named_after_the_table(notebook) -> None:
    notebook["words"] = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1
    )
    exec("def number(word):\n    return words.lookup(word)", notebook)
    step = nbfn.function(notebook["number"], autograph=False)
    step(tf.constant("a"))
    assert [capture.name for capture in step.captures] == ["words", "words/default_value"]


def test_a_limited_search_ends_and_still_yields_what_names_refer_to() -> None:
    class Endless(list):
        def __iter__(self):
            for i in range(1_000):
                if i > 20:
                    raise AssertionError("listed to its end")
                yield [i, object()]

    w = tf.Variable(1.0)
    named = [("many", [Endless()]), ("w", w), ("late", [w])]
    found = [name for name, _, _ in walk(named, limit=10)]
    assert "w" in found
    assert "late" not in found
    assert len(found) < 10
