"""What `relax` makes serves from then on: beside objects, other dtypes, and changed state."""

from __future__ import annotations

import gc
import linecache
import re
import weakref
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.signatures.cover import RelaxError
from tests.harness.messages import raises


class Settings:
    def __init__(self, rate: float) -> None:
        self.rate = rate


def test_an_object_among_the_arguments_keys_traces_of_its_own() -> None:
    @nbfn.function
    def step(x: Any, by: Any, settings: Any) -> Any:
        return x * by * settings.rate

    one, other = Settings(2.0), Settings(3.0)
    for settings in (one, other):
        for by in (0.5, 1.5):
            step(tf.ones([2]), by, settings)
    step.relax()
    assert step.traces[-1].signature.startswith("x: float32[2], by: float32[]")
    made = len(step.retraces)
    assert step(tf.ones([2]), 7.5, other).numpy().tolist() == [22.5, 22.5]
    assert len(step.retraces) == made
    step(tf.ones([2]), 0.25, one)  # the first number of `one` as a tensor
    assert step(tf.ones([2]), 8.5, one).numpy().tolist() == [17.0, 17.0]
    assert len(step.retraces) == made + 1


def test_a_relaxed_signature_keeps_no_object_alive() -> None:
    step = nbfn.function(lambda x, settings: x * settings.rate)
    mine = Settings(2.0)
    for n in (1, 2):
        step(tf.ones([n]), mine)
    step.relax()
    gone = weakref.ref(mine)
    del mine
    gc.collect()
    assert gone() is None
    assert "a Settings" in repr(step.relaxed)
    yours = Settings(3.0)
    for n in (1, 2):
        step(tf.ones([n]), yours)
    step.relax()
    assert len(step.relaxed) == 1


def test_a_model_among_the_arguments() -> None:
    model = keras.Sequential([keras.layers.Input([3]), keras.layers.Dense(1)])

    @nbfn.function
    def step(x: Any, rate: Any, parts: Any) -> Any:
        return parts["model"](x) * rate

    for i in range(4):
        step(tf.ones([2, 3]), i * 0.1, {"model": model, "names": ["a"]})
    exec(step.retraces[-1].remedy.code, {"step": step})
    assert len(step.traces) == 1
    made = len(step.retraces)
    step(tf.ones([2, 3]), rate=0.7, parts={"model": model, "names": ["a"]})
    assert len(step.retraces) == made


def test_another_dtype_runs_as_before() -> None:
    mean = nbfn.function(lambda x, scale=1.0: tf.reduce_mean(x, 0) * scale)
    mean.known_as = "mean"
    for scale in (0.1, 0.2):
        mean(tf.ones([3, 2]), scale)
    mean(tf.ones([4, 2]), 0.3)
    mean.relax()
    reported = mean.explain(np.ones([5, 2]), 0.5)
    assert [cause.code for cause in reported.causes] == ["dtype"]
    assert "relax" not in str(reported)
    assert mean(np.ones([5, 2]), 0.5).dtype == tf.float64
    assert [cause.code for cause in mean.retraces[-1].causes] == ["dtype"]
    hits = mean.hits
    mean(tf.ones([9, 2]), 0.75)
    assert mean.hits == hits + 1
    # A number that no float32 holds is another kind of argument, and is reported as one.
    assert [c.code for c in mean.explain(tf.ones([3, 2]), 2**40 + 1).causes] == ["python_type"]


def test_whole_numbers_and_then_others() -> None:
    power = nbfn.function(lambda x, n: x * tf.cast(n, tf.float32))
    for n in (1, 2):
        power(tf.ones([2]), n)
    power.relax()
    power(tf.ones([2]), 0.5)
    power.relax()
    made = len(power.retraces)
    for n in (3, 4, 1.5, 2.5):
        assert power(tf.ones([2]), n)[0] == n
    assert len(power.retraces) == made


def test_values_that_the_signature_declares_are_not_relaxed() -> None:
    double = nbfn.function(
        lambda x, n: x * n, input_signature=[(nbfn.TRACE_ON_NEW_VALUE, None), nbfn.PYTHON_VALUE]
    )
    for n in (2.0, 3.0):
        double(tf.ones([2]), n)
    assert double.retraces[-1].remedy is None
    with raises(RelaxError):
        double.relax()
    assert double(tf.ones([2]), 4.0)[0] == 4.0


def test_traces_that_differ_in_state_only_are_not_relaxed() -> None:
    space: dict[str, Any] = {"nbfn": nbfn, "rate": 0.5, "__name__": "__main__"}
    exec("f = nbfn.function(lambda x: x * rate)", space)
    f = space["f"]
    for space["rate"] in (0.25, 0.125):
        f(tf.ones([2]))
    with raises(RelaxError):
        f.relax()
    assert len(f.traces) == 2


