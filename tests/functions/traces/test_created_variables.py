"""Variables that a function creates: on the first trace only, and alive while it needs them."""

from __future__ import annotations

import gc
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.traces.created_variables import DeadStateError, LateVariableError
from tests.harness.messages import raises


def test_a_later_creation_names_both_places() -> None:
    made: list[Any] = []

    @nbfn.function
    def f(x: Any) -> Any:
        if len(made) < 1:
            made.append(tf.Variable(1.0, name="early"))
        if x.shape[0] == 2:
            made.append(tf.Variable(2.0, name="late"))
        return x * made[0]

    first = f.python_function.__code__.co_firstlineno
    f(tf.ones([1]))
    with raises(LateVariableError) as caught:
        f(tf.ones([2]))
    for variable, line in (("late", first + 5), ("early", first + 3)):
        assert f"`{variable}` at {Path(__file__).name}, line {line}" in str(caught.value)
    assert f(tf.ones([1])).numpy().tolist() == [1.0]


@pytest.mark.parametrize("tape", [nullcontext, tf.GradientTape])
def test_a_variable_that_died_is_an_error_and_not_an_old_value(tape: Any) -> None:
    holder = {"v": tf.Variable(1.0)}

    @nbfn.function(on_stale="ignore")
    def f(x: Any) -> Any:
        return x + holder["v"]

    x = tf.constant(1.0)
    for _ in range(3):
        f(x)
    holder.clear()
    gc.collect()
    with raises(DeadStateError), tape():
        f(x)


def test_a_variable_that_is_replaced_is_traced_again_and_no_error() -> None:
    v = tf.Variable(1.0)
    f = nbfn.function(lambda x: x + v)
    assert [float(f(tf.constant(1.0))) for _ in range(2)] == [2.0, 2.0]
    v = tf.Variable(5.0)
    gc.collect()
    assert [float(f(tf.constant(1.0))) for _ in range(2)] == [6.0, 6.0]


def _new() -> tuple[Any, Any]:
    model = keras.Sequential([keras.layers.Input([3]), keras.layers.Dense(1)])
    return model, keras.optimizers.Adam(0.1)


BUILD = r"`optimizer\.build\(model\.trainable_variables\)`$"
KERAS = tuple(map(int, keras.__version__.split(".")[:2]))
# Keras 3.16 notes the weight decay of each variable in the optimizer before it creates slots: the
# next call is made in another state, whose first trace may create them.
REFUSALS = 1 if KERAS >= (3, 16) else 2


def test_slots_of_an_optimizer_are_made_by_what_is_reported() -> None:
    (model_1, opt_1), (model_2, opt_2) = _new(), _new()

    @nbfn.function
    def step(x: Any, first: bool) -> None:
        model, opt = (model_1, opt_1) if first else (model_2, opt_2)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        variables = model.trainable_variables
        opt.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    step(tf.ones([4, 3]), True)
    for _ in range(REFUSALS):
        with pytest.raises(LateVariableError, match=BUILD):
            step(tf.ones([4, 3]), False)
    opt_2.build(model_2.trainable_variables)
    before = model_2.get_weights()[0]
    step(tf.ones([4, 3]), False)
    assert (model_2.get_weights()[0] != before).all()


def test_slots_in_a_branch_that_the_first_call_did_not_take() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.model, self.opt = _new()

        @nbfn.function
        def step(self, x: Any, train: bool) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.model(x) ** 2)
            variables = self.model.trainable_variables
            if train:
                self.opt.apply(tape.gradient(loss, variables), variables)
            return loss

    trainer = Trainer()
    trainer.step(tf.ones([4, 3]), False)
    with pytest.raises(LateVariableError, match=BUILD):
        trainer.step(tf.ones([4, 3]), True)
    trainer = Trainer()
    trainer.opt.build(trainer.model.trainable_variables)
    trainer.step(tf.ones([4, 3]), False)
    trainer.step(tf.ones([4, 3]), True)


def test_a_layer_that_is_built_late_is_called_once_before() -> None:
    class Outer(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.inner = keras.layers.Dense(2)

        def call(self, x: Any) -> Any:
            return self.inner(x)

    model = Outer()
    f = nbfn.function(lambda x, deep: model(x) if deep else x)
    f(tf.ones([1, 3]), False)
    with raises(LateVariableError):
        f(tf.ones([1, 3]), True)
    model = Outer()
    model(tf.ones([1, 3]))
    f(tf.ones([1, 3]), False)
    assert f(tf.ones([1, 3]), True).shape == [1, 2]


@pytest.mark.parametrize("request_name", ["get_concrete_function", "graph_function"])
def test_a_request_that_fails_leaves_the_first_trace_to_the_next_call(request_name: str) -> None:
    made: list[Any] = []

    @nbfn.function
    def f(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(tf.ones([2])))
        return x @ made[0][:, None]

    with pytest.raises(ValueError, match="must be equal"):
        getattr(f, request_name)(tf.TensorSpec([2, 3]))
    made.clear()
    assert f(tf.ones([1, 2])).numpy().tolist() == [[2.0]]


@pytest.mark.parametrize("request_name", ["get_concrete_function", "graph_function", "run"])
def test_a_second_request_finds_the_trace_of_the_first(request_name: str) -> None:
    made: list[Any] = []

    @nbfn.function
    def f(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(2.0))
        return x * made[0]

    x = tf.constant(1.0)
    for _ in range(2):
        getattr(f, request_name)(x)
    assert float(f(x)) == 2.0
    assert (len(f.traces), f.hits) == (2, 1)


def test_the_trace_around_a_function_that_creates_variables_is_kept() -> None:
    # TensorFlow traces the inner function again and the outer one once: the numbers go on.
    class Model:
        v = None

        def __call__(self, x: Any) -> Any:
            if self.v is None:
                self.v = tf.Variable(1.0)
            return x * self.v * tf.random.normal([])

    drawn = []
    for function in (tf.function, nbfn.function):
        tf.random.set_seed(42)
        model = Model()
        inner = function(model.__call__)
        outer = function(lambda x, inner=inner: inner(x))
        drawn.append([float(outer(tf.constant(1.0))) for _ in range(3)])
        assert outer.experimental_get_tracing_count() == 1
    assert drawn[0] == drawn[1]
