"""RFC "Functions, not Sessions": input signatures, and the API of the function object.

Each test is a code sample of the RFC, in its order, and says its section.
"""

from __future__ import annotations

import pytest
import tensorflow as tf

import nbfn
from tests.harness.messages import raises


def add_one(x):
    return tf.add(x, 1.0)


def test_without_a_signature_three_graphs() -> None:
    """Section "Input Signatures", first sample."""
    f = nbfn.function(add_one)
    f(tf.constant(1.0))
    f(tf.constant([1.0, 2.0]))
    f(tf.constant([[3.0]]))
    assert len(f.traces) == 3


def test_the_short_form_one_graph_for_every_length() -> None:
    """Section "Input Signatures", second sample."""

    @nbfn.function(input_signature=((tf.float32, [None]),))
    def f(x):
        return tf.add(x, 1.0)

    assert f(tf.constant([2.0])).numpy().tolist() == [3.0]
    assert f(tf.constant([2.0, 3.0])).numpy().tolist() == [3.0, 4.0]
    with pytest.raises((TypeError, ValueError)):
        f(tf.constant([[2.0]]))
    with pytest.raises((TypeError, ValueError)):
        f(tf.constant([2], dtype=tf.int32))
    assert len(f.traces) == 1


def test_the_short_form_as_it_stands_in_the_rfc() -> None:
    """Section "Input Signatures": one ``(dtype, shape)`` for the only argument."""
    f = nbfn.function(add_one, input_signature=(tf.float32, [None]))
    f(tf.constant([2.0]))
    f(tf.constant([2.0, 3.0]))
    assert len(f.traces) == 1


def test_todays_name_for_it() -> None:
    """Section "Input Signatures": the short form is ``tf.TensorSpec`` today."""
    short = nbfn.function(add_one, input_signature=[(tf.float32, [None])])
    spec = nbfn.function(add_one, input_signature=[tf.TensorSpec([None], tf.float32)])
    assert short.input_signature == spec.input_signature


def test_python_values_are_converted_to_the_signature() -> None:
    """Section "Input Signatures": ``(tf.int32, [])`` is a scalar; Python values are converted."""
    f = nbfn.function(lambda x: x * 2, input_signature=[(tf.int32, [])])
    assert [int(f(n)) for n in (1, 2, 3)] == [2, 4, 6]
    assert len(f.traces) == 1
    assert f(3).dtype == tf.int32


def test_a_list_of_tensors_with_and_without_a_length() -> None:
    """Section "Input Signatures": a list has an optional length and one pattern."""
    two = nbfn.function(
        lambda items: tf.add_n(items), input_signature=[[(tf.float32, []), (tf.float32, [])]]
    )
    assert float(two([1.0, 2.0])) == 3.0
    with pytest.raises((TypeError, ValueError)):
        two([1.0, 2.0, 3.0])
    assert len(two.traces) == 1

    any_length = nbfn.function(
        lambda items: tf.add_n(items), input_signature=[nbfn.ListOf((tf.float32, [None]))]
    )
    assert any_length([[1.0], [2.0]]).numpy().tolist() == [3.0]
    assert any_length([[1.0], [2.0], [3.0]]).numpy().tolist() == [6.0]
    assert any_length([[1.0, 1.0], [2.0, 2.0]]).numpy().tolist() == [3.0, 3.0]
    assert len(any_length.traces) == 2
    three = nbfn.function(
        lambda items: tf.add_n(items), input_signature=[nbfn.ListOf((tf.float32, []), length=3)]
    )
    assert float(three([1.0, 2.0, 3.0])) == 6.0
    with raises(nbfn.NbfnError):
        three([1.0, 2.0])


def test_python_value() -> None:
    """Section "Input Signatures": ``tf.PYTHON_VALUE``; new graphs for new values only."""
    f = nbfn.function(
        lambda x, double: x * 2.0 if double else x,
        input_signature=[(tf.float32, [None]), nbfn.PYTHON_VALUE],
    )
    assert f([1.0], True).numpy().tolist() == [2.0]
    assert f([1.0, 2.0], True).numpy().tolist() == [2.0, 4.0]
    assert f([1.0], False).numpy().tolist() == [1.0]
    assert len(f.traces) == 2
    with raises(nbfn.NbfnError):
        f([1.0], tf.constant(True))