def test_a_changed_value_keeps_the_signature() -> None:
    space: dict[str, Any] = {"tf": tf, "nbfn": nbfn, "rate": 0.5, "__name__": "__main__"}
    exec("f = nbfn.function(lambda x, n=1: x * rate * n)", space)
    f = space["f"]
    for n in (1, 2):
        f(tf.ones([n]), n)
    f.relax()
    for rate in (0.25, 0.125):
        made = len(f.retraces)
        space["rate"] = rate
        for size in (4, 5, 6):
            assert f(tf.ones([size]), size).numpy().tolist() == [rate * size] * size
            assert f(tf.ones([size])).numpy().tolist() == [rate] * size
        assert len(f.retraces) == made + 1
        assert [cause.code for cause in f.retraces[-1].causes] == ["stale"]
        assert f.traces[-1].signature == "x: float32[None], n: float32[]"
    space["rate"] = 0.25
    made = len(f.traces)
    f(tf.ones([7]))
    assert len(f.traces) == made


@pytest.mark.parametrize("name", [None, "images"])
def test_what_is_declared_is_renewed_as_it_was_declared(name: str | None) -> None:
    space: dict[str, Any] = {"rate": 0.5, "__name__": "__main__"}
    exec("def scaled(x): return x * rate", space)
    spec = tf.TensorSpec([None, 2], name=name)
    f = nbfn.function(space["scaled"], input_signature=[spec], autograph=False)
    f(tf.ones([1, 2]))
    space["rate"] = 0.25
    (made,) = f.renew()
    assert made.signature == "x: float32[None, 2]"
    assert f(tf.ones([1, 2])).numpy().tolist() == [[0.25, 0.25]]
    assert f.hits == 1


def test_numbers_stay_numbers_for_another_flag() -> None:
    f, x = nbfn.function(lambda x, n, scales=False: x * n if scales else x), tf.ones([2])
    for n in (1, 2):
        f(x, n)
    f.relax()
    assert f(x, 3, scales=True).numpy().tolist() == [3.0, 3.0]
    f(x, 4, scales=True)
    f.relax()
    assert f(x, 5, scales=True).numpy().tolist() == [5.0, 5.0]
    assert f(x, 5).numpy().tolist() == [1.0, 1.0]
    assert f.hits == 2
    assert len(f.traces) == 2


def test_what_has_been_traced_again_is_not_renewed_again() -> None:
    space: dict[str, Any] = {"rate": 1.0, "__name__": "__main__"}
    exec("def scaled(x): return x * rate", space)
    f, x = nbfn.function(space["scaled"]), tf.constant(1.0)
    for rate in (1.0, 2.0, 3.0):
        space["rate"] = rate
        f(x)
    assert f.renew() == ()
    assert [trace.number for trace in f.traces] == [3]
    space["rate"] = 4.0
    f(x)
    space["rate"] = 5.0
    (made,) = f.renew()
    assert f.traces == (made,)
    assert float(f(x)) == 5.0
    assert (made.hits, f.calls) == (1, 5)


SIZES = ("len(x)", "x.shape[0]", "x.shape[-1]")
CODES = (
    "tf.reduce_sum(x) / {}",
    "tf.reduce_sum(x) * {}",
    "{} - tf.reduce_mean(x)",
    "tf.reduce_sum(x) ** {}",
    "tf.reshape(x, [{} // 2, 2])",
    "tf.zeros([{} * 2]) + 1",
    "[tf.range({}), tf.ones([{}, k + 1])]",
)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("code", CODES)
def test_what_is_reported_of_a_size_works_when_it_is_written(code: str, size: str) -> None:
    text = f"@nbfn.function\ndef f(x, k=1):\n    return {code.replace('{}', size)}\n"

    def defined(text: str) -> Any:
        space: dict[str, Any] = {"tf": tf, "nbfn": nbfn, "__name__": "__main__"}
        file = f"cell {text}"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), space)
        return space["f"]

    f = defined(text)
    expected = [f(tf.ones([n])) for n in (2, 4)]
    try:
        f.relax()
    except nbfn.NbfnError as error:
        reported = re.search(r"Write (.*) in place of `(.*)`, which is not known", str(error))
        assert reported is not None, str(error)  # noqa: PT017
        text = text.replace(reported[2], reported[1])
        f = defined(text)
        [f(tf.ones([n])) for n in (2, 4)]
        f.relax()
    assert len(f.traces) == 1
    for n, value in zip((2, 4), expected, strict=True):
        tf.nest.map_structure(np.testing.assert_allclose, f(tf.ones([n])), value)


def test_numbers_are_relaxed_again_where_they_are_float64() -> None:
    f = nbfn.function(lambda x, n: x * n)
    x = tf.ones([2], tf.float64)
    f(x, 1), f(x, 2)
    f.relax()
    f(tf.ones([3], tf.float64), 3)
    f.relax()
    assert f(tf.ones([4], tf.float64), 5).numpy().tolist() == [5.0] * 4
    assert len(f.traces) == 1


def test_a_run_uses_the_relaxed_trace() -> None:
    f = nbfn.function(lambda x, n: x * n)
    f(tf.ones([2]), 1.0), f(tf.ones([2]), 2.0)
    f.relax()
    assert f.run(tf.ones([2]), 3.0).value.numpy().tolist() == [3.0, 3.0]
    assert len(f.traces) == 1


def test_traces_on_request_that_differ_in_state_alone_are_said_to() -> None:
    rate = 1.0
    f = nbfn.function(lambda x: x * rate)
    for rate in (1.0, 2.0):  # noqa: B007
        f.get_concrete_function(tf.ones([8]))
    with raises(RelaxError):
        f.relax()
