"""How often eager transformed calls trace, what a trace serves, and what it keeps alive."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import OrderedDict
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn
from nbfn.modules.lifting import traces
from tests.harness.messages import raises
from tests.modules.nets import near

X = tf.random.stateless_normal([3, 2], nn.key(9))


def at(variables: Any, i: int) -> Any:
    return tf.nest.map_structure(lambda t: t[i], variables)


def counted(traces: list[Any]) -> Any:
    class Counted(nn.Module):
        width: int = 2

        @nn.compact
        def __call__(self, x, scale=1.0):
            traces.append(self.width)
            return nn.Dense(self.width)(x) * scale

    return Counted


@pytest.mark.parametrize("how", ["bound", "apply", "in a method", "function"])
def test_an_eager_call_traces_once_for_each_signature(how: str) -> None:
    traces: list[Any] = []
    cls = counted(traces)
    members = nn.jit(cls)

    class Parent(nn.Module):
        @nn.compact
        def __call__(self, x, scale=1.0):
            return nn.jit(cls)(name="inner")(x, scale)

    def by_function(m, x):
        return nn.jit(lambda m, x: m(x))(m, x)

    module = {"in a method": Parent(), "function": cls()}.get(how, members())
    variables = module.init(nn.key(0), X)
    bound = module.bind(variables)
    call: Any = {
        "apply": lambda *a: module.apply(variables, *a),
        "function": lambda x, *a: by_function(bound, x),
    }.get(how, bound)
    call(X)
    del traces[:]
    for _ in range(3):
        call(X)
    assert traces == []
    for _ in range(2):
        call(X[:1])
    assert len(traces) == 1
    if how != "function":
        for _ in range(2):
            call(X, 2.0)
        assert len(traces) == 2


def test_a_trace_serves_other_weights_and_no_other_function() -> None:
    members = nn.vmap(nn.Dense, {"params": 0}, {"params": True}, in_axes=None, axis_size=3)(2)
    one, two = (members.init(nn.key(i), X) for i in range(2))
    first, second = members.bind(one), members.bind(two)
    near(first(X), tf.stack([nn.Dense(2).apply(at(one, i), X) for i in range(3)]))
    near(second(X), tf.stack([nn.Dense(2).apply(at(two, i), X) for i in range(3)]))
    near(members.apply(one, X), first(X))
    for factor in (2.0, 3.0, tf.Variable(4.0), tf.Variable(5.0), tf.constant(6.0)):

        def scaled(m, x, factor=factor):
            return m(x) * factor

        dense = nn.Dense(2).bind(at(one, 0))
        y = nn.vmap(scaled, {"params": None})(dense, X)
        near(y, dense(X) * factor)


def test_a_variable_at_the_address_of_a_freed_one_is_another() -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))

    def product(value: float) -> Any:
        factor = tf.Variable(value)
        return nn.vmap(lambda m, x: m(x) * factor, {"params": None})(dense, X)

    for value in range(6):
        near(product(float(value)), dense(X) * float(value))


def test_traces_do_not_keep_modules_and_variables() -> None:
    members = nn.vmap(nn.Dense, {"params": 0}, {"params": True}, in_axes=None, axis_size=3)
    bound = members(2).bind(members(2).init(nn.key(0), X))
    jitted = nn.jit(nn.Dense)(2).bind(nn.Dense(2).init(nn.key(0), X))
    bound(X), jitted(X)
    held = [weakref.ref(thing) for m in (bound, jitted) for thing in (m, m["kernel"])]
    del bound, jitted
    gc.collect()
    assert [ref() for ref in held] == [None] * 4


def test_a_closure_over_a_tensor_of_the_outer_trace() -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))

    @tf.function
    def outer(x, factor):
        return nn.jit(lambda m, x: m(x) * factor)(dense, x)

    for factor in (2.0, 3.0):
        near(outer(X, tf.constant(factor)), dense(X) * factor)
        near(outer(X[:1], tf.constant(factor)), dense(X[:1]) * factor)


def test_nested_transformations_are_intercepted_and_captured_once() -> None:
    module = nn.jit(nn.remat(nn.Dense))(2)
    variables = module.init(nn.key(0), X)
    seen: list[str] = []

    def note(next_fun, args, kwargs, context):
        seen.append(context.method_name)
        return next_fun(*args, **kwargs)

    with nn.intercept_methods(note):
        nn.remat(nn.remat(nn.Dense))(2).apply(variables, X)
    assert seen == ["__call__"]
    _, state = module.apply(variables, X, capture_intermediates=True)
    assert len(state["intermediates"]["__call__"]) == 1


def test_threads_share_traces_and_do_not_wait_for_each_other() -> None:
    """One thread traces a tf.function that calls nn.jit, another an nn.jit that calls it."""
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    jitted = nn.jit(lambda m, x: m(x) * 2.0)
    begun = threading.Barrier(2, timeout=30)
    results: dict[str, Any] = {}

    @tf.function
    def traced(x):
        if not results:
            begun.wait()
        return jitted(dense, x)

    def calls(m, x):
        begun.wait()
        return m(x) + 1.0

    def run(name: str, fn: Any) -> None:
        results[name] = fn()

    other = nn.jit(calls)
    threads = [
        threading.Thread(target=run, args=("one", lambda: traced(X)), daemon=True),
        threading.Thread(target=run, args=("two", lambda: other(dense, X)), daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    near(results["one"], dense(X) * 2.0)
    near(results["two"], dense(X) + 1.0)


def test_a_trace_serves_no_other_axes() -> None:
    dense = nn.Dense(3).bind(nn.Dense(3).init(nn.key(0), X))
    cube = tf.random.stateless_normal([3, 3, 2], nn.key(5))
    for in_axes in (0, 1):
        for out_axes in (0, 1):

            def call(m, x):
                return tf.cumsum(m(x))

            y = nn.vmap(call, {"params": None}, {}, in_axes, out_axes)(dense, cube)
            each = [tf.cumsum(dense(part)) for part in tf.unstack(cube, axis=in_axes)]
            near(y, tf.stack(each, axis=out_axes))

    class Draws(nn.Module):
        def __call__(self, x):
            return x + tf.random.stateless_normal([], self.make_rng("noise"))

    def plainly(m, x):
        return m(x)

    bound = Draws().bind({}, rngs={"noise": nn.key(0)})
    for split, numbers in ((False, 1), (True, 5), (False, 1)):
        y = nn.vmap(plainly, {}, {"noise": split})(bound, tf.zeros([5]))
        assert len(set(y.numpy().tolist())) == numbers
    stacked = {"params": {"kernel": tf.ones([3, 2, 3]), "bias": tf.zeros([3, 3])}}
    square = nn.Dense(3).bind(stacked)
    for axes in ({"params": 0}, {"params": None}):
        if axes["params"] is None:
            with pytest.raises(nn.ParamShapeError):
                nn.vmap(plainly, axes, in_axes=None, axis_size=3)(square, X)
        else:
            y = nn.vmap(plainly, axes, in_axes=None, axis_size=3)(square, X)
            assert y.shape == (3, 3, 3)


def test_a_trace_serves_no_call_that_keeps_other_collections() -> None:
    class Sows(nn.Module):
        @nn.compact
        def __call__(self, x):
            self.sow("intermediates", "h", x)
            if self.is_mutable_collection("sums"):
                self.put_variable("sums", "n", tf.reduce_sum(x))
            return 2.0 * x

    module = nn.jit(Sows)()
    start = {"sums": {"n": tf.zeros([])}}
    for _ in range(2):
        near(module.apply(start, X), 2.0 * X)
        _, updated = module.apply(start, X, mutable=["intermediates"])
        near(updated["intermediates"]["h"][0], X)
        _, updated = module.apply(start, X, mutable=["sums"])
        near(updated["sums"]["n"], tf.reduce_sum(X))
    bound = module.bind(start)
    for _ in range(2):
        bound(X)
        with bound.capture() as sown:
            bound(X)
        near(sown["intermediates"]["h"][0], X)


def test_a_trace_serves_no_other_options() -> None:
    traces: list[int] = []
    cls = counted(traces)
    variables = cls().init(nn.key(0), X)
    traces.clear()
    for options in ({}, {}, {"jit_compile": True}, {"jit_compile": True}, {}):
        nn.jit(cls, **options)().apply(variables, X)
    assert len(traces) == 2


@pytest.mark.parametrize("lift", [nn.jit, lambda fn: nn.vmap(fn, {"params": None})])
def test_an_interceptor_leaves_no_trace_behind(lift: Any) -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    lifted = lift(lambda m, x: m(x))

    def off(next_fun, args, kwargs, context):
        return next_fun(*args, **kwargs) * 0

    for _ in range(2):
        with nn.intercept_methods(off):
            near(lifted(dense, X), tf.zeros([3, 2]))
        near(lifted(dense, X), dense(X))


def test_what_is_captured_depends_on_what_is_wanted() -> None:
    class Pair(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(2, name="b")(nn.Dense(2, name="a")(x))

    class Outer(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.jit(Pair)(name="pair")(x)

    variables = Outer().init(nn.key(0), X)
    for wanted in ("a", "b", "a"):
        _, state = Outer().apply(
            variables, X, capture_intermediates=lambda m, _, name=wanted: m.name == name
        )
        assert list(state["intermediates"]["pair"]) == [wanted]


def test_a_trace_that_captures_serves_until_what_it_captured_is_another() -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    traces: list[int] = []
    mask, factor = tf.constant([1.0, 0.0]), tf.Variable(2.0)

    @nn.jit
    def masked(m, x):
        traces.append(1)
        return m(x) * mask * factor

    for value in (2.0, 3.0):
        factor.assign(value)
        near(masked(dense, X), dense(X) * mask * value)
    assert len(traces) == 1
    mask = tf.constant([0.0, 1.0])
    for _ in range(2):
        near(masked(dense, X), dense(X) * mask * 3.0)
    assert len(traces) == 2
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(masked(dense, X))
    near(tape.gradient(loss, factor), tf.reduce_sum(dense(X) * mask))


def test_a_trace_with_tensors_of_the_graph_around_it_is_not_kept() -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))

    @tf.function
    def outer(x, scale):
        return nn.jit(lambda m, y: m(y) * scale)(dense, x)

    for scale in (2.0, 3.0):
        near(outer(X, tf.constant(scale)), dense(X) * scale)
        near(outer(tf.concat([X, X], 0), tf.constant(scale))[:3], dense(X) * scale)


def test_traces_that_capture_go_with_their_function() -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))

    def calls() -> list[Any]:
        big, factor = tf.ones([10]), tf.Variable(2.0)

        def scaled(m, x):
            return m(x) * big[0] * factor

        for _ in range(2):
            near(nn.jit(scaled)(dense, X), dense(X) * 2.0)
        return [weakref.ref(big), weakref.ref(factor)]

    dead = calls()
    for _ in range(3):  # the graphs are cycles, which end when the function has
        gc.collect()
    assert [ref() for ref in dead] == [None, None]


def test_ragged_and_sparse_tensors_and_variables_go_through_jit() -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    ragged = tf.ragged.constant([[1.0, 2.0], [3.0, 4.0]])
    near(nn.jit(lambda m, r: m(r.to_tensor()))(dense, ragged), dense(ragged.to_tensor()))
    sparse = tf.sparse.from_dense([[1.0, 0.0], [0.0, 4.0]])
    doubled = nn.jit(lambda m, s: tf.sparse.map_values(tf.multiply, s, 2.0))(dense, sparse)
    near(tf.sparse.to_dense(doubled), tf.constant([[2.0, 0.0], [0.0, 8.0]]))
    steps = tf.Variable(0.0)
    for _ in range(2):
        nn.jit(lambda m, v: v.assign_add(1.0))(dense, steps)
    assert float(steps) == 2.0


@pytest.mark.parametrize(
    "value", [tf.ragged.constant([[1.0], [2.0]]), tf.sparse.from_dense([[1.0]])]
)
def test_remat_refuses_what_it_would_give_no_gradient(value: Any) -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    with raises(nn.TransformError):
        nn.remat(lambda m, v: v)(dense, value)


def test_a_trace_serves_no_other_precision() -> None:
    before = keras.config.dtype_policy()
    jitted = nn.jit(nn.Dense)(2)
    variables = jitted.init(nn.key(0), X)
    try:
        for policy in ("float32", "mixed_float16", "float32"):
            keras.config.set_dtype_policy(policy)
            expected = "float16" if policy == "mixed_float16" else "float32"
            assert jitted.apply(variables, X).dtype == expected
    finally:
        keras.config.set_dtype_policy(before)


@pytest.mark.parametrize("decorated", [False, True], ids=["class", "method"])
def test_equal_siblings_share_a_trace(decorated: bool) -> None:
    """As in Flax Linen: three siblings are traced once, and once more where they write."""
    ran: list[str] = []

    class Counts(nn.Module):
        key: int

        @nn.compact
        def __call__(self, x):
            ran.append("counts")
            count = self.variable("counts", "count", lambda: 0)
            if not self.is_initializing():
                count.value += 1
            return x + float(self.key)

    if decorated:
        Counts.__call__ = nn.jit(Counts.__call__)
    cls = Counts if decorated else nn.jit(Counts)

    class Parent(nn.Module):
        @nn.compact
        def __call__(self, x):
            for _ in range(3):
                x = cls(1)(x)
            return cls(2)(x)

    x = tf.constant(1.0)
    counts = Parent().init({}, x)["counts"]
    assert len(ran) == 2  # one for each configuration
    for n in (1, 2):
        y, updated = Parent().apply({"counts": counts}, x, mutable=["counts"])
        counts = updated["counts"]
        assert float(y) == 6.0
        assert [int(each["count"]) for each in counts.values()] == [n] * 4
        assert len(ran) == 4
    model = Parent().bind({"counts": counts})
    model(x)
    assert [int(v) for v in model.variables] == [3] * 4


def test_siblings_that_draw_or_ask_where_they_are_share_no_trace() -> None:
    class Draws(nn.Module):
        @nn.compact
        def __call__(self, x):
            return x + tf.random.stateless_normal([2], self.make_rng("noise"))

    class Asks(nn.Module):
        how: str

        @nn.compact
        def __call__(self, x):
            place = self.name if self.how == "name" else "/".join(self.path)
            return x + float(place[-1])

    class Parent(nn.Module):
        cls: Any
        args: Any = ()

        @nn.compact
        def __call__(self, x):
            return [self.cls(*self.args, name=f"m_{i}")(x) for i in range(3)]

    rngs = {"noise": nn.key(4)}
    for cls, args in ((Draws, ()), (Asks, ("name",)), (Asks, ("path",))):
        want = Parent(cls, args).apply({}, X, rngs=rngs)
        for _ in range(2):
            near(Parent(nn.jit(cls), args).apply({}, X, rngs=rngs), want)
        assert len({float(tf.reduce_sum(each)) for each in want}) == 3


def test_siblings_with_parameters_of_their_own_share_a_trace() -> None:
    traces: list[Any] = []
    cls = nn.jit(counted(traces))

    class Parent(nn.Module):
        @nn.compact
        def __call__(self, x):
            return [cls(name=f"m_{i}")(x) for i in range(3)]

    variables = Parent().init(nn.key(0), X)
    del traces[:]
    outputs = Parent().apply(variables, X)
    assert len(traces) == 1
    for output, params in zip(outputs, variables["params"].values(), strict=True):
        near(output, X @ params["Dense_0"]["kernel"])
    model = Parent().bind(variables)
    near(model(X)[2], outputs[2])
    model["m_1/Dense_0/kernel"].assign(tf.zeros([2, 2]))
    assert [bool(tf.reduce_any(y != 0.0)) for y in model(X)] == [True, False, True]
    assert len(traces) == 2  # of apply, and of the bound module, which may write more


def test_what_a_method_counts_itself_decides_nothing() -> None:
    count, factor = 0, 2.0

    class Counts(nn.Module):
        @nn.jit
        def __call__(self, x):
            nonlocal count
            count += 1
            return factor * x

    for value in (1.0, 2.0):
        assert float(Counts().apply({}, tf.constant(value))) == 2.0 * value
    assert count == 1
    factor = 3.0
    assert float(Counts().apply({}, tf.constant(1.0))) == 3.0


rate = 2.0


def helper(x: Any) -> Any:
    return x * rate


@pytest.mark.parametrize("transform", [nn.jit, lambda f: nn.vmap(f, {"params": None})])
def test_what_the_code_reads_is_what_it_is_now(
    transform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Scaled(nn.Module):
        offset = 0.0

        @nn.compact
        def __call__(self, x):
            return helper(x) + self.offset + options["bias"]

    options = {"bias": 0.0}
    call = transform(lambda m, x: m(x))
    model = Scaled().bind({})
    near(call(model, X), 2.0 * X)
    monkeypatch.setitem(globals(), "rate", 3.0)
    near(call(model, X), 3.0 * X)
    options["bias"] = 1.0
    near(call(model, X), 3.0 * X + 1.0)
    Scaled.offset = 2.0
    near(call(model, X), 3.0 * X + 3.0)
    monkeypatch.setitem(globals(), "helper", lambda x: -x)
    near(call(model, X), 3.0 - X)
    monkeypatch.undo()
    near(call(model, X), 2.0 * X + 3.0)


def test_a_jitted_function_that_counts_its_traces_is_traced_once() -> None:
    count, log = 0, []

    def counted_calls(m: Any, x: Any) -> Any:
        nonlocal count
        count += 1
        log.append(count)
        return m(x)

    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    call = nn.jit(counted_calls)
    for _ in range(4):
        call(dense, X)
    assert (count, log) == (1, [1])


@pytest.mark.parametrize("value", [0.0, float("nan"), 1.5])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_number_is_the_one_that_was_given(value: Any) -> None:
    traces = []

    @nn.jit
    def divided(module, x, by):
        traces.append(by)
        return module(x) / by

    dense = nn.Dense(1, kernel_initializer=nn.initializers.ones)
    bound = dense.bind(dense.init(nn.key(0), X))
    for by in (value, -value):
        expected = bound(X).numpy() / np.float32(by)  # eager TensorFlow takes -0.0 for 0.0
        for _ in range(2):
            np.testing.assert_allclose(divided(bound, X, by), expected, rtol=1e-5)
    assert len(traces) == (1 if value != value else 2)


def test_calls_whose_trace_is_not_kept_leave_nothing(monkeypatch) -> None:
    kept: dict[Any, Any] = OrderedDict()
    monkeypatch.setattr(traces, "_cache", kept)
    printed: list[int] = []

    def effectful(m: Any, x: Any) -> Any:
        printed.append(1)
        return m(x)

    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    for size in range(1, 4):
        nn.vmap(effectful, {"params": None})(dense, tf.ones([size, X.shape[-1]]))
    assert printed
    assert not kept
