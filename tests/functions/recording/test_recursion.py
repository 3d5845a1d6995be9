"""A function that calls itself while it is traced."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import nbfn
from tests.harness.messages import raises


def test_a_recursion_that_a_tensor_would_end_is_refused_in_one_sentence(capfd: Any) -> None:
    @nbfn.function
    def factorial(n: Any) -> Any:
        if n > 1:
            return n * factorial(n - 1)
        return tf.constant(1)

    with raises(RecursionError) as reported:
        factorial(tf.constant(5))
    assert isinstance(reported.value, nbfn.NbfnError)
    assert "AutoGraph could not transform" not in capfd.readouterr().err
    assert (factorial.calls, factorial.traces) == (0, ())
    assert factorial(5).numpy() == 120


def test_a_recursion_that_python_ends_goes_on_as_in_tensorflow() -> None:
    def made(decorate: Any) -> Any:
        left = [3]

        @decorate(autograph=False)
        def nested(x: Any) -> Any:
            left[0] -= 1
            return nested(x) + 1.0 if left[0] else x

        return nested

    expected = made(tf.function)(tf.constant(1.0))
    assert made(nbfn.function)(tf.constant(1.0)).numpy() == expected.numpy() == 3.0


def test_the_remedy_of_a_recursion_that_a_number_ends_is_a_loop() -> None:
    @nbfn.function
    def power(x: Any, n: int) -> Any:
        return x if n == 0 else 2 * power(x, n - 1)

    for n in (7, 9):  # more than five retraces in one call, and no warning of many
        assert power(tf.constant(1), n) == 2**n
        assert power.retraces
        for retrace in power.retraces:
            assert retrace.remedy.code is None
            assert retrace.remedy.sentence.startswith(
                "If the recursion goes deep, use a `while` loop"
            )
    assert "relax" not in str(power.explain(tf.constant(1), 20))

    @nbfn.function
    def fibonacci(n: int) -> Any:
        return tf.constant(n) if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    assert [int(fibonacci(n)) for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]  # one trace a call
    assert "relax" not in str(fibonacci.retraces[-1].remedy)

    @nbfn.function
    def looped(x: Any, n: Any) -> Any:
        while n > 0:
            x, n = 2 * x, n - 1
        return x

    for n in (7, 9):
        assert looped(tf.constant(1), tf.constant(n)) == 2**n
    assert len(looped.traces) == 1
