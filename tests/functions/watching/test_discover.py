"""Keras models that are watched, and functions that are discovered when they trace."""

from __future__ import annotations

import gc
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn import _tensorflow
from nbfn.functions.recording.registry import live_functions
from nbfn.functions.watching import watch as watching
from nbfn.sessions.session import Session
from tests.harness.messages import raises, warns

weight = tf.Variable(3.0, name="weight")


class Counter(tf.Module):
    def __init__(self):
        super().__init__()
        self.total = None

    @tf.function
    def add(self, amount):
        if self.total is None:
            self.total = tf.Variable(0.0, name="total")
        return self.total.assign_add(amount)


def model_and_data():
    model = keras.Sequential([keras.layers.Dense(1, name="head")], name="net")
    # Since Keras 3.16, `train_function` is called for several steps at once only.
    model.compile("sgd", "mse", steps_per_execution=2)
    return model, np.ones([10, 2], "float32"), np.ones([10, 1], "float32")


def test_a_keras_model_whose_functions_are_made_late() -> None:
    model, x, y = model_and_data()
    watched = nbfn.watch(model)
    assert watched.functions == {}
    model.fit(x, y, batch_size=2, epochs=2, verbose=0)
    assert set(watched.functions) == {"train_function", "train_step"}
    outer, inner = watched["train_function"], watched["train_step"]
    calls = outer.calls
    assert calls >= 6
    assert outer.hits == calls - len(outer.traces)
    assert outer.label == "net.train_function"
    assert inner.traces[0].cause.code == "variable_creation"
    assert "net/head/kernel" in {capture.name for capture in outer.captures}
    model.predict(x, verbose=0)
    model.evaluate(x, y, verbose=0)
    assert {"test_function", "predict_function"} <= set(watched.functions)
    model.fit(x, y, batch_size=4, verbose=0)
    assert outer.calls > calls
    # Keras's function is general from its second trace on: there is nothing to mend.
    (retrace,) = outer.retraces
    assert "is [None" in str(retrace.causes[0])
    assert retrace.remedy is None


def test_a_model_that_was_fitted_before() -> None:
    model, x, y = model_and_data()
    model.fit(x, y, verbose=0)
    watched = nbfn.watch(model)
    assert "unknown" in {trace.cause.code for trace in watched.traces}
    model.fit(x, y, verbose=0)
    assert watched["train_function"].hits >= 1


def test_what_keras_passes_to_its_own_functions_needs_no_remedy() -> None:
    model, x, y = model_and_data()
    watched = nbfn.watch(model)
    model.fit(x, y, verbose=0)
    model.train_on_batch(x, y)  # which passes weights of samples, too
    (retrace,) = watched["train_step"].retraces
    assert retrace.causes[0].code == "structure"
    assert retrace.remedy is None


@pytest.fixture
def discovering():
    assert watching.discover()
    yield
    watching.stop_discovering()


def observer_named(name: str):
    found = [each for each in live_functions() if each.recorder.name == name]
    return found[-1] if found else None


def test_plain_functions_are_discovered_when_they_trace(discovering) -> None:
    @tf.function
    def helper_seen(x):
        return x * weight

    @tf.function
    def step_seen(x):
        return helper_seen(x) + 1.0

    for length in (1, 1, 2):
        step_seen(tf.ones([length]))
    observer = observer_named("step_seen")
    assert observer is not None
    assert [trace.cause.code for trace in observer.traces] == ["first_trace", "shape"]
    assert observer.traces[0].trace_seconds > 0
    assert observer.retraces[0].trace_seconds > 0
    assert [capture.name for capture in observer.captures] == ["weight"]
    assert observer_named("helper_seen") is not None
    assert (observer.counts_hits, observer.hits, observer.calls) == (False, 0, 2)
    assert nbfn.watch(step_seen) is observer
    step_seen(tf.ones([1]))
    assert (observer.hits, observer.calls) == (1, 3)


def test_what_libraries_and_nbfn_trace_is_left_out(discovering) -> None:
    before = {each.id for each in live_functions()}
    f = nbfn.function(lambda x: x + 1)
    f(tf.constant(1))
    data = tf.data.Dataset.range(4).map(lambda i: i * 2).filter(lambda i: i > 2)
    assert len(list(data)) == 2
    layer = keras.layers.Dense(2)
    layer(tf.ones([1, 2]))
    model, x, y = model_and_data()
    model.fit(x, y, verbose=0)
    names = {each.recorder.name for each in live_functions() if each.id not in before}
    assert {name for name in names if not name.startswith("net.")} == {"<lambda>"}
    assert {"net.train_function", "net.train_step"} <= names
    assert [each.id for each in live_functions() if each.id not in before].count(f.id) == 1


def test_initialisers_of_variables_are_no_functions_of_the_users(discovering) -> None:
    before = {each.id for each in live_functions()}
    counter = Counter()
    counter.add(tf.constant(1.0))
    counter.add(tf.constant(1.0))
    new = [each for each in live_functions() if each.id not in before]
    assert [each.recorder.name for each in new] == ["Counter.add"]
    assert [t.cause.code for t in new[0].traces] == ["variable_creation", "first_trace"]


