"""A call found by its cheap key does what the ordinary way does."""

from __future__ import annotations

import collections
import enum
import functools
import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.calls.dispatch import MAX_ENTRIES
from tests.harness.messages import raises, warns


def cheap(f: Any) -> int:
    """How many cheap keys a function has."""
    return len(f._dispatch.entries)


def test_a_repeated_call_takes_the_cheap_way(monkeypatch: pytest.MonkeyPatch) -> None:
    f = nbfn.function(lambda x, n=2, *, mode="train": x * n)
    x = tf.ones([3])
    for _ in range(2):
        f(x)
        f(x, mode="test")
    assert cheap(f) == 2
    monkeypatch.setattr(f, "_call_slow", None)
    assert f(tf.ones([3])).numpy().tolist() == [2.0, 2.0, 2.0]
    assert f(tf.ones([3]), mode="test").numpy().tolist() == [2.0, 2.0, 2.0]
    assert (f.calls, f.hits) == (6, 4)
    assert [trace.hits for trace in f.traces] == [2, 2]


def test_operation_callbacks_see_what_they_see_of_a_tf_function() -> None:
    op_callbacks = pytest.importorskip("tensorflow.python.framework.op_callbacks")
    seen: list[Any] = []

    def called_back(kind, inputs, attributes, outputs, op_name=None, graph=None):
        seen.append((kind.encode(), op_name, graph))

    f = nbfn.function(lambda x: tf.square(x))
    one, two = tf.constant(2.0), tf.constant(2.0, tf.float64)
    for x in (one, two):
        f(x)
    names = [(f.get_concrete_function(x).name, None, None) for x in (one, two)]
    op_callbacks.add_op_callback(called_back)
    try:
        for _ in range(3):
            f(one)
            f(two)
    finally:
        op_callbacks.remove_op_callback(called_back)
    assert seen == names * 3
    for _ in range(2):
        f(one)
    assert cheap(f) == 1
    op_callbacks.add_op_callback(called_back)
    try:
        f(one)
    finally:
        op_callbacks.remove_op_callback(called_back)
    assert seen == [*names * 3, names[0]]


def test_inputs_go_to_their_own_places() -> None:
    f = nbfn.function(lambda a, b, *rest, **named: a - b + rest[0] * named["y"] / named["x"])
    a, b, c, x, y = (tf.constant(float(n)) for n in (9, 4, 6, 3, 5))
    results = [f(a, b, c, x=x, y=y), f(a, b, c, y=y, x=x), f(a, b, c, x=x, y=y)]
    assert cheap(f) == 2
    results += [f(a, b, c, y=y, x=x), f(a, b, c, x=x, y=y)]
    assert [float(each) for each in results] == [15.0] * 5


def test_dicts_in_any_order() -> None:
    f = nbfn.function(lambda d: d["a"] - d["b"])
    one, two = tf.constant(1.0), tf.constant(2.0)
    for _ in range(3):
        assert f({"a": two, "b": one}).numpy() == 1.0
        assert f({"b": one, "a": two}).numpy() == 1.0
    assert len(f.traces) == 1


def test_the_same_tensor_twice() -> None:
    f = nbfn.function(lambda a, b: a - b)
    x, y = tf.constant(5.0), tf.constant(3.0)
    assert [float(f(x, x)) for _ in range(3)] == [0.0] * 3
    assert cheap(f) == 1
    assert [float(f(x, y)) for _ in range(3)] == [2.0] * 3
    assert [float(f(x, x)) for _ in range(3)] == [0.0] * 3


@pytest.mark.parametrize(
    "values", [(1, 1.0, True), (0.0, -0.0), ("a", b"a"), (None, False, 0), (math.nan, 1.0)]
)
def test_values_that_python_calls_equal_stay_apart(values: tuple) -> None:
    f = nbfn.function(lambda n: tf.constant(str(n)))
    for _ in range(3):
        assert [f(n).numpy().decode() for n in values] == [str(n) for n in values]


def test_gradients() -> None:
    weight = tf.Variable(3.0)
    f = nbfn.function(lambda x: weight * x * x)
    for _ in range(3):
        x = tf.constant(2.0)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            by_weight, by_x = tape.gradient(y, [weight, x])
        assert (by_weight.numpy(), by_x.numpy()) == (4.0, 12.0)
        assert outer.gradient(by_x, x).numpy() == 6.0
    assert cheap(f) == 1


def test_inside_a_graph_a_strategy_and_eager_mode_the_ordinary_way_is_taken() -> None:
    ran = []
    f = nbfn.function(lambda x: ran.append(1) or x + 1)
    x = tf.constant(1)
    f(x)
    f(x)
    assert (cheap(f), len(ran)) == (1, 1)
    with tf.Graph().as_default():
        assert not tf.executing_eagerly()
        assert f(tf.constant(1)).graph is tf.compat.v1.get_default_graph()
    tf.config.run_functions_eagerly(True)
    try:
        count = len(ran)
        assert f(x).numpy() == 2
        assert len(ran) == count + 1
    finally:
        tf.config.run_functions_eagerly(False)
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        assert f(x).numpy() == 2


