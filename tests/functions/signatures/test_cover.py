"""`suggest` and `relax`: the least general signature that covers the traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import attrs
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.signatures.cover import RelaxError
from nbfn.text import numbered
from tests.harness.messages import raises


def test_only_what_differed_becomes_open() -> None:
    f = nbfn.function(lambda x, y: tf.reduce_sum(x) + tf.reduce_sum(y))
    f(tf.ones([64, 8]), tf.ones([3]))
    f(tf.ones([37, 8]), tf.ones([3]))
    assert str(f.suggest()) == (
        "(tf.TensorSpec((None, 8), tf.float32), tf.TensorSpec((3,), tf.float32))"
    )


def test_the_text_of_a_suggestion_is_a_signature() -> None:
    class Settings:
        factor = 2.0

    def scaled(x, by, settings, flags, *, bias=0.0):
        return sum(x) * by * settings.factor + bias if flags["on"] else x

    def double(x):
        return 2.0 * x

    settings = Settings()
    for function, rest in ((scaled, (3, settings, {"on": True})), (double, ())):
        f = nbfn.function(function)
        for size in (2, 3):
            x = tf.ones([size]) if function is double else [tf.ones([size])]
            f(x, *rest)
        signature = eval(str(f.suggest()), {"tf": tf, "nbfn": nbfn})
        declared = nbfn.function(function, input_signature=signature)
        x = tf.ones([5]) if function is double else [tf.ones([5])]
        assert declared(x, *rest).numpy().tolist() == f(x, *rest).numpy().tolist()


class Pair(NamedTuple):
    x: Any
    y: Any


@attrs.define
class Both:
    x: Any


class Masked(tf.experimental.ExtensionType):
    value: tf.Tensor


def _sizes(make: Callable[[Any], Any]) -> list[Any]:
    return [make(tf.ones([size])) for size in (2, 3)]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(_sizes(lambda x: tf.RaggedTensor.from_tensor(x[None])), id="ragged"),
        pytest.param(_sizes(tf.sparse.from_dense), id="sparse"),
        pytest.param(_sizes(lambda x: tf.IndexedSlices(x, tf.range(x.shape[0]))), id="slices"),
        pytest.param(_sizes(tf.data.Dataset.from_tensors), id="dataset"),
        pytest.param(_sizes(tf.Variable), id="variable"),
        pytest.param(_sizes(lambda x: Pair(x, 3)), id="named tuple"),
        pytest.param(_sizes(Both), id="attrs"),
        pytest.param(_sizes(Masked), id="extension type"),
    ],
)
def test_the_text_names_public_classes(values: list[Any]) -> None:
    f = nbfn.function(lambda x: type(x) is type(values[0]))
    for value in values:
        f(value)
    names = {"tf": tf, "nbfn": nbfn, "Pair": Pair, "Both": Both, "Masked": Masked}
    signature = eval(str(f.suggest()), names)
    declared = nbfn.function(lambda x: 1, input_signature=signature)
    assert [int(declared(value)) for value in values] == [1, 1]


def test_ranks_are_covered_by_an_unknown_rank() -> None:
    f = nbfn.function(lambda x: tf.reduce_sum(x))
    f(tf.ones([2]))
    f(tf.ones([2, 3]))
    trace = f.relax()
    assert trace.key.leaves["x"].shape is None
    assert f(tf.ones([1, 1, 1])).numpy() == 1.0
    assert len(f.traces) == 1


def test_nested_arguments_and_python_values_stay() -> None:
    f = nbfn.function(lambda batch, mode: tf.reduce_sum(batch["x"][0]))
    f({"x": [tf.ones([2])]}, "train")
    f({"x": [tf.ones([3])]}, "train")
    f({"x": [tf.ones([3])]}, "test")
    f({"x": [tf.ones([4])]}, "test")
    trace = f.relax()
    assert trace.signature == "batch['x'][0]: float32[None], mode: str 'test'"
    assert [each.number for each in f.traces] == [1, 2, 5]
    f({"x": [tf.ones([9])]}, "test")
    assert trace.hits == 1


def test_relaxing_what_does_not_differ_changes_nothing() -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([2]))
    assert f.relax() is f.traces[0]
    assert len(f.traces) == 1


def test_methods_relax() -> None:
    class Model(tf.Module):
        @nbfn.function
        def step(self, x):
            return tf.reduce_sum(x)

    model = Model()
    model.step(tf.ones([2]))
    model.step(tf.ones([3]))
    model.step.relax()
    assert model.step(tf.ones([4])).numpy() == 4.0
    assert len(model.step.traces) == 1


def test_ragged_tensors_relax() -> None:
    f = nbfn.function(lambda x: tf.reduce_sum(x))
    f(tf.ragged.constant([[1.0], [2.0, 3.0]]))
    f(tf.ragged.constant([[1.0], [2.0, 3.0], []]))
    f.relax()
    assert f(tf.ragged.constant([[4.0]])).numpy() == 4.0
    assert len(f.retraces) == 1


@pytest.mark.parametrize("declared", [False, True])
def test_a_newer_trace_that_differs_otherwise_does_not_prevent_it(declared: bool) -> None:
    any_value = nbfn.TRACE_ON_NEW_VALUE
    signature = [any_value, nbfn.PYTHON_VALUE] if declared else None

    @nbfn.function(input_signature=signature)
    def scale(x, training):
        return 2.0 * x if training else x

    for training in (True, False):
        for size in (2, 3):
            scale(tf.ones([size]), training)
    scale(tf.ones([2, 2]), None)
    assert scale.suggest().args[1] is False
    assert [scale.relax().key.leaves["training"].value for _ in range(2)] == [False, True]
    traces = len(scale.traces)
    for training in (True, False):
        assert scale(tf.ones([7]), training).shape == 7
    assert len(scale.traces) == traces == 3


def test_without_a_trace_there_is_nothing_to_relax() -> None:
    f = nbfn.function(lambda x: x)
    with raises(RelaxError):
        f.relax()


def test_results_keep_their_structure() -> None:
    f = nbfn.function(lambda x, n: [x] * n)
    for n in (2, 3):
        f(tf.ones([2]), n)
    with raises(RelaxError):
        f.relax()
    assert len(f(tf.ones([2]), 4)) == 4
    assert len(f.traces) == 3


def test_a_body_that_needs_static_shapes_keeps_its_traces() -> None:
    f = nbfn.function(lambda x: tf.ones([x.shape[0] * 2]))
    f(tf.ones([2]))
    f(tf.ones([3]))
    with raises(RelaxError):
        f.relax()
    assert [trace.number for trace in f.traces] == [1, 2]
    assert f(tf.ones([2])).shape == [4]


@pytest.mark.parametrize("data", [tf.ones([3], tf.float64), tf.ones([3], tf.int64)])
def test_numbers_take_the_dtype_that_the_code_needs(data: tf.Tensor) -> None:
    f = nbfn.function(lambda x, by: x * by)
    f(data, 2)
    f(data, 3)
    f.relax()
    for by in (2, 3, 7):
        assert f(data, by).dtype == data.dtype
        assert f(data, by).numpy().tolist() == [by] * 3
    assert len(f.traces) == 1


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
def test_what_relax_answers_is_one_line_until_the_trace_has_served() -> None:
    from nbfn.views.bundle import bundle_of

    f = nbfn.function(lambda x: tf.reduce_sum(x))
    for length in range(1, 13):
        f(tf.ones([length]))
    shown = bundle_of(f.relax())
    assert shown["text/plain"] == (
        "trace 13 (x: float32[None]): relaxed, in place of traces 1 to 12"
    )
    assert len(shown["text/html"]) < 200
    f(tf.ones([40]))
    assert "Sum" in bundle_of(f.traces[-1])["text/plain"]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([3], "trace 3"),
        ([4, 3], "traces 3 and 4"),
        ([1, 2, 3], "traces 1 to 3"),
        ([1, 3, 13, 14, 15, 16, 20, 21], "traces 1, 3, 13 to 16, 20 and 21"),
    ],
)
def test_numbers_that_follow_each_other_are_a_range(numbers: list[int], text: str) -> None:
    assert numbered("trace", numbers) == text
