"""A call that does not fit says in one line which argument, what it is, and what is wanted."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.signatures.pattern import SignatureError
from tests.harness.messages import raises

SPEC = tf.TensorSpec([None, 2], tf.float32)


def one(x: Any) -> Any:
    return x


def two(x: Any, y: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("function", "signature", "args", "kwargs", "said"),
    [
        (
            one,
            [SPEC],
            (tf.ones([3, 2], tf.int32),),
            {},
            "`x` is int32[3, 2], but the input signature",
        ),
        (
            one,
            [SPEC],
            (tf.ones([3]),),
            {},
            "`x` is float32[3], but the input signature expects float32[None,",
        ),
        (one, [SPEC], (tf.ones([3, 2]), 4), {}, "too many positional arguments"),
        (one, [SPEC], (), {}, "missing a required argument: 'x'"),
        (one, [SPEC], (), {"z": 1}, "missing a required argument: 'x'"),
        (
            one,
            [{"a": SPEC}],
            ({"b": 1},),
            {},
            "`x` is a dict with 'b', but the input signature expects a dict",
        ),
        (
            two,
            [[SPEC], SPEC],
            ([1, 2], 1),
            {},
            "`x` is a list of 2, but the input signature expects a list of",
        ),
        (two, [SPEC, SPEC], (np.ones([2, 2]), "a"), {}, "`y` is str 'a', which is not a float32"),
        (two, None, (1,), {}, "missing a required argument: 'y'"),
        (two, None, (1, 2), {"z": 3}, "got an unexpected keyword argument 'z'"),
    ],
)
def test_the_argument_is_named(
    function: Any, signature: Any, args: Any, kwargs: Any, said: str
) -> None:
    f = nbfn.function(function, input_signature=signature)
    for call in (f, f.explain):
        with pytest.raises(TypeError) as raised:
            call(*args, **kwargs)
        text = str(raised.value)
        assert text.startswith(f"`{function.__name__}`: {said}")
        assert "\n" not in text
        assert "Received args" not in text
    assert (f.calls, len(f.traces)) == (0, 0)


def test_an_error_of_the_functions_own_stays() -> None:
    @nbfn.function
    def f(x: Any) -> Any:
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        f(1)


def test_a_misfit_within_the_function_is_the_inner_functions() -> None:
    inner = tf.function(one, input_signature=[SPEC])
    f = nbfn.function(lambda x: inner(x), autograph=False)
    with pytest.raises(TypeError, match=r"^Binding inputs to tf\.function failed"):
        f(tf.ones([3]))


def test_a_size_that_the_code_reads_is_named_when_it_cannot_be_relaxed() -> None:
    @nbfn.function
    def serve(images: Any) -> Any:
        return tf.reshape(images, [images.shape[0], 2])

    serve(tf.ones([2, 2]))
    serve(tf.ones([4, 2]))
    with raises(nbfn.NbfnError):
        serve.relax()


@dataclasses.dataclass
class Batch:
    x: Any


class Equal:
    def __eq__(self, other: object) -> bool:
        return True


class Row(NamedTuple):
    x: Any


@pytest.mark.parametrize(
    ("argument", "instead"),
    [
        pytest.param({1, 2}, frozenset({1, 2}), id="set"),
        pytest.param([{"a": {1}}], [{"a": frozenset({1})}], id="inner set"),
        pytest.param(Batch(tf.ones([2])), Row(tf.ones([2])), id="dataclass"),
        pytest.param(Equal(), None, id="no hash"),
    ],
)
def test_what_keys_no_trace_is_named_with_what_does(argument: Any, instead: Any) -> None:
    f = nbfn.function(lambda x: 0)
    for call in (f, f, f.explain):
        if call == f.explain:  # of a function that has a trace
            f(instead)
        with raises(SignatureError):
            call(argument)
    f(instead)
    assert f.hits == 1
