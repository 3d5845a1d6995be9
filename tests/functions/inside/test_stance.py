"""The stance ``"check_numerics"``: what is computed stops where a number stops being finite."""

from __future__ import annotations

import gc

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.inside import stopping
from tests.functions.inside import planted
from tests.functions.inside.planted import line_of, numbers
from tests.harness.messages import raises

BLOCK = "check_numerics"
inputs = np.linspace(0, 1, 32, dtype=np.float32).reshape(16, 2)


@pytest.fixture(scope="module", autouse=True)
def helpers_are_traced():
    planted.trace_helpers()


def test_a_call_stops_with_the_line() -> None:
    function = nbfn.function(planted.calls_traced_helper)
    function(numbers)
    for _ in range(2):
        with pytest.raises(nbfn.NumericsError) as raised, nbfn.stance(BLOCK):
            function(numbers)
        assert raised.value.finding.site.line == line_of(planted.traced_helper)
    assert np.isnan(function(numbers).numpy()).any()
    assert (function.calls, len(function.traces)) == (2, 1)


def test_what_is_sound_goes_on() -> None:
    total = tf.Variable(0.0)

    @nbfn.function
    def step(x):
        total.assign_add(tf.reduce_sum(x))
        return total / tf.reduce_sum(x)

    with nbfn.stance(BLOCK):
        assert [step(numbers).numpy() for _ in range(2)] == [1.0, 2.0]
        with pytest.raises(nbfn.NumericsError):
            step(numbers * 0.0)
    assert total.numpy() == 14.0


def test_a_function_of_its_own_stance() -> None:
    function = nbfn.function(planted.third_turn)
    function.stance = BLOCK
    for _ in range(2):
        with raises(nbfn.NumericsError):
            function(numbers)
    function.stance = None
    assert np.isinf(function(numbers).numpy()).all()
    with nbfn.stance(BLOCK, function):
        assert np.isinf(tf.math.log(0.0).numpy())
        with pytest.raises(nbfn.NumericsError):
            function(numbers)


def test_eager_code_stops_too() -> None:
    zero = tf.constant(0.0)
    with raises(nbfn.NumericsError), nbfn.stance(BLOCK):
        tf.math.log(zero)
    assert np.isinf(tf.math.log(zero).numpy())


def test_eager_code_that_is_sound_goes_on() -> None:
    with nbfn.stance(BLOCK):
        assert keras.layers.Dense(2)(tf.ones([1, 3])).shape == [1, 2]
        assert tf.strings.join(["a", "b"]).numpy() == b"ab"


@pytest.mark.parametrize("jit_compile", [False, True])
def test_keras_fit_stops_at_the_step(jit_compile) -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=jit_compile)
    targets = np.ones((16, 1), np.float32)
    model.fit(inputs, targets, batch_size=4, verbose=0, shuffle=False)
    trained = model.train_function
    targets[9] = 1e30
    losses = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: done.append(batch)
    )
    for _ in range(2):
        done = []
        with pytest.raises(nbfn.NumericsError, match=r"fit.*in `.*mse.*inf"), nbfn.stance(BLOCK):
            model.fit(inputs, targets, batch_size=4, verbose=0, shuffle=False, callbacks=[losses])
        assert done == [0, 1]
    assert all(np.isfinite(each.numpy()).all() for each in model.weights)
    assert model.train_function is trained
    model.fit(inputs, np.ones((16, 1), np.float32), batch_size=4, verbose=0)


def test_a_model_that_is_fitted_first_in_the_block() -> None:
    layer = keras.layers.Dense(1, activation=lambda x: tf.math.log(-1.0 - tf.abs(x)))
    model = keras.Sequential([keras.Input((2,)), layer])
    model.compile("sgd", "mse", jit_compile=True)
    with pytest.raises(nbfn.NumericsError, match=r"from -?\d"), nbfn.stance(BLOCK):
        model.fit(inputs - 9.0, inputs[:, :1], verbose=0)
    history = model.fit(inputs - 9.0, inputs[:, :1], verbose=0)
    assert np.isnan(history.history["loss"][0])


def test_everywhere_and_back() -> None:
    from nbfn.functions.recording.stance import set_stance

    set_stance(BLOCK)
    try:
        with pytest.raises(nbfn.NumericsError):
            nbfn.function(planted.square_root)(numbers)
    finally:
        set_stance("default")
    assert np.isnan(nbfn.function(planted.square_root)(numbers).numpy()).any()


def test_functions_with_the_stance_leave_nothing_of_their_traces() -> None:
    def origins() -> int:
        return len(stopping._here.stopper.checker._origins._in_graph)

    def used(rate: float) -> None:
        function = nbfn.function(lambda x: x * rate)
        function.stance = BLOCK
        function(tf.ones([2]))

    used(1.0)
    gc.collect()
    before = origins()
    for rate in range(5):
        used(float(rate))
    gc.collect()
    assert origins() <= before + 1


def test_a_call_that_traces_nothing_looks_for_no_functions(monkeypatch) -> None:
    function = nbfn.function(lambda x: tf.sqrt(x) * 2.0)
    function.stance = BLOCK
    function(tf.ones([2]))
    monkeypatch.setattr("nbfn._tensorflow.tracing.operation_callbacks._functions", pytest.fail)
    function(tf.ones([2]))