def test_after_relax_and_evict_old_entries_serve_no_more() -> None:
    f = nbfn.function(lambda x: tf.reduce_sum(x))
    for length in (2, 3, 2, 3):
        f(tf.ones([length]))
    assert cheap(f) == 2
    graph = weakref.ref(f.traces[0].concrete_function)
    relaxed = f.relax()
    gc.collect()
    assert graph() is None
    f(tf.ones([2]))
    f(tf.ones([2]))
    assert relaxed.hits == 2
    f.evict(relaxed)
    f(tf.ones([2]))
    assert len(f.traces) == 1


def test_arguments_without_a_cheap_key() -> None:
    variable = tf.Variable(2.0)
    f = nbfn.function(lambda x: tf.convert_to_tensor(x) * 2)
    for _ in range(3):
        assert f(variable).numpy() == 4.0
        assert f(np.ma.array([3.0])).numpy().tolist() == [6.0]
    assert cheap(f) == 0
    assert f.hits == 4


@pytest.mark.parametrize(
    "array",
    [
        *(
            np.arange(6).reshape(2, 3).astype(dtype)
            for dtype in ("f4", "f8", "i4", "u1", "?", "c8")
        ),
        *(np.float32(3), np.float64(0.1), np.int64(2**40), np.array(7.5), np.zeros([0, 2], "f2")),
        *(np.asfortranarray(np.eye(3)), np.arange(10.0)[::-2], np.array(["a", "ä"])),
    ],
    ids=repr,
)
def test_an_array_is_the_tensor_that_tensorflow_makes_of_it(array: Any) -> None:
    def swap(x: Any, d: Any) -> Any:
        return {"z": x, **d, "n": tf.shape(x)}

    f, bare = nbfn.function(swap), tf.function(swap)
    for add in (0, 0, 1, 1):
        x = array + np.asarray(add).astype(array.dtype) if array.dtype.kind != "U" else array
        given = {"b": x, "a": x[..., None]}
        ours, theirs = f(x, given), bare(x, given)
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name])
            assert ours[name].dtype == theirs[name].dtype
    assert (cheap(f), len(f.traces), f.hits) == (1, 1, 3)


class Scaled(tf.Module):
    def __init__(self, by: float) -> None:
        super().__init__()
        self.by, self.weight = by, tf.Variable(2.0)

    def __call__(self, x: Any) -> Any:
        return x * self.by * self.weight


class Kind(enum.Enum):
    DOUBLE = 2
    TRIPLE = 3


def test_what_an_object_holds_is_looked_at_on_the_cheap_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    f = nbfn.function(lambda models, x: models["a"](x) - models["b"](x))
    models = {"a": Scaled(3.0), "b": Scaled(1.0)}
    x = tf.constant(1.0)
    assert [f(models, x).numpy() for _ in range(3)] == [4.0] * 3
    models["b"].weight.assign(1.0)
    with monkeypatch.context() as patch:
        patch.setattr(f, "_call_slow", None)
        assert f(models, x).numpy() == 5.0
    models["a"].by = 4.0
    assert [f(models, x).numpy() for _ in range(3)] == [7.0] * 3
    assert "`models['a'].by` was 3.0, is 4.0" in str(f.retraces[-1])
    models["a"].by = 3.0
    assert [f(models, x).numpy() for _ in range(3)] == [5.0] * 3
    models["a"], models["b"] = models["b"], models["a"]
    assert [f(models, x).numpy() for _ in range(3)] == [-5.0] * 3
    assert len(f.traces) == 3


def test_objects_are_not_kept_and_none_takes_the_place_of_another() -> None:
    f, x, found = nbfn.function(lambda model, x: model(x)), tf.constant(1.0), []
    for number in range(5):
        model = Scaled(float(number))
        found.append([f(model, x).numpy() for _ in range(3)])
        known = weakref.ref(model)
        del model
        gc.collect()
        assert known() is None
    assert found == [[2.0 * number] * 3 for number in range(5)]


@pytest.mark.parametrize("on_stale", ["warn", "raise", "ignore"])
def test_objects_are_looked_at_after_the_call_too(on_stale: Any) -> None:
    f, model = nbfn.function(lambda model, x: model(x), on_stale=on_stale), Scaled(3.0)
    x = tf.constant(1.0)
    assert [f(model, x).numpy() for _ in range(3)] == [6.0] * 3
    model.by = 4.0
    if on_stale == "raise":
        with raises(nbfn.NbfnError):
            f(model, x)
    elif on_stale == "warn":
        with warns(nbfn.NbfnWarning):
            f(model, x)
    else:
        assert f(model, x).numpy() == 6.0


