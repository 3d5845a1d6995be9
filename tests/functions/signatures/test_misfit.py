"""A call that does not fit says in one line which argument, what it is, and what is wanted."""

from __future__ import annotations

import dataclasses
from collections import deque
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
    ("function", "signature", "args", "kwargs"),
    [
        pytest.param(one, [SPEC], (tf.ones([3, 2], tf.int32),), {}, id="dtype"),
        pytest.param(one, [SPEC], (tf.ones([3]),), {}, id="rank"),
        pytest.param(one, [SPEC], (tf.ones([3, 2]), 4), {}, id="too many"),
        pytest.param(one, [SPEC], (), {}, id="none"),
        pytest.param(one, [SPEC], (), {"z": 1}, id="another"),
        pytest.param(one, [{"a": SPEC}], ({"b": 1},), {}, id="dict"),
        pytest.param(two, [[SPEC], SPEC], ([1, 2], 1), {}, id="list"),
        pytest.param(two, [SPEC, SPEC], (np.ones([2, 2]), "a"), {}, id="string"),
        pytest.param(two, None, (1,), {}, id="missing"),
        pytest.param(two, None, (1, 2), {"z": 3}, id="unknown"),
    ],
)
def test_the_argument_is_named(function: Any, signature: Any, args: Any, kwargs: Any) -> None:
    f = nbfn.function(function, input_signature=signature)
    for call in (f, f.explain):
        with raises(TypeError):
            call(*args, **kwargs)
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
        pytest.param(deque([1]), [1], id="class of Python"),
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


@pytest.mark.parametrize(
    "ask",
    ["run", "get_concrete_function", "graph_function", "check", "numerics", "values"],
)
def test_what_is_asked_with_arguments_that_do_not_fit(ask: str) -> None:
    many = tf.zeros([1000])
    f = nbfn.function(lambda x, y: x, input_signature=[SPEC, SPEC])
    for arguments in ((many,), (many, tf.constant("a"))):
        with pytest.raises(TypeError, match=r"`<lambda>`.*`?y") as raised:
            getattr(f, ask)(*arguments)
        assert isinstance(raised.value, nbfn.NbfnError)
        assert "Received args" not in str(raised.value)
    if ask != "check":  # it reports what the traced call raises
        with pytest.raises(SignatureError, match="`batch` is a Batch"):
            getattr(nbfn.function(lambda batch: 0), ask)(Batch(many))


def test_a_request_keeps_an_error_of_the_functions_own() -> None:
    inner = tf.function(one, input_signature=[SPEC])
    f = nbfn.function(lambda x: inner(x), autograph=False)
    with pytest.raises(TypeError, match=r"^Binding inputs to tf\.function failed"):
        f.graph_function(tf.ones([3]))
