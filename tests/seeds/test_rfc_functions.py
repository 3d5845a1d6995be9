"""RFC "Functions, not Sessions": functions, captured state, order, created state, trace caches.

Each test is a code sample of the RFC, in its order, and says its section.
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import tensorflow as tf

import nbfn
from tests.harness.messages import raises, warns

v = None


def test_basic_idea_nested_functions() -> None:
    """Section "Basic idea: Python functions as Graphs"."""

    @nbfn.function
    def compute_z1(x, y):
        return tf.add(x, y)

    @nbfn.function
    def compute_z0(x):
        return compute_z1(x, tf.square(x))

    assert float(compute_z0(2.0)) == 6.0
    assert float(compute_z1(2.0, 2.0)) == 4.0


def test_specification_casts_looks_up_traces_and_executes() -> None:
    """Section "function: A brief specification", steps 1 to 4."""
    traced = []

    @nbfn.function(input_signature=[(tf.float32, [None])])
    def f(x):
        traced.append(1)
        return tf.square(x), x + 1.0

    squares, more = f([1, 2])
    assert squares.dtype == tf.float32
    assert (squares.numpy().tolist(), more.numpy().tolist()) == ([1.0, 4.0], [2.0, 3.0])
    f([3.0])
    assert len(traced) == len(f.traces) == 1
    assert (f.calls, f.hits) == (2, 1)


def test_referencing_state_variables() -> None:
    """Section "Referencing state: Variables, tables etc."."""
    W = tf.Variable(tf.keras.initializers.GlorotUniform()((10, 10)))
    b = tf.Variable(tf.zeros(10))
    c = tf.Variable(0)

    @nbfn.function
    def f(x):
        c.assign_add(1)
        return tf.matmul(x, W) + b

    x = tf.ones([3, 10])
    np.testing.assert_allclose(f(x), tf.matmul(x, W) + b, rtol=1e-6)
    assert int(c) == 1
    assert [capture.name for capture in f.captures] == ["c", "W", "b"]
    assert [capture.value for capture in f.captures] == [c, W, b]


def test_referencing_state_tables() -> None:
    """Section "Referencing state: Variables, tables etc."."""
    keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    table = tf.lookup.StaticHashTable(keys, default_value=-1)
    f = nbfn.function(lambda words: table.lookup(words))
    assert f(tf.constant(["b", "c"])).numpy().tolist() == [2, -1]
    assert "resource" in [capture.kind for capture in f.captures]


def test_the_lifetime_of_state_is_that_of_the_python_object() -> None:
    """Section "Referencing state": the two lifetimes are tied together."""
    W = tf.Variable(2.0)
    f = nbfn.function(lambda x, w: x * w)
    f(tf.constant(1.0), W)
    alive = weakref.ref(W)
    del W
    gc.collect()
    assert alive() is None


def test_program_order_of_a_write_and_a_read() -> None:
    """Section "Program-order semantics / Control dependencies"."""
    v = tf.Variable(1.0)

    @nbfn.function
    def f():
        v.assign(2.0)
        return v.read_value()

    assert [float(f()) for _ in range(5)] == [2.0] * 5


def test_program_order_of_two_writes_and_a_sum() -> None:
    """Section "Program-order semantics / Control dependencies"."""
    a = tf.Variable(1.0)
    b = tf.Variable(1.0)

    @nbfn.function
    def f():
        a.assign(2.0)
        b.assign(3.0)
        return a + b

    assert float(f()) == 5.0


def test_stateful_operations_follow_construction_order(tmp_path) -> None:
    """Section "Program-order semantics": operations marked stateful, too."""
    target = tmp_path / "order"

    @nbfn.function
    def f():
        for word in ("one", "two", "three"):
            tf.print(word, output_stream=f"file://{target}")

    f()
    assert target.read_text().split() == ["one", "two", "three"]


def test_state_created_on_the_first_trace_only() -> None:
    """Section "Functions that create state"."""
    global v
    v = None

    @nbfn.function
    def f(x):
        global v
        if v is None:
            v = tf.Variable(1.0)
        return tf.cast(x, tf.float32) + v

    assert float(f(tf.constant(1, dtype=tf.float32))) == 2.0
    assert float(f(tf.constant(2, dtype=tf.int32))) == 3.0
    causes = [trace.cause.code for trace in f.traces]
    assert causes == ["variable_creation", "first_trace", "dtype"]
    assert len(f.retraces) == 1


def test_state_created_on_every_trace_is_an_error() -> None:
    """Section "Functions that create state", requirement 1."""

    @nbfn.function
    def f(x):
        fresh = tf.Variable(1.0)
        return x + fresh

    with raises(ValueError):
        f(tf.constant(1.0))


def test_state_created_on_a_later_trace_is_an_error() -> None:
    """Section "Functions that create state", requirement 1."""
    made = {}

    @nbfn.function
    def f(x, name):
        if name not in made:
            made[name] = tf.Variable(1.0)
        return x + made[name]

    f(tf.constant(1.0), "a")
    with raises(ValueError):
        f(tf.constant(1.0), "b")


def test_state_that_has_died_raises() -> None:
    """Section "Functions that create state", requirement 2."""
    state = {"v": tf.Variable(1.0)}

    @nbfn.function(on_stale="ignore")
    def f(x):
        return x + state["v"]

    assert float(f(tf.constant(1.0))) == 2.0
    alive = weakref.ref(state["v"])
    state.clear()
    gc.collect()
    assert alive() is None
    with raises(nbfn.NbfnError):
        f(tf.constant(1.0))


def test_trace_caches_dtypes() -> None:
    """Section "Trace Caches": one graph for each element type."""

    @nbfn.function
    def f(x):
        return tf.square(x)

    f(tf.constant(1, dtype=tf.int32))
    f(tf.constant(1.0, dtype=tf.float32))
    assert len(f.traces) == 2
    types = [
        next(op for op in trace.graph.get_operations() if op.type == "Square").get_attr("T")
        for trace in f.traces
    ]
    assert types == [tf.int32, tf.float32]


def test_trace_caches_python_values_are_part_of_the_key() -> None:
    """Section "Trace Caches": two additional graphs for two Python values."""
    f = nbfn.function(lambda x: tf.square(x))
    f(tf.constant(1.0))
    f(1.0)
    f(2.0)
    assert len(f.traces) == 3


def test_trace_caches_numpy_arrays_are_tensors() -> None:
    """Section "Trace Caches": NumPy arrays are converted to the equivalent tensor."""
    f = nbfn.function(lambda x: tf.square(x))
    f(tf.constant([1.0, 2.0]))
    assert f(np.array([3.0, 4.0], np.float32)).numpy().tolist() == [9.0, 16.0]
    assert len(f.traces) == 1


def test_trace_caches_a_python_switch() -> None:
    """Section "Trace Caches": the value of an argument that is no tensor."""

    @nbfn.function
    def f(x, use_multiply):
        return tf.multiply(x, x) if use_multiply else tf.square(x)

    assert float(f(tf.constant(2.0), True)) == float(f(tf.constant(2.0), False)) == 4.0
    first, second = ({op.type for op in trace.graph.get_operations()} for trace in f.traces)
    assert "Mul" in first
    assert "Square" in second


def test_trace_caches_shapes() -> None:
    """Section "Trace Caches": five calls, three graphs."""

    @nbfn.function
    def f(x):
        return tf.add(x, 1.0)

    f(tf.constant([2.0]))
    f(tf.constant([2.0, 3.0]))
    f(tf.constant([[2.0]]))
    f(tf.constant([3.0]))
    f(tf.constant([4.0, 5.0]))
    assert [trace.key.leaves["x"].shape for trace in f.traces] == [(1,), (2,), (1, 1)]
    assert [trace.hits for trace in f.traces] == [1, 1, 0]


def test_trace_caches_lists_of_tensors() -> None:
    """Section "Trace Caches": the length of a list, and dtype and shape of every element."""
    f = nbfn.function(lambda items: tf.add_n(items))
    one, two = tf.constant(1.0), tf.constant(2.0)
    f([one, two])
    f([two, one])
    f([one, two, one])
    f([tf.constant([1.0]), tf.constant([1.0])])
    assert len(f.traces) == 3
    codes = [retrace.causes[0].code for retrace in f.retraces]
    assert codes[0] == "structure"


def test_too_many_traces_graphs_die_with_the_object_of_their_key() -> None:
    """Section "CAUTION: Too many traces", mitigation 1."""

    class Options:
        factor = 2.0

    f = nbfn.function(lambda x, options: x * options.factor)
    kept = Options()
    f(tf.constant(1.0), kept)
    for _ in range(3):
        f(tf.constant(1.0), Options())
    gc.collect()
    assert float(f(tf.constant(3.0), kept)) == 6.0
    alive = [trace for trace in f.traces if trace.is_keyed]
    assert len(alive) == 1


def test_too_many_traces_an_error_or_a_message() -> None:
    """Section "CAUTION: Too many traces", mitigation 3."""
    f = nbfn.function(lambda n: tf.constant(n), max_traces=2, on_limit="raise")
    f(1)
    f(2)
    with raises(nbfn.TraceLimitError):
        f(3)
    g = nbfn.function(lambda n: tf.constant(n), max_traces=2)
    g(0)
    g(1)
    with warns(nbfn.NbfnWarning):
        g(2)


def test_mutable_arguments() -> None:
    """Section "CAUTION: Mutable non-Tensor arguments": nbfn notices the mutation."""

    class Params:
        multiply = True

    p = Params()

    @nbfn.function
    def f(x, y):
        return tf.multiply(x, 2.0) if y.multiply else tf.add(x, 2.0)

    assert float(f(3.0, p)) == 6.0
    p.multiply = False
    assert float(f(3.0, p)) == 5.0
    assert "multiply" in f.retraces[-1].causes[0].sentence

    p.multiply = True
    as_the_rfc = nbfn.function(f.python_function, on_stale="ignore")
    assert float(as_the_rfc(3.0, p)) == 6.0
    p.multiply = False
    assert float(as_the_rfc(3.0, p)) == 6.0
