"""A function that is called often does the same as before, executed as an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn._tensorflow.tracing import hot_functions

W = tf.Variable([2.0, 3.0])
N = tf.Variable(0)
OFTEN = hot_functions.CALLS + 5


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that are executed as operations."""
    found: list[str] = []
    attributes_of = hot_functions._attributes_of_call

    def noted(inference: Any, inputs: Any) -> tuple[Any, ...]:
        attributes = attributes_of(inference, inputs)
        found.extend(attributes[-1:])
        return attributes

    monkeypatch.setattr(hot_functions, "_attributes_of_call", noted)
    monkeypatch.setattr(hot_functions, "_numbers", iter(range(10**6)))
    return found


def product(x: Any) -> Any:
    return x * W


def several(x: Any) -> Any:
    return {"y": x * W, "n": tf.size(x), "text": [tf.strings.as_string(x), None]}


def loop(x: Any) -> Any:
    for _ in tf.range(tf.cast(x[0], tf.int32)):
        x = x * W
    return x


def branch(x: Any) -> Any:
    if tf.reduce_sum(x) > 40.0:
        return x * W
    return x - W


@tf.function
def inner(x: Any) -> Any:
    return tf.sin(x) * W


def nested(x: Any) -> Any:
    return inner(x) + inner(x + 1.0)


def nothing(x: Any) -> None:
    tf.sin(x)


@pytest.mark.parametrize("body", [product, several, loop, branch, nested, nothing])
def test_its_values_are_those_of_a_bare_function(
    body: Callable[[Any], Any], executed: list[str]
) -> None:
    traced, bare = nbfn.function(body), tf.function(body)
    for n in range(OFTEN):
        x = tf.constant([float(n), 1.0])
        tf.nest.map_structure(np.testing.assert_array_equal, traced(x), bare(x))
        W.assign([float(n % 7), 1.0])
    # One with a loop can be stopped, and a cancelled operation would go on.
    assert bool(executed) is (body is not loop)


def test_gradients_are_those_of_a_bare_function(executed: list[str]) -> None:
    traced, bare = nbfn.function(nested), tf.function(nested)

    def gradient(function: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, [x, W])

    for n in range(OFTEN):
        x = tf.constant([float(n), 1.0])
        for ours, theirs in zip(gradient(traced, x), gradient(bare, x), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert executed


def test_random_numbers_go_on() -> None:
    def draw(x: Any) -> Any:
        return x + tf.random.uniform([2])

    drawn = []
    for make in (nbfn.function, tf.function):
        tf.random.set_seed(1)
        function = make(draw)
        drawn.append([function(1.0).numpy().tolist() for _ in range(OFTEN)])
    assert drawn[0] == drawn[1]


def test_writes_happen_once() -> None:
    @nbfn.function
    def counted(x: Any) -> Any:
        N.assign_add(1)
        tf.debugging.assert_less(x, 5.0)
        return x

    N.assign(0)
    for _ in range(OFTEN):
        counted(tf.constant(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError):
        counted(tf.constant(6.0))
    assert N.numpy() == OFTEN + 1


def test_its_errors_name_the_operation_and_the_line(executed: list[str]) -> None:
    @nbfn.function
    def picked(x: Any, i: Any) -> Any:
        return tf.gather(x, i)

    x, far = tf.ones([3]), tf.constant(7)

    def message() -> str:
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            picked(x, far)
        return str(raised.value)

    picked(x, tf.constant(0))
    first = message()
    for _ in range(OFTEN):
        picked(x, tf.constant(1))
    assert executed
    assert message() == first
    assert "{{node GatherV2}}" in first
    assert picked(x, tf.constant(1)).numpy() == 1.0


def test_operation_callbacks_see_its_name(executed: list[str]) -> None:
    op_callbacks = pytest.importorskip("tensorflow.python.framework.op_callbacks")
    seen: list[str] = []

    def callback(op_type: str, *_: Any, **__: Any) -> None:
        seen.append(str(op_type))

    traced, x = nbfn.function(product), tf.constant([1.0, 2.0])
    for _ in range(OFTEN):
        traced(x)
    op_callbacks.add_op_callback(callback)
    try:
        traced(x)
    finally:
        op_callbacks.remove_op_callback(callback)
    assert executed
    assert hot_functions.OPERATION not in seen
    assert any("product" in each for each in seen)


def test_xla_compiles_it_as_before(executed: list[str]) -> None:
    traced = nbfn.function(product, jit_compile=True)
    bare = tf.function(product, jit_compile=True)
    x = tf.constant([0.1, 1.0])
    for _ in range(OFTEN):
        np.testing.assert_array_equal(traced(x), bare(x))
    assert not executed


def test_large_functions_and_those_beyond_the_limit_are_executed_by_name(
    executed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        hot_functions, "_numbers", iter(range(hot_functions._MAX_FUNCTIONS - 1, 10**6))
    )

    def large(x: Any) -> Any:
        for _ in range(hot_functions._MAX_OPERATIONS):
            x = tf.sin(x)
        return x

    big = np.ones([hot_functions._MAX_BYTES // 4], np.float32)
    bodies = (large, lambda x: x * big, product, several)
    for body in bodies:
        traced = nbfn.function(body)
        for _ in range(OFTEN):
            traced(tf.constant([1.0]) if body in bodies[:2] else tf.constant([1.0, 2.0]))
    assert len(executed) == 1
    assert "product" in executed[0]
