"""`numerics`: the line where numbers stop being finite, and what was given there."""

from __future__ import annotations

import gc
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.checking.check import CheckError
from tests.functions.inside import planted
from tests.functions.inside.planted import ELSEWHERE, FORWARD, GRADIENTS, line_of, numbers
from tests.harness.messages import raises


@pytest.fixture(scope="module", autouse=True)
def helpers_are_traced():
    """Functions that are called were traced before."""
    planted.trace_helpers()


@pytest.mark.parametrize("fault", [*FORWARD, *GRADIENTS], ids=lambda each: each.__name__)
def test_the_line_is_found(fault) -> None:
    function = nbfn.function(fault)
    found = function.numerics(numbers)
    assert not found.ok
    first = found.findings[0]
    assert first.site.line == line_of(ELSEWHERE.get(fault, fault)), found
    assert first.origin.is_gradient == (fault in GRADIENTS), found
    assert not [note for note in found.notes if "traced before" in note]
    assert function.calls == 0
    assert not function.traces


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            planted.log_of_negative,
            "`tf.math.log(shifted)`: NaN (3 of 4 values, the first at [0]) "
            "from -2 in `shifted` (float32[4], -3 to 1)",
        ),
        (
            planted.third_turn,
            "`1.0 / (2.0 - tf.cast(i, tf.float32))`: inf, in execution 3 "
            "from 1, 0 in `2.0 - tf.cast(i, tf.float32)`",
        ),
        (
            planted.one_row,
            "`rows / norms`: NaN (2 of 8 values, the first at [2, 0]) "
            "from 0 in `rows` (float32[4, 2], 0 to 6), 0 in `norms` (float32[4, 1], 0 to 7.81)",
        ),
        (
            planted.after_assignment,
            "`x / scale`: NaN (1 of 4 values, the first at [2]) "
            "from 0 in `x` (float32[4], 0 to 4), 0 in `scale`",
        ),
        (
            planted.keras_loss,
            "`keras.losses.mean_squared_error(rows, rows * 1e+25)`, in `Square`: inf",
        ),
        (
            planted.gradient_of_root,
            "`tf.sqrt(x)`: inf (1 of 4 values, the first at [2]) from 0 in `roots`",
        ),
        (planted.data, "`x[0] / each`: inf, in execution 2 from 1 in `x[0]`, 0 in `each`"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_is_said_of_it(fault, said) -> None:
    assert said in repr(nbfn.function(fault).numerics(numbers))


def test_a_second_time_and_beside_real_calls() -> None:
    function = nbfn.function(planted.calls_observed_helper)
    function(numbers)
    helper = planted.traced[planted.observed_helper]
    before = helper.calls, helper.hits, len(helper.traces)
    first, second = function.numerics(numbers), function.numerics(numbers)
    assert repr(first) == repr(second)
    assert (helper.calls, helper.hits, len(helper.traces)) == before
    assert (function.calls, len(function.traces)) == (1, 1)
    assert planted.traced[planted.traced_helper].experimental_get_tracing_count() == 1
    function(numbers)
    assert function.hits == 1


def test_nothing_is_found_in_sound_code() -> None:
    found = nbfn.function(lambda x: tf.nn.softmax(tf.where(x > 1.0, x, -np.inf))).numerics(numbers)
    assert isinstance(found, nbfn.Numerics)
    assert found
    assert not found.findings
    assert "gives finite numbers everywhere" in repr(found)


def test_state_and_random_numbers_stay_as_they_were() -> None:
    total, seen = tf.Variable(0.0), []
    generator = tf.random.Generator.from_seed(3)
    state = generator.state.numpy()

    @nbfn.function
    def step(x):
        seen.append(1)
        total.assign_add(tf.reduce_sum(x))
        noise = generator.normal([4]) + tf.random.normal([4])
        return tf.math.log(total - total) + noise

    tf.random.set_seed(5)
    expected = tf.random.normal([2]).numpy()
    tf.random.set_seed(5)
    found = step.numerics(numbers)
    assert found.findings[0].value == "-inf"
    assert any("tf.random" in note for note in found.notes)
    assert total.numpy() == 0.0
    assert seen == []
    np.testing.assert_array_equal(generator.state.numpy(), state)
    np.testing.assert_array_equal(tf.random.normal([2]).numpy(), expected)


def test_an_error_in_the_middle() -> None:
    total = tf.Variable(1.0)

    @nbfn.function
    def step(x):
        logs = tf.math.log(x - 9.0)
        total.assign(7.0)
        return tf.gather(logs, tf.cast(x[1], tf.int32) + 10)

    found = step.numerics(numbers)
    assert found.findings[0].site.line is not None
    assert any("raised InvalidArgumentError" in note for note in found.notes)
    assert total.numpy() == 1.0


def test_arguments_that_are_not_finite() -> None:
    found = nbfn.function(lambda x: x * 2.0).numerics(tf.constant([1.0, np.nan]))
    assert found.ok
    assert found.notes == ("the argument `x` has 1 non-finite value",)


def test_compiled_functions_run_without_xla() -> None:
    function = nbfn.function(planted.log_of_negative, jit_compile=True)
    found = function.numerics(numbers)
    assert found.findings[0].site.line == line_of(planted.log_of_negative)
    assert any("without XLA" in note for note in found.notes)
    assert function._jit_compile


def test_methods_signatures_and_eager_variables() -> None:
    class Model:
        def __init__(self) -> None:
            self.weight = None

        @nbfn.function(input_signature=[tf.TensorSpec([None])])
        def step(self, x):
            if self.weight is None:
                self.weight = tf.Variable(0.0)
            return x / self.weight

    model = Model()
    assert model.step.numerics(numbers).findings[0].value == "NaN"
    assert model.step(numbers).shape == [4]


def test_arguments_must_fit() -> None:
    with pytest.raises(CheckError):
        nbfn.function(lambda x: x).numerics(1, 2)


def test_nothing_is_kept_alive() -> None:
    class Owner:
        pass

    owner = Owner()
    argument = tf.constant([0.0, 1.0])

    def step(x):
        return tf.math.log(x) if owner is not None else x

    function = nbfn.function(step)
    found = function.numerics(argument)
    references = [weakref.ref(each) for each in (owner, function, argument)]
    del function, argument, step
    owner = None
    gc.collect()
    assert [each() for each in references] == [None] * 3
    assert found.findings


def test_run_may_look_first() -> None:
    function = nbfn.function(planted.log_of_relu)
    run = function.run(numbers, numerics=True)
    assert run.numerics.findings[0].site.line == line_of(planted.log_of_relu)
    assert run.value.numpy() == -np.inf


def test_a_check_may_look_too() -> None:
    check = nbfn.function(planted.log_of_relu).check(numbers, numerics=True)
    assert check.ok
    assert repr(check).endswith(repr(check.numerics))
    assert check.numerics.findings
    assert nbfn.function(planted.log_of_relu).check(numbers).numerics is None


def test_a_watched_function_and_a_watched_model() -> None:
    watched = nbfn.watch(planted.traced[planted.traced_helper])
    found = watched.numerics(numbers)
    assert found.function == "traced_helper"
    assert found.findings[0].site.line == line_of(planted.traced_helper)

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    weights = [each.numpy() for each in model.variables]
    found = nbfn.watch(model).numerics(planted.rows, planted.rows[:, :1] * 1e30)
    assert "mse" in found.findings[0].origin.where
    assert "watched_object" not in str(found)
    for before, variable in zip(weights, model.variables, strict=True):
        np.testing.assert_array_equal(before, variable.numpy())
    assert nbfn.watch(model).numerics(planted.rows).ok


def test_where_tensorflow_does_not_say_which_operations_are_made(monkeypatch) -> None:
    monkeypatch.setattr(nbfn._tensorflow, "CAN_LISTEN", False)
    with raises(NotImplementedError):
        nbfn.function(planted.log_of_relu).numerics(numbers)


def test_a_function_that_cannot_be_traced_again_is_named(monkeypatch) -> None:
    monkeypatch.setattr("nbfn._tensorflow.tracing.operation_callbacks._functions", lambda but: [])
    found = nbfn.function(planted.calls_traced_helper).numerics(numbers)
    assert any("`traced_helper` was traced before" in note for note in found.notes)


def test_a_sum_that_overflows_is_of_finite_numbers() -> None:
    function = nbfn.function(lambda x: tf.square(x))
    assert function.numerics(tf.fill([10], 1e19)).ok


def test_an_operand_without_elements() -> None:
    found = nbfn.function(lambda x: tf.reduce_mean(x, 1, keepdims=True)).numerics(tf.zeros([2, 0]))
    assert [each.kind for each in found.findings] == ["nan"]
