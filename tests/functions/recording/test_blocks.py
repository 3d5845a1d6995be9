"""The with-blocks `stance` and `expect_traces`, which are decorators, too."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from tests.harness.messages import raises


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(1, id="number"),
        pytest.param(tf.function(lambda x: x), id="tf.function"),
        pytest.param("f", id="string"),
    ],
)
def test_what_is_no_traced_function(given: Any) -> None:
    with raises(TypeError):
        nbfn.expect_traces(nbfn.function(lambda x: x), given)


def test_as_a_decorator_and_again() -> None:
    ran = []
    f = nbfn.function(lambda x: ran.append(1))

    @nbfn.stance("eager")
    def eagerly() -> None:
        f(1)

    eagerly()
    eagerly()
    assert (len(ran), f.calls) == (2, 0)


def test_a_decorator_on_several_threads() -> None:
    f = nbfn.function(lambda x: x)
    inside, over = threading.Event(), threading.Event()

    @nbfn.stance("eager")
    def eagerly(reached: threading.Event, go_on: threading.Event) -> Any:
        reached.set()
        assert go_on.wait(60)
        return f(1)

    with ThreadPoolExecutor(2) as pool:  # the first to enter is the first to leave
        first = pool.submit(eagerly, threading.Event(), inside)
        second = pool.submit(eagerly, inside, over)
        assert first.result(60) == 1
        over.set()
        assert second.result(60) == 1
    assert f.calls == 0


def test_a_watched_function_can_be_expected() -> None:
    f = tf.function(lambda x: x)
    watched = nbfn.watch(f)
    with nbfn.expect_traces(watched):
        f(tf.ones([2]))
    with (
        raises(nbfn.TooManyTracesError),
        nbfn.expect_traces(watched, at_most=0),
    ):
        f(tf.ones([3]))