@pytest.mark.filterwarnings("ignore:`apply` has retraced")
def test_objects_of_each_kind_serve_their_own_trace() -> None:
    def double(x: Any) -> Any:
        return x * 2

    point = collections.namedtuple("Point", "x y")
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
    layer(tf.ones([1, 1]))

    def apply(what: Any, x: Any) -> Any:
        if isinstance(what, Kind):
            return x * what.value
        return x + what.x * what.y if isinstance(what, tuple) else what(x)

    f, x = nbfn.function(apply), tf.constant([[3.0]])
    whats = [Kind.DOUBLE, Kind.TRIPLE, double, layer, Scaled(5.0), point(x, 2.0), point(x, 3.0)]
    for _ in range(3):
        assert [float(f(what, x)[0, 0]) for what in whats] == [6, 9, 6, 3, 30, 9, 12]
    assert (len(f.traces), f.hits) == (7, 14)


def test_an_array_is_read_at_each_call() -> None:
    f, array = nbfn.function(lambda x: x * 2.0), np.array([1.0, 2.0])
    found = []
    for number in (1.0, 3.0, 5.0):
        array[0] = number
        found.append(f(array).numpy().tolist())
    assert found == [[2.0, 4.0], [6.0, 4.0], [10.0, 4.0]]


def test_an_input_signature_that_converts() -> None:
    f = nbfn.function(lambda x: x * 2, input_signature=[tf.TensorSpec([None], tf.float32)])
    for _ in range(3):
        assert f([1.0, 2.0]).numpy().tolist() == [2.0, 4.0]
        assert f(tf.constant([1.0])).numpy().tolist() == [2.0]


def test_the_entries_are_bounded() -> None:
    f = nbfn.function(lambda x: x + 1)
    f.get_concrete_function(tf.TensorSpec([None]))
    for length in range(MAX_ENTRIES + 10):
        f(tf.ones([length]))
    assert len(f.traces) == 1
    assert cheap(f) <= MAX_ENTRIES


def test_errors_are_the_same_on_the_cheap_way() -> None:
    def check(x):
        tf.debugging.assert_positive(x, message="too small")
        return x

    f, bare = nbfn.function(check), tf.function(check)
    for g in (f, bare):
        for _ in range(2):
            g(tf.constant(1.0))
    messages = []
    for g in (f, bare):
        with pytest.raises(tf.errors.InvalidArgumentError, match="too small") as caught:
            g(tf.constant(-1.0))
        messages.append(str(caught.value).split("[Op")[0])
    assert f.calls == 3
    with pytest.raises(TypeError):
        f(tf.constant(1.0), tf.constant(2.0))


@pytest.mark.parametrize("on_stale", ["retrace", "ignore"])
def test_a_default_that_is_changed_in_place_is_seen(on_stale: Any) -> None:
    def scale(x: Any, by: Any = {"k": 2}) -> Any:  # noqa: B006
        return x * by["k"]

    for function in (scale, functools.partial(scale, by={"k": 2})):
        f = nbfn.function(function, on_stale=on_stale)
        found = [f(tf.constant(1)).numpy() for _ in range(3)]
        held = scale.__defaults__[0] if function is scale else function.keywords["by"]  # type: ignore
        held["k"] = 4
        assert [*found, f(tf.constant(1)).numpy()] == [2, 2, 2, 4]


def test_an_iterator_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    @nbfn.function
    def step(iterator: Any) -> Any:
        return next(iterator) * 2

    def slow(*_: Any) -> Any:
        raise AssertionError("the ordinary way")

    first, other = (iter(tf.data.Dataset.range(n, n + 9)) for n in (0, 100))
    found = [int(step(each)) for each in (first, first, other)]
    monkeypatch.setattr(step.__class__, "_call_slow", slow)
    found += [int(step(each)) for each in (other, first)]
    assert found == [0, 2, 200, 202, 4]
    monkeypatch.undo()
    assert step(iter(tf.data.Dataset.from_tensors(1.5))).dtype == tf.float32
    assert len(step.traces) == 2


def test_keys_of_dicts_that_are_equal_and_differ_in_type() -> None:
    f = nbfn.function(lambda d: [str(key) for key in d])
    x = tf.ones([])
    for _ in range(2):
        for key in (1, True, 1.0):
            assert [each.numpy().decode() for each in f({key: x})] == [str(key)]
    assert len(f.traces) == 3


def test_a_call_that_began_before_a_change_of_the_cache_adds_no_entry() -> None:
    f = nbfn.function(lambda x: x + 1.0)
    f(tf.ones([2]))
    entries = f._dispatch.entries
    trace = f.traces[0]
    f.evict(trace)
    f._dispatch.remember(f, trace, entries, (tf.ones([2]),), {}, f.recorder.guards.state)
    assert not f._dispatch.entries
