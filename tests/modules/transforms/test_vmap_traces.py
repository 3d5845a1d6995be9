"""Eager nn.vmap keeps its traces: how long, for which calls, and what makes a new one."""

from __future__ import annotations

import builtins
import dataclasses
import gc
import random
import types
import weakref
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn

X = tf.random.stateless_normal([3, 2], nn.key(5))
SHARED: dict[str, Any] = {"variable_axes": {"params": None}, "split_rngs": {"params": False}}
scale = 2.0


def reported(name: str) -> None:
    """Notes a trace where the traced code does not seem to change anything."""
    builtins.traced_by_vmap.append(name)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def traces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ran in Python since the last look; builtins are no state of the code."""
    found: list[str] = []
    monkeypatch.setattr("builtins.traced_by_vmap", found, raising=False)
    return found


def runs(traces: list[str]) -> int:
    count = len(traces)
    traces.clear()
    return count


class Linear(nn.Module):
    factor: float = 1.0

    @nn.compact
    def __call__(self, x):
        reported("linear")
        return self.factor * (x @ self.param("w", nn.initializers.normal(1.0), (2, 2)))


def shared(module: Any, **options: Any) -> Any:
    mapped = nn.vmap(lambda m, x: m(x[None])[0], **{**SHARED, **options})
    return lambda x: mapped(module, x)


def bound(module: Any) -> Any:
    return module.bind(module.init(nn.key(0), X))


def test_a_second_call_traces_nothing(traces: list[str]) -> None:
    members = nn.vmap(
        Linear, in_axes=None, axis_size=4, variable_axes={"params": 0}, split_rngs={"params": True}
    )()
    model = bound(members)
    first = model(X)
    runs(traces)
    np.testing.assert_allclose(model(X), first)
    np.testing.assert_allclose(model(2.0 * X), 2.0 * first, rtol=1e-5)
    assert runs(traces) == 0
    model["w"].assign(tf.zeros_like(model["w"]))
    assert not np.any(model(X))
    variables = members.init(nn.key(1), X)
    runs(traces)
    np.testing.assert_allclose(
        members.apply(variables, X),
        tf.einsum("bi,nio->nbo", X, variables["params"]["w"]),
        rtol=1e-5,
    )
    assert runs(traces) == 1  # another application, and no random streams there
    members.apply(variables, 2.0 * X)
    assert runs(traces) == 0


def test_other_shapes_dtypes_and_axes_are_other_traces(traces: list[str]) -> None:
    model = bound(Linear())
    call = shared(model)
    runs(traces)
    for x in (X, tf.concat([X, X], 0), X[:1]):
        np.testing.assert_allclose(call(x), x @ model["w"], rtol=1e-5)
        assert runs(traces) == 1
    call(X)
    assert runs(traces) == 0
    np.testing.assert_allclose(shared(model, in_axes=1)(tf.transpose(X)), X @ model["w"], rtol=1e-5)
    assert runs(traces) == 1


def test_modules_of_other_fields_have_other_traces(traces: list[str]) -> None:
    one, other = bound(Linear()), bound(Linear(3.0))
    np.testing.assert_allclose(3.0 * shared(one)(X), shared(other)(X), rtol=1e-5)
    runs(traces)
    again = bound(Linear(3.0))
    runs(traces)
    shared(again)(X)
    assert runs(traces) == 0  # alike, so it shares the trace, with variables of its own
    again["w"].assign(tf.zeros_like(again["w"]))
    assert not np.any(shared(again)(X))
    assert np.any(shared(other)(X))


def read_global(x: Any) -> Any:
    return scale * x


class Settings:
    def __init__(self) -> None:
        self.rate = 2.0
        self.inner = types.SimpleNamespace(sizes=[1.0])


@dataclasses.dataclass
class Slotted:
    __slots__ = ("rate",)
    rate: float


def test_what_the_code_reads_and_somebody_changes_is_seen(
    monkeypatch: pytest.MonkeyPatch, traces: list[str]
) -> None:
    """A global, an attribute, what a container holds, a method, a helper, an array."""
    settings, slotted, table, array = Settings(), Slotted(2.0), {"a": [1.0]}, np.ones(2, np.float32)

    class Reads(nn.Module):
        settings: Any

        @nn.compact
        def __call__(self, x):
            reported("reads")
            y = read_global(x) * self.settings.rate * table["a"][0] * slotted.rate
            return self.more(y) * array * self.settings.inner.sizes[0]

        def more(self, x):
            return x

    model = Reads(settings).bind({})

    def factor() -> float:
        got = shared(model)(X)
        assert runs(traces) == 1
        assert np.allclose(got, shared(model)(X))
        assert runs(traces) == 0
        return float(tf.reduce_mean(got / X))

    assert factor() == pytest.approx(8.0)
    monkeypatch.setitem(globals(), "scale", 4.0)
    assert factor() == pytest.approx(16.0)
    settings.rate = 1.0
    assert factor() == pytest.approx(8.0)
    settings.inner.sizes[0] = 3.0
    assert factor() == pytest.approx(24.0)
    table["a"] = [0.5]
    assert factor() == pytest.approx(12.0)
    slotted.rate = 4.0
    assert factor() == pytest.approx(24.0)
    array[:] = 0.5
    assert factor() == pytest.approx(12.0)
    monkeypatch.setattr(Reads, "more", lambda self, x: -x)
    assert factor() == pytest.approx(-12.0)
    monkeypatch.setitem(globals(), "read_global", lambda x: x)
    assert factor() == pytest.approx(-3.0)


def test_a_function_that_does_something_does_it_in_each_call() -> None:
    log, count = [], 0

    def logs(m: Any, x: Any) -> Any:
        log.append(len(log))
        return m(x[None])[0]

    def counts(m: Any, x: Any) -> Any:
        nonlocal count
        count += 1
        return count * m(x[None])[0]

    model = bound(Linear())
    for n in (1, 2, 3):
        nn.vmap(logs, **SHARED)(model, X)
        assert len(log) == n
        y = nn.vmap(counts, **SHARED)(model, X)
        np.testing.assert_allclose(y, n * (X @ model["w"]), rtol=1e-5)


def test_a_function_that_changes_something_to_and_fro_does_so_in_each_call() -> None:
    switch = {"on": False}

    def turns(m: Any, x: Any) -> Any:
        switch["on"] = not switch["on"]
        return m(x[None])[0]

    model = bound(Linear())
    for on in (True, False, True, False, True):
        nn.vmap(turns, **SHARED)(model, X)
        assert switch["on"] is on


def test_random_numbers_are_new_in_each_call_and_those_of_a_fresh_trace() -> None:
    class Noisy(nn.Module):
        @nn.compact
        def __call__(self, x):
            return x + tf.random.stateless_normal([2], self.make_rng("noise"))

    mapped = nn.vmap(Noisy, split_rngs={"noise": True})
    model, twin = (mapped().bind({}, rngs={"noise": nn.key(3)}) for _ in range(2))
    drawn = [model(X).numpy() for _ in range(3)]
    assert not np.allclose(drawn[0], drawn[1])
    assert not np.allclose(drawn[0][0] - X[0], drawn[0][1] - X[1])
    for want in drawn:
        np.testing.assert_allclose(tf.function(twin)(X), want, rtol=1e-6)


def test_state_is_written_and_gradients_flow_through_a_kept_trace() -> None:
    class Counting(nn.Module):
        @nn.compact
        def __call__(self, x):
            seen = self.variable("stats", "sum", tf.zeros, [2])
            if not self.is_initializing():
                seen.value += x
            return x * self.param("w", nn.initializers.ones, [2])

    axes = {"params": None, "stats": 0}
    mapped = nn.vmap(Counting, variable_axes=axes, split_rngs={"params": False})
    model = bound(mapped())
    for n in (1, 2, 3):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(model(X))
        np.testing.assert_allclose(tape.gradient(y, model["w"]), tf.reduce_sum(X, 0), rtol=1e-5)
        np.testing.assert_allclose(model["sum"], n * X, rtol=1e-5)


def test_a_kept_trace_keeps_nothing_of_the_users_alive() -> None:
    def once() -> list[Any]:
        class Own(nn.Module):
            settings: Any

            @nn.compact
            def __call__(self, x):
                return x * self.param("w", nn.initializers.ones, [2]) * self.settings.rate

        settings = Settings()
        model = bound(nn.vmap(Own, **SHARED)(settings))
        model(X)
        model(X)
        return [weakref.ref(each) for each in (Own, settings, model, model["w"])]

    references = once()
    gc.collect()
    assert [reference() for reference in references] == [None] * 4


def test_a_large_array_is_seen_when_it_changes() -> None:
    array = np.ones([200, 2, 100], np.float32)
    model = bound(Linear())
    mapped = nn.vmap(lambda m, x: m(x[None])[0] * tf.reduce_mean(array), **SHARED)
    before = mapped(model, X)
    array[:] = 2.0
    np.testing.assert_allclose(mapped(model, X), 2.0 * before, rtol=1e-5)


def test_modules_in_fields_and_layers_of_keras_are_looked_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Inner(nn.Module):
        factor: list[float]

        def __call__(self, x):
            return self.factor[0] * x

    class Outer(nn.Module):
        inner: Any
        layer: Any

        def __call__(self, x):
            return self.layer(self.inner(x))

    factor, layer = [2.0], keras.layers.Rescaling(3.0)
    model = nn.vmap(Outer, **SHARED)(Inner(factor), layer).bind({})
    np.testing.assert_allclose(model(X), 6.0 * X, rtol=1e-6)
    layer.scale = 5.0
    np.testing.assert_allclose(model(X), 10.0 * X, rtol=1e-6)
    monkeypatch.setattr(Inner, "__call__", lambda self, x: x)
    np.testing.assert_allclose(model(X), 5.0 * X, rtol=1e-6)


def test_the_device_and_eager_mode_are_heeded(traces: list[str]) -> None:
    model = bound(Linear())
    call = shared(model)
    y = call(X)
    runs(traces)
    with tf.device("CPU:0"):
        np.testing.assert_allclose(call(X), y)
    assert runs(traces) == 1
    call(X)
    assert runs(traces) == 0
    tf.config.run_functions_eagerly(True)
    try:
        np.testing.assert_allclose(call(X), y, rtol=1e-5)
        assert runs(traces) > 0
    finally:
        tf.config.run_functions_eagerly(False)


def test_what_python_and_numpy_draw_is_drawn_in_each_call() -> None:
    numbers, legacy = np.random.default_rng(0), np.random.RandomState(0)
    rest = iter(range(100))
    sources = (
        lambda: np.random.rand(),
        lambda: random.random(),
        lambda: numbers.random(),
        lambda: legacy.rand(),
        lambda: next(rest),
    )
    for source in sources:

        def shifted(module: Any, x: Any, source: Any = source) -> Any:
            return x + float(source())

        bound = nn.Dense(1).bind(nn.Dense(1).init(nn.key(0), X))
        found = {float(nn.vmap(shifted, **SHARED)(bound, X)[0, 0]) for _ in range(2)}
        assert len(found) == 2
