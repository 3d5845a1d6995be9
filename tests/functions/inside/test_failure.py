"""What an operation was given that failed in a graph, at the user's line."""

from __future__ import annotations

import linecache
import math
import pdb

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn import nn
from nbfn.functions.postmortem import failure_in, seconds_of
from tests.functions.inside.planted import line_of
from tests.harness.messages import raises

table = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
words = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)


@pytest.fixture(scope="module", autouse=True)
def variables():
    """Variables of these tests: one that is older than a connection to servers is not written."""
    global weight
    weight = tf.Variable(tf.ones([3, 2]))


any_size = tf.TensorSpec([None])


def gather(x):
    rows = tf.cast(x, tf.int32)
    return tf.gather(table, rows)  # here


def reshape(x):
    half = tf.size(x) // 2
    return tf.reshape(x, [half, 2])  # here


def matmul(x):
    column = x[:, None]
    return tf.matmul(column, column)  # here


def addition(x):
    short = x[1:]
    return tf.reduce_sum(x + short)  # here


def text(x):
    parts = tf.strings.join([tf.strings.as_string(x), ["", "?", ""]])
    return tf.strings.to_number(parts)  # here


def assertion(x):
    tf.debugging.assert_less(x, 7.0, "too big")  # here
    return x


def explicit_assertion(x):
    tf.debugging.Assert(tf.reduce_sum(x) > 99.0, [x])  # here
    return x


def check_numerics(x):
    return tf.debugging.check_numerics(tf.math.log(x - x), "log")  # here


def in_loop(x):
    total = tf.zeros([2])
    for i in tf.range(3):
        total += table[i + 1]  # here
    return total + x[:2]


def in_branch(x):
    if tf.reduce_sum(x) > 0.0:
        return tf.gather(x, 17)  # here
    return x[0]


def gather_from_variable(x):
    return tf.gather(weight, tf.cast(x, tf.int32))  # here


def concat(x):
    return tf.concat([x[None], table], axis=0)  # here


def split(x):
    return tf.split(x, [tf.size(x) - 1, 2])  # here


def after_assignment(x):
    weight.assign_add(tf.ones([3, 2]))
    return tf.gather(table, tf.cast(x, tf.int32))  # here


@nn.compact
def _call(self, x):
    hidden = nn.Dense(2)(table)
    return tf.gather(hidden, tf.cast(x, tf.int32))  # here


class Module(nn.Module):
    __call__ = _call


module = Module().bind(Module().init(nn.key(0), tf.zeros([1])))


def in_module(x):
    return module(x) * 2.0


FAULTS = [
    *(gather, reshape, matmul, addition, text, assertion, explicit_assertion, check_numerics),
    *(in_loop, in_branch, gather_from_variable, concat, split, after_assignment, in_module),
]
values = tf.constant([1.0, 2.0, 7.0])


def error_of(function, *args):
    with pytest.raises(tf.errors.OpError) as raised:
        function(*args)
    return raised.value


def wanted(fault):
    return line_of(_call if fault is in_module else fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.__name__)
def test_the_line_is_found(fault) -> None:
    before = weight.numpy()
    function = nbfn.function(fault, input_signature=[any_size])
    error = error_of(function, values)
    counts = function.calls, len(function.traces)
    after = weight.numpy()
    for _ in range(2):
        failure = failure_in(error)
        assert failure.site.line == wanted(fault), failure
        assert failure.inputs, failure
    assert (function.calls, len(function.traces)) == counts
    np.testing.assert_array_equal(weight.numpy(), after)
    weight.assign(before)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (gather, "`tf.gather(table, rows)` was given `table` float32[3, 2]: 1, 2, 3, 4, 5, 6, "
                 "`rows` int32[3]: 1, 2, 7"),
        (matmul, "`column` float32[3, 1]: 1, 2, 7, `column` float32[3, 1]: 1, 2, 7"),
        (addition, "`x + short` was given `x` float32[3]: 1, 2, 7, `short` float32[2]: 2, 7"),
        (text, "`parts` string[3]: '1.000000', '2.000000?', '7.000000'"),
        (in_loop, "`table[i + 1]` was given"),
        (in_loop, "in execution 3"),
        (assertion, "`x` float32[3]: 1, 2, 7"),
        (after_assignment, "variables had the values that the failed call left"),
    ],
)  # fmt: skip
def test_what_is_said(fault, said) -> None:
    error = error_of(nbfn.function(fault, input_signature=[any_size]), values)
    assert said in failure_in(error).sentence
    weight.assign(tf.ones([3, 2]))


