"""Input signatures: the short form, Python values, new values, lists, and the first call's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.errors import NbfnWarning
from tests.harness.messages import raises


def test_short_forms_in_nests_and_in_graph_function() -> None:
    signature = [{"a": (tf.float32, []), "b": [(tf.int32, None)]}]
    f = nbfn.function(lambda d: (d["a"], d["b"][0]), input_signature=signature)
    assert [float(each) for each in f({"a": 1.0, "b": [2]})] == [1.0, 2.0]
    g = nbfn.function(lambda x: tf.matmul(x, tf.ones([10, 2])))
    trace = g.graph_function((tf.float32, (None, 10)))
    assert trace.graph.inputs[0].shape.as_list() == [None, 10]
    assert g.graph_function((tf.float32, (None, 10))) is trace


def test_a_requested_trace_is_the_one_that_calls_find() -> None:
    x, signature = tf.ones([3]), [(tf.float32, [None]), nbfn.PYTHON_VALUE]
    f = nbfn.function(lambda x, n: x * n, input_signature=signature)
    trace = f.graph_function(x, 2)
    for specification in (x, tf.TensorSpec([5]), (tf.float32, [4])):
        assert f.graph_function(specification, 2) is trace
    f(x, 2)
    assert (len(f.traces), f.hits, f.retraces) == (1, 1, ())
    for arguments in ((tf.TensorSpec([3], tf.int32), 2), (x, tf.TensorSpec([])), (x,)):
        with pytest.raises(nbfn.SignatureError):
            f.graph_function(*arguments)
    lists = nbfn.function(
        tf.add_n, input_signature=[nbfn.ListOf((nbfn.TRACE_ON_NEW_VALUE, [None]))]
    )
    assert lists.graph_function([tf.TensorSpec([3])] * 2) is lists.graph_function([x, x])


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))]
)
def test_a_copy_has_the_pattern(copied: Any) -> None:
    signature = [(nbfn.TRACE_ON_NEW_VALUE, [None]), nbfn.PYTHON_VALUE, nbfn.TRACE_ON_NEW_VALUE]
    f = copied(nbfn.function(_scaled, input_signature=signature))
    assert f(tf.ones([2]), 3, 2).numpy().tolist() == [6.0, 6.0]


def _scaled(x: Any, n: Any, m: Any) -> Any:
    return x * n * m


def test_python_values_by_keyword_and_in_a_dry_run() -> None:
    signature = [(tf.float32, [None]), nbfn.PYTHON_VALUE]
    f = nbfn.function(lambda x, n: x * n, input_signature=signature)
    f([1.0, 2.0], 3), f(tf.ones([5]), 3)
    assert f(np.ones([5], np.float32), n=4).numpy().tolist() == [4.0] * 5
    assert (len(f.traces), f.calls, f.hits) == (2, 3, 1)
    assert f.retraces[0].causes[0].code == "python_value"
    assert (
        str(f.explain(tf.ones([9]), 3)) == "a hit: trace 1 would serve (x: float32[None], n: int 3)"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((tf.ones([2, 2]), 3), id="rank"),
        pytest.param((tf.ones([2], tf.int32), 3), id="dtype"),
        pytest.param(("text", 3), id="text"),
        pytest.param((tf.ones([2]), tf.constant(3)), id="tensor"),
        pytest.param((tf.ones([2]),), id="missing"),
    ],
)
def test_what_does_not_match_is_named(arguments: Any) -> None:
    signature = [(tf.float32, [None]), nbfn.PYTHON_VALUE]
    f = nbfn.function(lambda x, n: x * n, input_signature=signature)
    with raises(TypeError):
        f(*arguments)
    assert (f.traces, f.calls) == ((), 0)


def test_trace_on_new_value() -> None:
    f = nbfn.function(tf.square, input_signature=((nbfn.TRACE_ON_NEW_VALUE, [None]),))
    g = nbfn.function(lambda x, y: x, input_signature=[nbfn.TRACE_ON_NEW_VALUE, (tf.int32, [])])
    with raises(nbfn.SignatureError):
        f(tf.constant([[2.0]]))
    g(tf.ones([2]), 1), g(tf.ones([3]), 2), g("text", 3)
    assert len(g.traces) == 3


def test_what_does_not_fit_a_list_is_named() -> None:
    g = nbfn.function(lambda xs: tf.add_n(xs), input_signature=[nbfn.ListOf((tf.float32, []), 2)])
    assert float(g([1.0, 2.0])) == 3.0
    with raises(nbfn.SignatureError):
        g([1.0, 2.0, 3.0])
    with raises(nbfn.SignatureError):
        g([1.0, "a"])


def test_the_signature_of_the_first_call() -> None:
    f = nbfn.function(lambda d, mode: d["x"], infer_signature_from_first_call=True)
    f({"x": tf.ones([2])}, "a")
    assert f({"x": [3.0, 4.0]}, "b").numpy().tolist() == [3.0, 4.0]
    with raises(nbfn.SignatureError):
        f({"x": tf.ones([3])}, "a")
    with raises(nbfn.SignatureError):
        f({"y": tf.ones([2])}, "a")


def test_gradients_and_variables_pass_through_a_pattern() -> None:
    v = tf.Variable(2.0)
    f = nbfn.function(lambda x, n: x * v * n, input_signature=[(tf.float32, []), nbfn.PYTHON_VALUE])
    x = tf.constant(3.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, 4)
        assert [float(each) for each in tape.gradient(y, [x, v])] == [8.0, 12.0]


def test_a_method_with_a_pattern() -> None:
    class Model(tf.Module):
        @nbfn.function(input_signature=[(tf.float32, [None]), nbfn.PYTHON_VALUE])
        def __call__(self, x: Any, n: int) -> Any:
            return x * n

    model = Model()
    assert model([1.0], 2).numpy().tolist() == [2.0]
    assert model(tf.ones([3]), 2).numpy().tolist() == [2.0] * 3
    assert len(model.__call__.traces) == 1


def test_variables_as_arguments_of_the_first_call() -> None:
    v = tf.Variable(2.0)
    f = nbfn.function(lambda x, v: x * v, infer_signature_from_first_call=True)
    assert [float(f(tf.constant(3.0), v)) for _ in range(3)] == [6.0] * 3


def test_a_value_that_the_signature_lets_trace_needs_no_remedy(recwarn) -> None:
    signature = [tf.TensorSpec([None]), nbfn.TRACE_ON_NEW_VALUE]

    @nbfn.function(input_signature=signature)
    def f(x, how):
        return x * len(str(how))

    for how in ("max", "sum", 1, 2.0, object(), [1], [1, 2]):
        f(tf.ones([2]), how)
    assert len(f.retraces) == 6
    assert [each.remedy for each in f.retraces] == [None] * 6
    assert not [each for each in recwarn.list if issubclass(each.category, NbfnWarning)]

    g = nbfn.function(lambda x, how: x * len(str(how)), input_signature=None)
    g(tf.ones([2]), "max")
    g(tf.ones([2]), "sum")
    assert g.retraces[0].remedy is not None
