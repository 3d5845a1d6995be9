"""Calls leave nothing behind, and a function that is dropped goes with its graphs."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import tensorflow as tf

import nbfn


def test_many_calls_do_not_grow() -> None:
    offset = 1.0
    f = nbfn.function(lambda x, n: x * n + offset)
    x = tf.ones([4])

    def work() -> int:
        for _ in range(300):
            f(x, 2)
            f(x, n=3)
        gc.collect()
        return len(gc.get_objects())

    work()
    before = work()
    assert work() <= before + 50


def test_a_dropped_function_is_freed_at_once_and_without_the_collector() -> None:
    v = tf.Variable(1.0)

    def body(x: Any) -> Any:
        return x * v

    f = nbfn.function(body)
    f(tf.ones([1]))
    f(tf.ones([2]))
    f.explain(tf.ones([3]))
    gone = [weakref.ref(f), weakref.ref(f.recorder)]
    gc.collect()
    gc.disable()
    try:
        del f
        assert [reference() for reference in gone] == [None, None]
    finally:
        gc.enable()


def test_an_instance_is_freed_with_the_traces_of_its_methods() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            self.v, self.rate = tf.Variable(1.0), 2.0

        @nbfn.function
        def __call__(self, x: Any) -> Any:
            return x * self.v * self.rate

    model = Model()
    for _ in range(3):
        model(tf.ones([1]))
    graph = weakref.ref(model.__call__.traces[0].graph)
    instance = weakref.ref(model)
    del model
    gc.collect()
    assert (instance(), graph()) == (None, None)


def test_arguments_and_results_are_not_kept() -> None:
    f = nbfn.function(lambda x: x + 1)
    x = tf.ones([3])
    for _ in range(3):
        y = f(x)
    gone = [weakref.ref(x), weakref.ref(y)]
    del x, y
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_a_trace_goes_with_the_object_that_it_was_made_for() -> None:
    class Thing:
        rate = 2.0

    f = nbfn.function(lambda x, thing: x * thing.rate, max_traces=None)
    kept = Thing()
    for _ in range(3):
        f(tf.ones([2]), Thing())
        f(tf.ones([2]), kept)
    gc.collect()
    graphs = [weakref.ref(trace.graph) for trace in f.traces]
    f(tf.ones([2]), kept)
    gc.collect()
    assert len(f.traces) == 1
    assert sum(graph() is not None for graph in graphs) <= 1
