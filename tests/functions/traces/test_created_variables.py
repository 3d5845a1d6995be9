"""Variables that a function creates: on the first trace only, and alive while it needs them."""

from __future__ import annotations

import gc
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.traces.created_variables import DeadStateError, VariableCreationError


def test_a_later_creation_names_both_places() -> None:
    made: list[Any] = []

    @nbfn.function
    def f(x: Any) -> Any:
        if len(made) < 1:
            made.append(tf.Variable(1.0, name="early"))
        if x.shape[0] == 2:
            made.append(tf.Variable(2.0, name="late"))
        return x * made[0]

    first = f.python_function.__code__.co_firstlineno
    f(tf.ones([1]))
    with pytest.raises(VariableCreationError) as caught:
        f(tf.ones([2]))
    text = " ".join(str(caught.value).split())
    assert f"creates the variable `late` at {Path(__file__).name}, line {first + 5}" in text
    assert f"created `early` at {Path(__file__).name}, line {first + 3}" in text
    assert "local_state=True" in text
    assert f(tf.ones([1])).numpy().tolist() == [1.0]


@pytest.mark.parametrize("tape", [nullcontext, tf.GradientTape])
def test_a_variable_that_died_is_an_error_and_not_an_old_value(tape: Any) -> None:
    holder = {"v": tf.Variable(1.0)}

    @nbfn.function(on_stale="ignore")
    def f(x: Any) -> Any:
        return x + holder["v"]

    x = tf.constant(1.0)
    for _ in range(3):
        f(x)
    holder.clear()
    gc.collect()
    message = r"`f` reads and writes `.*`, which no longer exists"
    with pytest.raises(DeadStateError, match=message), tape():
        f(x)


def test_a_variable_that_is_replaced_is_traced_again_and_no_error() -> None:
    v = tf.Variable(1.0)
    f = nbfn.function(lambda x: x + v)
    assert [float(f(tf.constant(1.0))) for _ in range(2)] == [2.0, 2.0]
    v = tf.Variable(5.0)
    gc.collect()
    assert [float(f(tf.constant(1.0))) for _ in range(2)] == [6.0, 6.0]
