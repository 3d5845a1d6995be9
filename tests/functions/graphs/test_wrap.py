"""TensorFlow 1.x code as functions.

RFC "Functions, not Sessions", section "Transitioning from 1.x".
"""

from __future__ import annotations

import gc
import weakref

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.graphs.wrap import WrapError
from nbfn.functions.recording.registry import live_functions
from tests.harness.messages import raises

SCALAR = tf.TensorSpec((), tf.float32)


def accumulate(x, do_add):
    v = tf.Variable(5.0)
    change = v.assign_add(x) if do_add else v.assign_sub(x)
    with tf.control_dependencies([change]):
        return v.read_value()


def test_difference_1_it_is_traced_only_once_and_again_for_each_wrapping() -> None:
    traced = []

    def body(x):
        traced.append(1)
        return x + 1.0

    f = nbfn.wrap_function(body, (tf.float32, [None]))
    for length in (1, 2, 3):
        assert f(tf.ones([length])).shape == (length,)
    assert len(traced) == 1
    nbfn.wrap_function(body, (tf.float32, [None]))
    assert len(traced) == 2


def test_difference_2_the_signature_is_complete_when_wrapping() -> None:
    with raises(WrapError):
        nbfn.wrap_function(accumulate, SCALAR)
    with raises(WrapError):
        nbfn.wrap_function(accumulate, SCALAR, True, 3)
    f = nbfn.wrap_function(accumulate, [SCALAR, True])
    assert float(f(x=1)) == 6.0
    with raises(WrapError):
        f(1.0, do_add=False)


def test_difference_3_collections_and_get_variable_local_to_one_trace() -> None:
    def body(x):
        with tf.compat.v1.variable_scope("layer"):
            w = tf.compat.v1.get_variable("w", [], initializer=tf.compat.v1.ones_initializer())
        tf.compat.v1.add_to_collection("mine", x)
        return x * w

    f = nbfn.wrap_function(body, SCALAR)
    again = nbfn.wrap_function(body, SCALAR)
    names = [v.name for v in f.graph.get_collection(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES)]
    assert names == ["layer/w:0"]
    assert len(f.graph.get_collection("mine")) == 1
    assert f.variables[0] is not again.variables[0]
    assert tf.compat.v1.get_collection("mine") == []


def test_difference_4_no_control_dependencies_are_added() -> None:
    outside = tf.Variable(0.0)

    def body(x):
        outside.assign(x)
        return x * 2.0

    assert float(nbfn.wrap_function(body, SCALAR)(3.0)) == 6.0
    assert float(outside) == 0.0
    assert float(nbfn.function(body)(tf.constant(3.0))) == 6.0
    assert float(outside) == 3.0


def test_difference_5_variables_are_initialised_by_functions_and_constants_not_tensors() -> None:
    def by_function(x):
        return x + tf.Variable(lambda: tf.ones([]) * 4.0)

    def by_constant(x):
        return x + tf.Variable(4.0)

    def by_tensor(x):
        return x + tf.Variable(x)

    assert float(nbfn.wrap_function(by_function, SCALAR)(1.0)) == 5.0
    assert float(nbfn.wrap_function(by_constant, SCALAR)(1.0)) == 5.0
    with pytest.raises(ValueError, match="could not be lifted"):
        nbfn.wrap_function(by_tensor, SCALAR)


def test_difference_6_created_variables_live_with_it_others_are_held_weakly() -> None:
    outside = [tf.Variable(2.0)]
    created = []

    def body(x):
        v = tf.Variable(3.0)
        created.append(weakref.ref(v))
        return x * v * outside[0]

    f = nbfn.wrap_function(body, SCALAR)
    gc.collect()
    assert float(f(1.0)) == 6.0
    assert created[0]() is f.variables[0]
    alive = weakref.ref(outside[0])
    outside.clear()
    gc.collect()
    assert alive() is None
    del f
    gc.collect()
    assert created[0]() is None


def test_it_is_observed() -> None:
    outside = tf.Variable(1.0, name="outside")
    f = nbfn.wrap_function(lambda x: x * tf.Variable(2.0, name="inside") + outside, SCALAR)
    assert (f.calls, f.hits, len(f.traces), len(f.retraces)) == (0, 0, 1, 0)
    f(1.0)
    f(2.0)
    (trace,) = f.traces
    assert (f.calls, f.hits, trace.hits) == (2, 2, 2)
    assert trace.signature == "x: float32[]"
    assert trace.run_seconds > 0
    assert [capture.kind for capture in f.captures] == ["variable", "variable"]
    assert {capture.name for capture in f.captures} == {"inside", "outside"}
    assert any(each is f for each in live_functions())
    assert trace.carve("x", "mul", prune=True)(3.0).numpy() == 6.0
    assert "2 calls, 1 variable" in repr(f)