def test_no_function_and_no_model_is_kept_alive(discovering) -> None:
    f = tf.function(lambda x: x + 1)
    model, x, y = model_and_data()
    of_model = nbfn.watch(model)
    f(tf.constant(1))
    model.fit(x, y, verbose=0)
    watched = Session({"f": f}).functions["f"]
    alive = [weakref.ref(f), weakref.ref(f.python_function), weakref.ref(model)]
    del f, model
    keras.backend.clear_session()
    gc.collect()
    assert [reference() for reference in alive] == [None, None, None]
    assert watched.traces == ()
    with raises(ReferenceError):
        watched.explain(tf.constant(1))
    assert of_model.label == "net"


def test_the_session_lists_it(discovering) -> None:
    from nbfn.sessions.messages.feed import Feed

    @tf.function
    def listed_step(x):
        return x * weight

    feed = Feed(limits={})  # other tests may have left more functions than a page shows
    listed_step(tf.ones([1]))
    feed.flush()
    rows = [row for row in feed.snapshot().state.functions.values() if row.name == "listed_step"]
    assert [(row.traces, row.calls, row.parameters) for row in rows] == [(1, None, "(x)")]
    nbfn.watch(listed_step)
    listed_step(tf.ones([1]))
    listed_step(tf.ones([2]))
    feed.flush()
    state = feed.snapshot().state
    row = state.functions[rows[0].id]
    assert (row.calls, row.hits, row.traces, row.retraces, row.last) == (3, 1, 2, 1, "retrace")
    assert {t.cause.code for t in state.traces.values() if t.function == row.id} == {
        "first_trace",
        "shape",
    }


def test_the_session_has_what_the_notebook_names(discovering) -> None:
    from nbfn.sessions.session import Session

    mine = nbfn.function(lambda x: x + 1)
    counter = Counter()
    counter.add(tf.constant(1.0))
    wrapped = nbfn.wrap_function(lambda x: x + 1, tf.TensorSpec([], tf.int32))
    names = {"mine": mine, "counter": counter, "watched": nbfn.watch(counter), "wrapped": wrapped}
    functions = Session(names).functions
    assert sorted(functions) == ["counter.add", "mine", "wrapped"]
    assert functions["counter.add"].calls == 1


def test_functions_of_keras_have_the_notebooks_name_of_the_model(discovering) -> None:
    classifier, x, y = model_and_data()
    classifier.fit(x, y, verbose=0)
    shown = Session({"classifier": classifier}).shown.rows.functions.values()
    assert {"classifier.train_function", "classifier.train_step"} <= {row.name for row in shown}


def test_without_tensorflows_callbacks_only_watched_functions_are_seen(monkeypatch) -> None:
    _tensorflow.remove_trace_callback(watching._on_concrete)
    monkeypatch.setattr("nbfn._tensorflow.tracing.foreign_functions._transform", None)
    _tensorflow.degraded.cache_clear()
    with warns(nbfn.NbfnWarning):
        assert not watching.discover()
    watching.stop_discovering()
    f = tf.function(lambda x: x + 1)
    watched = nbfn.watch(f)
    f(tf.constant(1))
    f(tf.constant(1))
    assert (watched.calls, watched.hits) == (2, 1)
    model, x, y = model_and_data()
    of_model = nbfn.watch(model)
    model.fit(x, y, verbose=0)
    assert {"unknown"} == {trace.cause.code for trace in of_model.traces}


def test_without_the_trace_cache_traces_are_listed_without_hits(monkeypatch) -> None:
    monkeypatch.setattr("nbfn._tensorflow.tracing.foreign_functions.TraceCache", object)
    _tensorflow.degraded.cache_clear()
    f = tf.function(lambda x: x + 1)
    f(tf.constant(1))
    with warns(nbfn.NbfnWarning):
        watched = nbfn.watch(f)
    f(tf.constant(1))
    assert not watched.counts_hits
    assert [trace.cause.code for trace in watched.traces] == ["unknown"]


def test_an_observer_that_has_failed_sees_the_next_trace(discovering, monkeypatch) -> None:
    def broken(function):
        raise RuntimeError("broken")

    f = tf.function(lambda x: x + 1)
    with monkeypatch.context() as during:
        during.setattr(watching, "origin_of", broken)
        with warns(nbfn.NbfnWarning):
            assert f(tf.constant(1)).numpy() == 2
    assert f(tf.constant(1.0)).numpy() == 2.0
    assert len(nbfn.watch(f).traces) == 2


def test_a_watcher_that_fails_breaks_no_call(monkeypatch) -> None:
    f = tf.function(lambda x: x + 1)
    watched = nbfn.watch(f)
    with monkeypatch.context() as during:
        during.setattr("nbfn.functions.watching.watched_function.key_of", lambda _: 1 / 0)
        with warns(nbfn.NbfnWarning):
            assert f(tf.constant(1)).numpy() == 2
    f(tf.constant(1))
    f(tf.constant(2.0))
    assert [cause.code for cause in watched.retraces[-1].causes] == ["dtype"]
