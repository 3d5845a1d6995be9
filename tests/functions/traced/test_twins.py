"""A change of Python state that makes no difference to the graph is no cause of a retrace."""

from __future__ import annotations

import gc
from contextvars import ContextVar
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn._tensorflow.graphs import equivalence
from tests.harness.messages import warns

X = tf.constant([1.0, 2.0])


def traced(code: str, **names: Any) -> tuple[dict[str, Any], Any]:
    space = {"__name__": "__main__", "tf": tf, **names}
    exec(code, space)
    return space, nbfn.function(space["f"], max_traces=None)


CASES = {
    "a message": (
        "def f(x):\n    if x.shape.rank > 3:\n        raise ValueError(text)\n    return x * 2.0",
        "text",
        ["a", "b", "c"],
    ),
    "a number that is compared": (
        "def f(x):\n    return x * (2.0 if n < 3 else 3.0)",
        "n",
        [0, 1, 2, 3, 4, 1, 5, 2],
    ),
    "an object without an effect": (
        "def f(x):\n    return x if token is None else x + 1.0",
        "token",
        [object(), object(), None, object()],
    ),
    "a name of a mode": (
        "def f(x):\n    return x * {'fit': 1.0, 'train': 1.0, 'test': 0.0}[mode]",
        "mode",
        ["fit", "train", "test", "fit", "test"],
    ),
    "a loop": (
        "def f(x):\n"
        "    step = lambda i, x: (i + 1, x + (1.0 if n > 1 else 2.0))\n"
        "    return tf.while_loop(lambda i, x: i < 3, step, [0, x])[1]",
        "n",
        [0, 1, 2, 0, 3],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_python(case: str) -> None:
    code, name, values = CASES[case]
    space, f = traced(code, **{name: values[0]})
    results = set()
    for value in values:
        space[name] = value
        expected = space["f"](X).numpy().tolist()
        assert f(X).numpy().tolist() == expected
        results.add(tuple(expected))
    assert len(f.traces) == len(results)
    assert len(f.retraces) == len(results) - 1
    assert f.calls == len(values)


def test_what_makes_no_difference_for_one_signature_may_make_one_for_another() -> None:
    code = "def f(x, training):\n    return x * rate if training else x"
    space, f = traced(code, rate=2.0)
    for rate in (2.0, 3.0, 4.0, 3.0):
        space["rate"] = rate
        assert f(X, False).numpy().tolist() == X.numpy().tolist()
        assert f(X, True).numpy().tolist() == (X * rate).numpy().tolist()
    assert len(f.traces) == 4
    assert [cause.path for each in f.retraces for cause in each.causes][1:] == ["rate", "rate"]


def test_a_trace_outlives_the_object_that_made_no_difference() -> None:
    class Token:
        pass

    space, f = traced("def f(x):\n    return x if token is None else x + 1.0", token=Token())
    for _ in range(5):
        space["token"] = Token()
        gc.collect()
        assert f(X).numpy().tolist() == [2.0, 3.0]
        f(X)
    assert len(f.traces) == 1
    assert not f.retraces
    before = f.traces[0].hits
    f(X)
    assert f.traces[0].hits == before + 1


def test_another_variable_is_another_trace() -> None:
    space, f = traced("def f(x):\n    return x * w", w=tf.Variable(2.0))
    f(X)
    space["w"] = tf.Variable(3.0)
    assert f(X).numpy().tolist() == [3.0, 6.0]
    assert len(f.retraces) == 1


def test_functions_that_a_graph_calls_back_are_never_the_same() -> None:
    code = (
        "def f(x):\n"
        "    def back(a):\n"
        "        return a * scale\n"
        "    return tf.numpy_function(back, [x], tf.float32) + (0.0 if n else 0.0)"
    )
    space, f = traced(code, n=1, scale=2.0)
    f(X)
    space["n"] = 2
    assert f(X).numpy().tolist() == [2.0, 4.0]


def test_gradients_of_the_users_count() -> None:
    code = (
        "@tf.custom_gradient\n"
        "def twice(x):\n"
        "    return x * 2.0, lambda up: up * slope\n"
        "def f(x):\n"
        "    return twice(x)"
    )
    space, f = traced(code, slope=1.0)
    for slope in (1.0, 5.0):
        space["slope"] = slope
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = f(X)
        assert tape.gradient(y, X).numpy().tolist() == [slope, slope]


def test_traces_in_vain_at_each_call_are_warned_of_once() -> None:
    space, f = traced("def f(x):\n    return x if token is None else x + 1.0", token=object())

    def call_often() -> None:
        for _ in range(12):
            space["token"] = object()
            f(X)

    with warns(nbfn.NbfnWarning) as warned:
        call_often()
    assert len(warned) == 1
    assert f.calls == 12


def test_a_trace_in_vain_now_and_then_is_not_warned_of(recwarn: Any) -> None:
    space, f = traced("def f(x):\n    return x if token is None else x + 1.0", token=object())
    for i in range(24):
        if i % 4 == 0:
            space["token"] = object()
        f(X)
    assert not recwarn.list


@pytest.mark.filterwarnings("ignore:.*makes no difference")
def test_a_context_variable_that_is_set_at_each_call() -> None:
    mode: ContextVar[Any] = ContextVar("mode", default=None)
    _, f = traced("def f(x):\n    return x if mode.get() is None else x + 1.0", mode=mode)
    for i in range(6):
        mode.set(("call", i))
        f(X)
    assert len(f.traces) == 1
    assert not f.retraces


def test_a_trace_is_stale_in_no_state_in_which_it_serves() -> None:
    space, f = traced("def f(x):\n    return x * (2.0 if n < 3 else 3.0)", n=1)
    for n in (1, 2, 1):
        space["n"] = n
        f(X)
    assert f.changed_globals() == []
    space["n"] = 5
    assert f.changed_globals() == ["n"]


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
def test_each_graph_is_read_once_however_many_traces_there_are(monkeypatch: Any) -> None:
    read: list[Any] = []
    form = equivalence._form
    monkeypatch.setattr(equivalence, "_form", lambda graph: read.append(graph) or form(graph))

    class Box:
        rate = 0.0

    f = nbfn.function(lambda x: x * Box.rate)
    for number in range(6):
        Box.rate = float(number)
        assert float(f(tf.constant(2.0))) == 2.0 * number
    assert len(f.traces) == len(read) == 6
