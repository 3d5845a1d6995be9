"""Why a call retraced: one test for each cause, with old and new, and the remedy."""

from __future__ import annotations

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions import Cause
from tests.harness.messages import raises, warns


def named(function, *calls: dict) -> Cause:
    f = nbfn.function(function)
    for call in calls:
        f(**call)
    (cause,) = f.retraces[-1].causes
    return cause


def test_a_drift_of_values_is_distinguished_from_a_single_change() -> None:
    cause = named(lambda step: 0, *({"step": n} for n in range(4)))
    assert "4 different values so far: 0, 1, 2, 3" in cause.sentence


def test_a_tensor_is_no_value_of_a_drift() -> None:
    cause = named(lambda n: 0, {"n": tf.constant(1)}, *({"n": n} for n in range(3)))
    assert "3 different values so far: 0, 1, 2)" in cause.sentence


def test_defaults_and_keywords_are_no_retrace() -> None:
    f = nbfn.function(lambda x, n=3: x + n)
    f(tf.constant(1))
    f(tf.constant(1), 3)
    f(x=tf.constant(1), n=3)
    assert (len(f.traces), f.retraces) == (1, ())


def test_the_nearest_trace_is_compared_not_the_last() -> None:
    f = nbfn.function(lambda x, mode: 0)
    f(tf.ones([4, 2]), "train")
    f(tf.ones([9]), "test")
    f(tf.ones([5, 2]), "train")
    assert [cause.code for cause in f.retraces[-1].causes] == ["shape"]
    assert f.retraces[-1].nearest == (1,)


def test_the_site_is_the_users_line() -> None:
    f = nbfn.function(lambda x: x)
    f(tf.ones([1]))
    f(tf.ones([2]))
    site = f.retraces[0].site
    assert site.file == __file__
    assert site.line == test_the_site_is_the_users_line.__code__.co_firstlineno + 3


def test_the_remedy_for_shapes_works_when_pasted() -> None:
    @nbfn.function
    def train_step(images, labels):
        return tf.reduce_mean(images) + tf.cast(tf.reduce_sum(labels), tf.float32)

    def epoch() -> None:
        for size in (64, 64, 37):
            train_step(tf.ones([size, 8]), tf.ones([size], tf.int32))

    epoch()
    remedy = train_step.retraces[-1].remedy
    assert remedy is not None
    assert remedy.sentence == "Let one trace serve every size of `images` and `labels`"
    exec(remedy.code, {"train_step": train_step})
    before = train_step.calls, train_step.hits
    epoch()
    train_step(tf.ones([5, 8]), tf.ones([5], tf.int32))
    assert len(train_step.retraces) == 1
    assert train_step.hits - before[1] == train_step.calls - before[0] == 4
    assert len(train_step.traces) == 1


def test_the_remedy_names_the_function_as_code_can() -> None:
    class Model(tf.Module):
        @nbfn.function
        def step(self, x):
            return x

    def remedy(f) -> tuple:
        f(tf.ones([1]))
        f(tf.ones([2]))
        remedy = f.retraces[0].remedy
        return remedy.code, "give the function a name" in remedy.sentence

    namespace: dict = {"Model": Model, "nbfn": nbfn, "__name__": "notebook"}
    exec("model = Model()\nother = nbfn.function(lambda x: x)\ndef plain(x): return x", namespace)
    assert remedy(namespace["other"]) == ("other.relax()", False)
    assert remedy(nbfn.function(namespace["plain"])) == ("plain.relax()", False)
    assert remedy(nbfn.function(lambda x: x)) == (None, True)
    assert remedy(Model().step) == (None, True)


@pytest.mark.parametrize(
    ("old", "new", "advice"),
    [
        (1, 2, "tf.constant"),
        ("a", "b", "right for a switch with few values"),
        (True, False, "right for a switch with few values"),
        (tf.ones([1]), tf.ones([1], tf.float16), "tf.cast"),
        (tf.ones([1]), tf.ones([1, 1]), "tf.expand_dims"),
        ([1], [1, 1], "with the same length, as list of 1"),
    ],
)
def test_each_cause_has_its_advice(old: object, new: object, advice: str) -> None:
    f = nbfn.function(lambda x: 0)
    f(old)
    f(new)
    remedy = f.retraces[0].remedy
    assert remedy is not None
    assert advice in remedy.sentence


def test_a_function_among_the_arguments_is_to_be_defined_once() -> None:
    f = nbfn.function(lambda log_prob, x: log_prob(x))
    for _ in range(2):
        f(lambda x: -x, tf.ones([]))
    (retrace,) = f.retraces
    assert str(retrace.causes[0]) == "`log_prob` is another function"
    assert str(retrace.remedy) == "Define `log_prob` once and pass the same function each time"


@pytest.mark.parametrize("is_late", [False, True])
def test_numbers_that_are_also_passed_as_tensors_become_tensors(is_late: bool) -> None:
    f = nbfn.function(lambda a, b, c: (a, b, c))
    calls = [(1, 2, 0.5), (tf.constant(1, tf.int64), tf.constant(2, tf.int64), tf.constant(0.5))]
    for args in reversed(calls) if is_late else calls:
        f(*args)
    assert f.retraces[0].remedy.sentence == (
        "Always pass `a` and `b` as tensors: tf.constant(…, tf.int64); "
        "then always pass `c` as a tensor: tf.constant(…, tf.float32)"
    )
    traces = len(f.traces)
    f(tf.constant(7, tf.int64), tf.constant(8, tf.int64), tf.constant(0.25, tf.float32))
    assert len(f.traces) == traces
    g = nbfn.function(lambda x: x)
    for x in (1, tf.ones([2])):
        g(x)
    assert "as int 1" in g.retraces[0].remedy.sentence


def test_the_limit_warns_once_with_the_cause() -> None:
    f = nbfn.function(lambda step: tf.constant(step), max_traces=2)
    f(0)
    f(1)
    with warns(nbfn.NbfnWarning) as warned:
        f(2)
    assert (warned[0].filename, f.retraces[-1].site.line) == (__file__, warned[0].lineno)
    f(3)


def test_the_limit_raises_before_the_trace_is_made() -> None:
    f = nbfn.function(lambda step: tf.constant(step), max_traces=1, on_limit="raise")
    f(0)
    with raises(nbfn.TraceLimitError):
        f(1)
    assert (f.calls, len(f.traces)) == (1, 1)
    assert f(0).numpy() == 0


def test_at_the_limit_a_call_can_run_eagerly() -> None:
    ran_eagerly = []

    @nbfn.function(max_traces=1, on_limit="eager")
    def f(step):
        ran_eagerly.append(tf.executing_eagerly())
        return tf.constant(step)

    assert [f(n).numpy() for n in (0, 1, 2, 0)] == [0, 1, 2, 0]
    assert ran_eagerly == [False, True, True]
    assert len(f.traces) == 1


def test_long_values_are_shown_where_they_differ() -> None:
    f = nbfn.function(lambda text: tf.constant(len(text)))
    f("a" * 10_000 + "b")
    f("a" * 10_000 + "c")
    (cause,) = f.retraces[0].causes
    assert "aab', is …aaa" in cause.sentence
    assert cause.sentence.endswith("aac'")
    assert len(cause.sentence) < 100


def test_of_many_differences_the_first_are_reported() -> None:
    f = nbfn.function(lambda values: tf.constant(sum(values)))
    f(tuple(range(1000)))
    f(tuple(range(1, 1001)))
    assert len(f.retraces[0].causes) == 1000
    assert "; and 997 more" in str(f.retraces[0])
    assert "… and 900 more" in repr(f.traces[0])
