"""Relaxing numbers, limits, eviction, and memory given back."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.recording import eviction
from nbfn.functions.signatures.cover import RelaxError
from tests.harness.messages import raises


def test_python_numbers_become_tensors() -> None:
    f = nbfn.function(lambda x, n, *, rate=0.5: x * n * rate)
    x = tf.ones([2])
    expected = [float(f(x, n)[0]) for n in range(4)]
    general = f.suggest()
    assert repr(general) == (
        "(tf.TensorSpec((2,), tf.float32), tf.TensorSpec((), tf.int32), rate=0.5)"
    )
    f.relax()
    assert len(f.traces) == 1
    assert [float(f(x, n)[0]) for n in range(4)] == expected
    assert float(f(x, n=9)[0]) == 4.5
    assert len(f.traces) == 1
    assert str(f.explain(x, 7)).startswith("a hit")


def test_a_tensor_among_the_numbers_is_covered_too() -> None:
    f = nbfn.function(lambda x, n: x * tf.cast(n, tf.float32))
    for n in (1, tf.constant(5), 2):
        f(tf.ones([2]), n)
    f.relax()
    for n in (1, tf.constant(5), 2, 3):
        f(tf.ones([2]), n)
    assert (len(f.traces), f.hits) == (1, 4)


def test_whole_numbers_stay_whole_where_the_code_takes_them() -> None:
    f = nbfn.function(lambda x, n: tf.repeat(x, n))
    for n in (1, 2, 3):
        f(tf.constant([1.0]), n)
    trace = f.relax()
    assert str(trace.key.leaves["n"]) == "int32[]"
    assert f(tf.constant([1.0]), 5).shape == [5]


def test_numbers_and_sizes_together() -> None:
    f = nbfn.function(lambda batch, n: batch["x"] * n)
    f({"x": tf.ones([2])}, 1.0)
    f({"x": tf.ones([3])}, 2.0)
    f.relax()
    assert f({"x": tf.ones([4])}, 3.0).numpy().tolist() == [3.0] * 4
    assert len(f.traces) == 1


def test_truth_values_and_texts_are_not_relaxed_and_that_is_said() -> None:
    f = nbfn.function(lambda x, mode: x)
    for mode in (True, False, "a"):
        f(tf.ones([2]), mode)
    with raises(RelaxError):
        f.relax()
    assert len(f.traces) == 3


def test_on_limit_evict_drops_the_least_recently_used() -> None:
    f = nbfn.function(lambda x: x + 1, max_traces=2, on_limit="evict")
    for size in (1, 2, 1, 3):
        f(tf.ones([size]))
    assert [str(trace.key.leaves["x"]) for trace in f.traces] == ["float32[1]", "float32[3]"]
    assert f(tf.ones([2])).shape == [2]
    assert len(f.traces) == 2
    assert (f.calls, f.hits) == (5, 1)


def test_on_limit_evict_of_a_function_that_creates_variables() -> None:
    class Model:
        v = None

        @nbfn.function(max_traces=1, on_limit="evict")
        def __call__(self, x: Any) -> Any:
            if self.v is None:
                self.v = tf.Variable(2.0)
            return x * self.v

    model = Model()
    for size in (1, 2, 1):
        assert model(tf.ones([size])).numpy().tolist() == [2.0] * size
    assert len(model.__call__.traces) == 1


def test_free_drops_the_graphs_and_the_function_goes_on() -> None:
    v = tf.Variable(1.0)
    f = nbfn.function(lambda x: x + v)
    for size in (1, 2, 3):
        f(tf.ones([size]))
    graphs = [weakref.ref(trace.graph) for trace in f.traces]
    freed = f.free()
    gc.collect()
    assert (freed.traces, f.traces) == (3, ())
    assert [graph() for graph in graphs] == [None] * 3
    assert str(freed).startswith("3 traces dropped, ")
    assert float(f(tf.ones([1]))[0]) == 2.0
    assert f.traces[0].cause.code == "evicted"
    assert (f.calls, f.hits) == (4, 0)


def test_numbers_that_no_such_tensor_holds_are_traced_as_they_are() -> None:
    @nbfn.function
    def f(x: Any, k: Any) -> Any:
        return x * tf.cast(k, tf.float32)

    for k in (1, 2):
        f(tf.constant(1.0), k)
    f.relax()
    assert float(f(tf.constant(1.0), 2**40)) == 2.0**40
    assert float(f(tf.constant(1.0), 2.5)) == 2.5
    assert float(f(tf.constant(1.0), 7)) == 7.0
    assert len(f.traces) == 3


def test_traces_of_a_model_that_was_made_again_go_with_the_next_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(eviction, "PATIENCE", 0)
    monkeypatch.setattr(eviction, "_collect_after", 0.0)

    def made() -> Any:
        model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
        model.itself = model  # a cycle, which only the collector frees
        return model

    held = {"net": made()}
    model = made()
    applied = nbfn.function(lambda x: model(x) + held["net"](x))
    given = nbfn.function(lambda net, x: net(x))
    x = tf.ones([1, 2])
    gc.disable()
    try:
        for _ in range(3):
            model = made()
            held["net"] = made()
            applied(x)
            given(model, x)
            assert len(applied.traces) == len(given.traces) == 1
            assert len(applied.captures) == 4
    finally:
        gc.enable()


def test_nothing_is_kept_of_the_arguments_of_evicted_traces() -> None:
    f = nbfn.function(lambda x, n: x, max_traces=2, on_limit="evict")
    for n in range(4):
        f(tf.ones([1]), n)
    assert len(f._function_cache._dispatch_dict) == len(f.traces) == 2


@pytest.mark.filterwarnings("ignore:`<lambda>` has retraced:nbfn.NbfnWarning")
def test_an_evicted_trace_leaves_no_function_of_its_state() -> None:
    class Box:
        rate = 0

    f = nbfn.function(lambda x: x * float(Box.rate), max_traces=2, on_limit="evict")
    for number in range(8):
        Box.rate = number
        assert float(f(tf.ones([]))) == number
    assert len(f.traces) == 2
    assert len(f._states) == 2