def test_variables_have_the_names_that_the_code_gave() -> None:
    def body():
        with tf.name_scope("net"):
            return tf.Variable(1.0, name="w") + tf.Variable(2.0, name="w") + tf.Variable(3.0)

    session = nbfn.Session({"step": nbfn.wrap_function(body)})
    names = ["step/net/w", "step/net/w_1", "step/net/Variable"]
    assert list(session.variables) == names
    assert [float(session[name]) for name in names] == [1.0, 2.0, 3.0]


def test_structures_and_composite_tensors_in_any_place() -> None:
    def body(flag, batch, words, scale):
        total = batch["x"] + batch["y"][0] if flag else batch["x"]
        return {"total": total * scale, "lengths": words.row_lengths()}

    f = nbfn.wrap_function(
        body,
        [True, {"x": SCALAR, "y": [(tf.float32, [])]}, tf.RaggedTensorSpec([None, None]), SCALAR],
    )
    result = f({"x": 1.0, "y": [2.0]}, tf.ragged.constant([[1.0], [2.0, 3.0]]), scale=10.0)
    assert result["total"].numpy() == 30.0
    assert result["lengths"].numpy().tolist() == [1, 2]


def test_gradients_reach_its_variables() -> None:
    f = nbfn.wrap_function(
        lambda x: tf.Variable(1.0, trainable=False) + x * tf.Variable(3.0, name="weight"), SCALAR
    )
    with tf.GradientTape() as tape:
        y = f(2.0)
    assert len(f.variables) == 2
    (weight,) = f.trainable_variables
    assert (weight.name, tape.gradient(y, weight).numpy()) == ("weight:0", 2.0)


def test_it_is_saved_and_loaded_with_its_variables(tmp_path) -> None:
    f = nbfn.wrap_function(accumulate, SCALAR, True)
    f(1.0)
    checkpoint = tf.train.Checkpoint(f=f)
    path = checkpoint.save(str(tmp_path / "checkpoint"))
    f(1.0)
    checkpoint.restore(path)
    assert float(f(1.0)) == 7.0
    tf.saved_model.save(f, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert float(loaded(tf.constant(1.0))) == 8.0
    assert float(f(1.0)) == 8.0


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="none"),
        pytest.param((1.0, 2.0), id="too many"),
        pytest.param(("text",), id="text"),
        pytest.param(([1.0, 2.0],), id="shape"),
    ],
)
def test_a_wrong_call_names_what_is_wrong(arguments) -> None:
    f = nbfn.wrap_function(accumulate, SCALAR, True)
    with raises(WrapError):
        f(*arguments)
    assert f.calls == 0


def test_a_wrong_structure_and_a_changed_value_are_named() -> None:
    f = nbfn.wrap_function(lambda pair: pair["x"] * pair["factor"], [{"x": SCALAR, "factor": 3.0}])
    assert float(f({"x": 2.0, "factor": 3.0})) == 6.0
    with raises(WrapError):
        f({"x": 2.0, "factor": 4.0})
    with raises(WrapError):
        f([1.0])
    with raises(WrapError):
        nbfn.wrap_function(3, SCALAR)


def test_an_operation_that_is_returned_runs_and_gives_none() -> None:
    v1 = tf.compat.v1

    def train(x):
        w = v1.get_variable("w", [], initializer=v1.ones_initializer())
        return v1.train.GradientDescentOptimizer(0.5).minimize(w * x), {"loss": w * x}

    wrapped = nbfn.wrap_function(train, (tf.float32, []))
    for left in (0.5, 0.0):
        result, losses = wrapped(1.0)
        assert result is None
        assert wrapped.variables[0].numpy() == left
    assert losses["loss"].dtype == tf.float32


@pytest.mark.parametrize(
    "make", [tf.lookup.StaticHashTable, tf.compat.v1.lookup.StaticHashTable], ids=["v2", "v1"]
)
def test_tables_have_their_values(make) -> None:
    def look_up(keys, values):
        fixed = make(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 2.0]), -1.0)
        given = make(tf.lookup.KeyValueTensorInitializer(["a", "b"], values), -1.0)
        with tf.control_dependencies([tf.compat.v1.tables_initializer()]):
            return fixed.lookup(keys), given.lookup(keys)

    f = nbfn.wrap_function(look_up, [(tf.string, [None]), (tf.float32, [2])])
    gc.collect()
    for _ in range(2):
        fixed, given = f(["b", "c"], [3.0, 4.0])
        assert (fixed.numpy().tolist(), given.numpy().tolist()) == ([2.0, -1.0], [4.0, -1.0])


def test_it_does_not_keep_the_python_function_alive() -> None:
    def body(x):
        return x + 1.0

    alive = weakref.ref(body)
    f = nbfn.wrap_function(body, SCALAR)
    del body
    gc.collect()
    assert alive() is None
    assert f.python_function is None
    assert float(f(1.0)) == 2.0
