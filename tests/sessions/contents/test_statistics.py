"""The values of variables: as numpy computes them, and how they have changed."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import tensorflow as tf

from nbfn.sessions.contents import statistics
from nbfn.sessions.contents.statistics import statistics_of
from nbfn.sessions.session import Session, SessionKeyError
from nbfn.views.bundle import bundle_of
from tests.harness.messages import raises


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "bool"])
def test_they_are_what_numpy_computes(dtype: str) -> None:
    values = np.random.default_rng(0).integers(0, 2, [50, 3])
    (found,) = statistics_of([("w", tf.Variable(tf.cast(values, dtype)))])
    assert (found.shape, found.dtype) == ((50, 3), dtype)
    assert found.mean == pytest.approx(values.mean())
    assert found.deviation == pytest.approx(values.std())
    assert (found.minimum, found.maximum) == (0, 1)
    assert sum(found.histogram) == 150
    assert (found.histogram[0], found.histogram[-1]) == ((values == 0).sum(), (values == 1).sum())


def test_values_that_are_not_finite_are_counted_and_left_out() -> None:
    (found,) = statistics_of([("w", tf.Variable([1.0, float("nan"), 3.0, float("inf")]))])
    assert (found.not_finite, found.mean, found.maximum) == (2, 2.0, 3.0)
    (found,) = statistics_of([("w", tf.Variable([float("nan")]))])
    assert (found.not_finite, found.mean, found.histogram) == (1, None, ())


def test_the_change_is_from_the_last_look() -> None:
    variable = tf.Variable([3.0, 4.0])
    assert statistics_of([("w", variable)])[0].change is None
    assert statistics_of([("w", variable)])[0].change == 0
    variable.assign([3.0, 4.5])
    (found,) = statistics_of([("w", variable)])
    assert found.change == pytest.approx(0.1)
    assert statistics_of([("w", variable)])[0].change == 0
    assert statistics_of([("w", tf.Variable([3.0, 4.0]))])[0].change is None


def test_looking_keeps_no_variable_and_few_copies(monkeypatch) -> None:
    monkeypatch.setattr(statistics, "MAX_COPIED", 3)
    variables = [tf.Variable([float(n)]) for n in range(5)]
    statistics_of((str(n), each) for n, each in enumerate(variables))
    assert len(statistics._copies) == 3
    reference = __import__("weakref").ref(variables[-1])
    variables.clear()
    gc.collect()
    assert reference() is None
    assert len(statistics._copies) == 0


@pytest.mark.parametrize("value", [tf.Variable("text"), tf.Variable(tf.zeros([0]))])
def test_what_has_no_numbers_is_listed_without(value) -> None:
    (found,) = statistics_of([("w", value)])
    assert (found.mean, found.histogram, found.bars) == (None, (), "")


def test_a_session_looks_below_a_path() -> None:
    model = {"hidden": {"kernel": tf.Variable([1.0]), "bias": tf.Variable([2.0])}}
    session = Session({"model": model, "rate": tf.Variable(0.5), "text": "no"})
    assert [each.name for each in session.statistics()] == [
        "model/hidden/kernel",
        "model/hidden/bias",
        "rate",
    ]
    assert [each.name for each in session.statistics("model/hidden")] == [
        "model/hidden/kernel",
        "model/hidden/bias",
    ]
    assert [each.name for each in session.statistics("rate")] == ["rate"]
    both = Session({"hidden": model["hidden"], "model": model})
    assert [each.name for each in both.statistics("model/hidden/bias")] == ["hidden/bias"]
    with raises(SessionKeyError):
        session.statistics("model/out")
    with raises(SessionKeyError):
        session.statistics("text")


def test_they_are_shown_as_a_table() -> None:
    variable = tf.Variable([0.0, 1.0, 1.0, 1.0])
    found = statistics_of([("model/kernel", variable)])
    shown = bundle_of(found)
    assert repr(found) == shown["text/plain"]
    for text in shown.values():
        assert "model/kernel" in text
        assert "0.75 ± 0.433" in text
        assert "▄▁▁▁▁▁▁▁▁▁▁█" in text


def test_a_variable_of_another_size_has_no_change() -> None:
    variable = tf.Variable([1.0], shape=[None])
    statistics_of([("w", variable)])
    variable.assign([1.0, 2.0])
    assert statistics_of([("w", variable)])[0].change is None
    assert statistics_of([("w", variable)])[0].change == 0
