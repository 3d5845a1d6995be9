"""Names and paths of the parts of sequences, and what is tracked of parts of other kinds."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises

X = tf.ones([2, 3])


class Scale(tf.Module):
    """A tf.Module of its own: its variable is no part of init and apply."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = tf.Variable(factor)

    def __call__(self, x: Any) -> Any:
        return x * self.factor


def test_explicit_names_keep_their_place_wherever_they_stand() -> None:
    seq = nn.Sequential([nn.Dense(1), nn.Dense(2), nn.Dense(3, name="dense_1"), nn.Dense(4)])
    found = {name: seq[name].features for name in ("dense", "dense_1", "dense_2", "dense_3")}
    assert found == {"dense": 1, "dense_1": 3, "dense_2": 2, "dense_3": 4}


def test_a_path_leads_through_sequences_to_parts_of_any_kind() -> None:
    with nn.Sequential(name="outer") as outer, nn.Sequential(name="inner") as inner:
        scale = Scale(2.0)
        inner += [scale, tf.nn.relu]
        outer += inner
    assert outer["inner/scale"] is outer / "inner" / "scale" is scale
    assert outer["inner/relu"] is tf.nn.relu
    bound = outer.bind({})
    assert bound["inner/scale"] is scale
    assert bound["inner/scale/factor"] is scale.factor
    with raises(nn.PathNotFoundError):
        outer["inner/nothing"]


def test_a_keras_layer_keeps_the_name_that_it_was_given() -> None:
    dense = keras.layers.Dense
    layers = [dense(2, name="head"), dense(3), dense(4), dense(5, name="dense1")]
    names = ["head", "dense", "dense_1", "dense1"]
    assert list(nn.Sequential(layers).init(nn.key(0), X)["params"]) == names


def test_a_keras_layer_in_two_places_is_one_layer() -> None:
    layer = keras.layers.Dense(X.shape[-1])
    seq = nn.Sequential([layer, tf.nn.relu, layer])
    seq += layer
    assert list(seq.init(nn.key(0), X)["params"]) == ["dense"]


def test_variables_of_other_modules_are_saved_from_above(tmp_path: Any) -> None:
    class Outer(nn.Module):
        def setup(self) -> None:
            self.inner = nn.Sequential([nn.Dense(2), Scale(3.0)])

        def __call__(self, x: Any) -> Any:
            return self.inner(x)

    bound = Outer().bind(Outer().init(nn.key(0), X))
    bound(X)
    path = tf.train.Checkpoint(m=bound).write(str(tmp_path / "a"))
    saved = [name for name, _ in tf.train.list_variables(path) if "/inner" in name]
    assert any("factor" in name for name in saved)
    serve = tf.function(lambda x: bound(x), input_signature=[tf.TensorSpec(X.shape)])
    tf.saved_model.save(bound, str(tmp_path / "b"), signatures=serve.get_concrete_function())
    got = tf.saved_model.load(str(tmp_path / "b")).signatures["serving_default"](tf.constant(X))
    tf.debugging.assert_near(next(iter(got.values())), bound(X))


def test_variables_of_a_part_that_was_bound_before_are_seen_and_saved(tmp_path: Any) -> None:
    given = nn.Dense(3).bind(nn.Dense(3).init(nn.key(0), X))
    seq = nn.Sequential([given, nn.Dense(2)])
    variables = seq.init(nn.key(1), X)
    assert list(variables["params"]) == ["dense_1"]
    bound = seq.bind(variables)
    assert {id(v) for v in given.variables} < {id(v) for v in bound.variables}
    path = tf.train.Checkpoint(m=bound).save(str(tmp_path / "a"))
    before = bound(X)
    for variable in given.variables:
        variable.assign(tf.zeros_like(variable))
    tf.train.Checkpoint(m=bound).restore(path).assert_consumed()
    tf.debugging.assert_equal(bound(X), before)
    serve = tf.function(lambda x: bound(x), input_signature=[tf.TensorSpec(X.shape)])
    tf.saved_model.save(bound, str(tmp_path / "b"), signatures=serve.get_concrete_function())


def test_keras_layers_belong_to_their_sequence_wherever_it_is_made() -> None:
    class InSetup(nn.Module):
        def setup(self) -> None:
            self.seq = nn.Sequential([keras.layers.Dense(3, name="head"), nn.Dense(2)])

        def __call__(self, x: Any) -> Any:
            return self.seq(x)

    class Inline(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            layers = [keras.layers.Dense(3, name="head"), keras.layers.Dense(2)]
            return nn.Sequential(layers)(x)

    for module, path in ((InSetup(), "seq"), (Inline(), "Sequential_0")):
        variables = module.init(nn.key(0), X)
        assert {*variables["params"][path]} == {"head", "dense"}
        bound = module.bind(variables)
        for call in (bound, bound, tf.function(bound)):
            tf.debugging.assert_near(call(X), module.apply(variables, X))