def test_trace_on_new_value() -> None:
    """Section "Input Signatures", last sample."""

    @nbfn.function(input_signature=((nbfn.TRACE_ON_NEW_VALUE, [None]),))
    def f(x):
        return tf.square(x)

    assert f(tf.constant([2.0])).numpy().tolist() == [4.0]
    assert f(tf.constant([2, 2], dtype=tf.int32)).numpy().tolist() == [4, 4]
    assert len(f.traces) == 2
    f(tf.constant([1.0, 2.0, 3.0]))
    assert len(f.traces) == 2


def test_a_new_graph_when_the_context_changes() -> None:
    """Section "Input Signatures": only values of Python arguments and the context matter."""
    f = nbfn.function(add_one, input_signature=[(tf.float32, [None])])
    f([1.0])
    with tf.device("/device:CPU:0"):
        f([1.0, 2.0])
        f([1.0])
    assert len(f.traces) == 2


def test_infer_signature_from_first_call() -> None:
    """Section "Open Questions/Ideas", "Supporting structured inputs"."""
    f = nbfn.function(
        lambda batch: batch["x"] + batch["y"][0], infer_signature_from_first_call=True
    )
    f({"x": tf.constant([1.0]), "y": [tf.constant(2.0)]})
    assert f({"x": [5.0], "y": [1]}).numpy().tolist() == [6.0]
    assert len(f.traces) == 1
    with pytest.raises((TypeError, ValueError)):
        f({"x": tf.constant([1, 2]), "y": [tf.constant(2.0)]})


def test_structured_inputs() -> None:
    """Section "Open Questions/Ideas": nested structures of tensors."""
    f = nbfn.function(lambda tree: {"sum": tree["a"][0] + tree["a"][1]["b"]})
    tree = {"a": (tf.constant(1.0), {"b": tf.constant(2.0)})}
    assert float(f(tree)["sum"]) == 3.0
    f({"a": (tf.constant(4.0), {"b": tf.constant(5.0)})})
    assert len(f.traces) == 1


def test_annotations_are_no_signature_yet() -> None:
    """Section "Open Questions/Ideas", "Signatures in Python 3?": annotations change nothing."""

    @nbfn.function
    def f(x: tf.Tensor, n: int = 2) -> tf.Tensor:
        return x * n

    assert int(f(tf.constant(3))) == 6
    assert f.parameters == "(x, n=2)"


def test_the_function_object_lists_captured_state() -> None:
    """Section "API for function", first bullet."""
    W = tf.Variable([[2.0]], name="W")
    shift = tf.constant([1.0])
    keys = tf.lookup.KeyValueTensorInitializer([1], [10])
    table = tf.lookup.StaticHashTable(keys, 0)
    f = nbfn.function(lambda x, key: (tf.matmul(x, W) + shift, table.lookup(key)))
    f(tf.ones([1, 1]), tf.constant(1))
    assert {capture.kind for capture in f.captures} == {"variable", "tensor", "resource"}
    assert "W" in [capture.name for capture in f.captures]


def test_the_function_object_gives_the_graph() -> None:
    """Section "API for function", second bullet."""
    f = nbfn.function(lambda x: tf.square(x))
    graph = f.graph_function((tf.float32, (None, 10))).graph
    assert isinstance(graph, tf.Graph)
    assert "Square" in {op.type for op in graph.get_operations()}
    assert len(f.traces) == 1
    assert f.graph_function(tf.TensorSpec((None, 10), tf.float32)).graph is graph


def test_the_function_object_runs_with_metadata() -> None:
    """Section "API for function", third bullet."""
    f = nbfn.function(lambda x: tf.square(x))
    run = f.run(tf.constant(3.0))
    assert float(run.value) == 9.0
    assert run.metadata.function_graphs
    assert any(operation.device == "CPU:0" for operation in run.placement.operations)