def test_compiled_nested_and_plain_functions() -> None:
    compiled = nbfn.function(reshape, input_signature=[any_size], jit_compile=True)
    assert failure_in(error_of(compiled, values)).site.line == line_of(reshape)
    plain = tf.function(gather)
    assert failure_in(error_of(plain, values)).site.line == line_of(gather)
    nested = nbfn.function(lambda x: plain(x) * 2.0)
    assert failure_in(error_of(nested, values)).site.line == line_of(gather)


def test_what_cannot_be_put_back_is_not_run_again() -> None:
    seen = []

    @nbfn.function
    def step(elements):
        x = tf.cast(next(elements), tf.int32)
        tf.numpy_function(seen.append, [x], [])
        return tf.gather(table, x)

    elements = iter(tf.data.Dataset.from_tensor_slices([5, 1, 2]))
    failure = failure_in(error_of(step, elements))
    assert "cannot be restored" in failure.sentence
    assert next(elements).numpy() == 1


def test_a_tf_function_that_consumes_an_iterator_is_not_run_again() -> None:
    @tf.function
    def consuming(elements):
        return tf.gather(table, tf.cast(next(elements), tf.int32))

    elements = iter(tf.data.Dataset.from_tensor_slices([5, 1, 2]))
    error = error_of(consuming, elements)
    assert seconds_of(error) == math.inf  # nothing is known of its calls
    assert "cannot be restored" in failure_in(error).sentence
    assert next(elements).numpy() == 1
    assert consuming not in nbfn.session().functions
    assert "consuming" not in str(nbfn.session().functions)


@pytest.mark.parametrize("effect", [tf.print, lambda x: tf.py_function(print, [x], [])])
def test_what_is_seen_outside_is_not_done_again(effect, capfd) -> None:
    @nbfn.function
    def step(x):
        effect(x)
        return tf.gather(table, tf.cast(x, tf.int32))

    error = error_of(step, values)
    capfd.readouterr()
    assert "cannot be restored" in failure_in(error).sentence
    assert "7" not in "".join(capfd.readouterr())


def test_a_call_that_cannot_be_traced_for_its_own_sizes_is_reported() -> None:
    @nbfn.function(reduce_retracing=True)
    def product(x):
        if x.shape[1] not in (None, 3):
            raise ValueError("three columns are needed")
        return tf.matmul(x, weight)

    for shape in ([2, 3], [4, 3]):
        product(tf.ones(shape))
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        product(tf.ones([2, 4]))
    failure = failure_in(raised.value)
    assert failure is not None
    assert failure.notes == ("traced for the sizes of this call alone, it raises ValueError",)


def test_an_error_of_no_graph() -> None:
    assert failure_in(ValueError("no")) is None
    assert failure_in(error_of(lambda: tf.gather(table, 9))) is None
    with raises(nbfn.PostmortemError):
        nbfn.postmortem(ValueError("no"))


def test_the_debugger_stands_at_the_line(monkeypatch) -> None:
    at = []
    function = nbfn.function(after_assignment)
    error = error_of(function, values)
    before = weight.numpy()

    def debugger(traceback):
        while traceback.tb_next is not None:
            traceback = traceback.tb_next
        at.append((traceback.tb_lineno, traceback.tb_frame.f_locals["x"].numpy().tolist()))

    monkeypatch.setattr(pdb, "post_mortem", debugger)
    assert nbfn.postmortem(error) is None
    assert at == [(line_of(after_assignment), [1.0, 2.0, 7.0])]
    np.testing.assert_array_equal(weight.numpy(), before)
    assert nbfn.postmortem(error, debug=False).site.line == line_of(after_assignment)
    weight.assign(tf.ones([3, 2]))
    assert linecache.getline(__file__, at[0][0]).rstrip().endswith("# here")
