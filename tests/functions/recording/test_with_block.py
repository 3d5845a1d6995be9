"""A block that is called without ``with`` does nothing, and says so."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tensorflow as tf

import nbfn


def test_without_with_it_warns_at_the_line() -> None:
    f = nbfn.function(lambda x: x)
    f.recorder.name = "f"
    for call, text in (
        (lambda: nbfn.stance("eager"), r'write `with nbfn.stance\("eager"\):`'),
        (lambda: nbfn.stance("eager", f), r'`with nbfn.stance\("eager", f\):`'),
        (lambda: nbfn.expect_traces(f), r"`with nbfn.expect_traces\(f, at_most=1\):`"),
    ):
        with pytest.warns(nbfn.NbfnWarning, match=text) as caught:
            call()
        assert caught[0].filename == __file__
    assert f(1) == 1
    assert f.calls == 1, "no stance was set"


def test_one_that_is_shown_needs_no_warning() -> None:
    assert repr(nbfn.stance("eager")) == (
        '<nbfn.stance("eager") does nothing by itself; write `with nbfn.stance("eager"):`>'
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (1, "found the number 1; write at_most=1"),
        (tf.function(lambda x: x), r"found a tf\.function; pass nbfn\.watch\(f\)"),
        ("f", "found str"),
    ],
)
def test_what_is_no_traced_function(given: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
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
        pytest.raises(nbfn.TooManyTracesError, match="shape was"),
        nbfn.expect_traces(watched, at_most=0),
    ):
        f(tf.ones([3]))
