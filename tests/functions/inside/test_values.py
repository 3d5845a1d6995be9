"""`values`: what the user's names and lines were, in the graph that ran."""

from __future__ import annotations

import cProfile

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.inside import values as values_module
from tests.functions.inside import planted
from tests.functions.inside.planted import numbers
from tests.harness.messages import raises


@pytest.fixture(scope="module", autouse=True)
def variables():
    """Variables of these tests: one that is older than a connection to servers is not written."""
    global total_of_all
    total_of_all = tf.Variable(0.0)


@nbfn.function
def inner(a):
    doubled = a * 2.0
    return doubled  # noqa: RET504


@nbfn.function
def step(x, scale=1.0):
    hidden = tf.nn.relu(x - 1.0)
    total = tf.zeros([])
    for i in tf.range(3):
        part = tf.reduce_sum(hidden) * tf.cast(i, tf.float32)
        total += part
    branch = total * scale
    if total > 0.0:
        branch = total / 2.0
    total_of_all.assign_add(total)
    z = inner(branch)
    logits = z + tf.math.log(total * 2.0 + 1.0)
    return logits  # noqa: RET504


FIRST = step.python_function.__code__.co_firstlineno


def lines(found):
    return {(each.name, each.site.line - FIRST) for each in found.all}


def test_a_name_that_the_call_has_not_is_named() -> None:
    found = step.values(numbers, "hidden", "hiden")
    assert (list(found), found.notes) == (
        ["hidden"],
        ("no tensor of the call has the name `hiden`",),
    )


def test_names_of_the_user_and_their_values() -> None:
    inner(1.0)
    for _ in range(2):
        found = step.values(numbers)
        assert {"hidden", "total", "part", "branch", "doubled", "z", "logits"} == set(found)
        np.testing.assert_array_equal(found["hidden"], [0.0, 3.0, 0.0, 1.0])
        assert found["part"] == 8.0
        assert [each.arrays for each in found.all if each.name == "part"] == [[0.0, 4.0, 8.0]]
        assert found["z"] == found["doubled"] == 12.0
        assert found["logits"] == step.python_function(numbers).numpy()
        assert {("hidden", 2), ("part", 5), ("branch", 9), ("z", 11)} <= lines(found)
        total_of_all.assign(0.0)
    assert step.calls == 0
    assert not step.traces


def test_names_and_lines_that_are_asked_for() -> None:
    assert set(step.values(numbers, "hidden")) == {"hidden"}
    assert set(step.values(numbers, 2.0, "hidden", "z")) == {"hidden", "z"}
    assert step.values(numbers, names=["x"])["x"].tolist() == numbers.numpy().tolist()
    found = step.values(numbers, line=FIRST + 12)
    assert found["total * 2.0"] == 24.0
    assert found["tf.math.log(total * 2.0 + 1.0)"] == np.log(np.float32(25.0))
    both = step.values(numbers, "hidden", line=FIRST + 5)
    assert {"hidden", "tf.reduce_sum(hidden)"} <= set(both)
    with raises(KeyError):
        step.values(numbers, names=["nope"])["nope"]
    assert total_of_all.numpy() == 0.0


def test_a_name_that_is_given_again() -> None:
    @nbfn.function
    def twice(x):
        y = x + 1.0
        y = y * 2.0
        return y  # noqa: RET504

    found = twice.values(numbers, "y")
    assert [each.extent.values for each in found.all] == ["2, 5, 1, 3", "4, 10, 2, 6"]


def test_names_in_a_loop_have_the_value_of_each_turn() -> None:
    @nbfn.function
    def looped(x):
        y = x + 1.0
        for _ in tf.range(3):
            y = y * 2.0
            z = y + 1.0
        return z

    first = looped.python_function.__code__.co_firstlineno
    found = looped.values(tf.ones([]), "y", "z")
    assert [
        (each.name, each.site.line - first, [float(array) for array in each.arrays])
        for each in found.all
    ] == [("y", 2, [2.0]), ("y", 4, [4.0, 8.0, 16.0]), ("z", 5, [5.0, 9.0, 17.0])]


def test_watched_functions_and_runs() -> None:
    watched = nbfn.watch(tf.function(planted.log_of_relu))
    assert watched.values(numbers, "hidden")["hidden"].tolist() == [0.0, 3.0, 0.0, 1.0]
    run = step.run(numbers, values=True)
    assert run.values["logits"] == run.value.numpy()
    total_of_all.assign(0.0)


def test_what_a_call_that_failed_had_computed() -> None:
    @nbfn.function
    def fails(x):
        y = x + 1.0
        return tf.gather(y, tf.cast(y[0], tf.int32) + 9)

    found = fails.values(numbers)
    assert found["y"].tolist() == [2.0, 5.0, 1.0, 3.0]
    assert "raised InvalidArgumentError" in found.notes[0]


def test_no_more_is_kept_than_fits(monkeypatch) -> None:
    monkeypatch.setattr(values_module, "MAX_BYTES", 20)
    monkeypatch.setattr(values_module, "MAX_TURNS", 2)
    found = step.values(numbers)
    assert [each.executions for each in found.all if each.name == "part"] == [3]
    kept = sum(array.nbytes for each in found.all for array in each.arrays)
    assert 0 < kept <= 20
    assert "not kept" in found.notes[0]
    assert all(each.extent is not None for each in found.all)


def test_names_with_numbers_are_the_users() -> None:
    @nbfn.function
    def numbered(x):
        hidden_1 = x + 1.0
        itr_total = tf.zeros([])
        for i in tf.range(3):
            if tf.cast(i, tf.float32) > 1.0:
                break
            itr_total += hidden_1[0]
        return hidden_1 * itr_total

    found = numbered.values(tf.constant([1.0]))
    assert {each.name for each in found.all} == {"hidden_1", "itr_total"}
    assert found["hidden_1"].tolist() == [2.0]


def test_a_profiler_goes_on_afterwards() -> None:
    profile = cProfile.Profile()
    profile.enable()
    try:
        found = step.values(numbers)
        sum([1.0, 2.0])
    finally:
        profile.disable()
    assert ("hidden", 2) in lines(found)
    profiled = [getattr(each.code, "co_name", each.code) for each in profile.getstats()]
    assert any("sum" in name for name in profiled)
