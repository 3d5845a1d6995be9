"""What ``nn.jit`` and eager ``nn.vmap`` trace, as the session lists it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import nn
from nbfn.functions import live_functions
from nbfn.sessions.contents.transformed import (
    TransformedMethod,
    observe_transformations,
    stop_observing_transformations,
)
from tests.harness.messages import warns

X = tf.ones([2, 3])


@pytest.fixture(autouse=True)
def observed() -> Iterator[None]:
    observe_transformations()
    yield
    stop_observing_transformations()


def listed(name: str) -> TransformedMethod:
    (found,) = (each for each in live_functions() if each.recorder.name == name)
    assert isinstance(found, TransformedMethod)
    return found


def test_traces_hits_and_causes_of_a_jitted_class(monkeypatch: pytest.MonkeyPatch) -> None:
    rate = 1.0

    class Net(nn.Module):
        units: int

        @nn.compact
        def __call__(self, x: Any, scale: float = 1.0) -> Any:
            return nn.Dense(self.units)(x) * scale * rate

    fast = nn.jit(Net)
    net = fast(units=2)
    variables = net.init(nn.key(0), X)
    for _ in range(3):
        net.apply(variables, X)
    f = listed("nn.jit(Net.__call__)")
    assert (f.calls, f.hits, len(f.traces), len(f.retraces)) == (3, 2, 1, 0)
    assert f.traces[0].signature == (
        "self: Module Net(units=2), x: float32[2, 3], scale: float 1.0"
    )
    net.apply(variables, tf.ones([4, 3]))
    net.apply(variables, X, scale=2.0)
    rate = 2.0
    net.apply(variables, X)
    other = fast(units=4)
    other.apply(other.init(nn.key(0), X), X)
    causes = [[cause.sentence for cause in each.causes] for each in f.retraces]
    assert causes == [
        ["`x`: shape was [2, 3], is [4, 3]"],
        ["`scale`: Python value was 1.0, is 2.0"],
        ["closure `rate` was 1.0, is 2.0"],
        ["`self`: Python value was Net(units=2), is Net(units=4)"],
    ]


def test_functions_of_modules_and_mapped_classes() -> None:
    class Each(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(2)(x)

    net = Each()
    variables = net.init(nn.key(0), X)
    bound = net.bind(variables)

    def doubled(module: Any, x: Any) -> Any:
        return module(x) * 2.0

    fast = nn.jit(doubled)
    mapped = nn.vmap(Each, variable_axes={"params": None}, split_rngs={"params": False})
    for _ in range(2):
        fast(bound, X)
        mapped().apply(variables, tf.ones([5, 2, 3]))
    for name in ("nn.jit(doubled)", "nn.vmap(Each.__call__)"):
        assert (listed(name).calls, listed(name).hits, len(listed(name).traces)) == (2, 1, 1)


def test_a_method_whose_cell_runs_again_replaces_the_one_before() -> None:
    source = """
class Doubled(nn.Module):
    def __call__(self, x):
        return x * 2.0
net = nn.jit(Doubled)().bind({})
"""
    made = []
    for _ in range(3):
        namespace: dict[str, Any] = {"nn": nn, "__name__": "__main__"}
        exec(source, namespace)
        made.append(namespace["net"])
        namespace["net"](X)
        method = listed("nn.jit(Doubled.__call__)")
        assert (method.calls, len(method.traces), len(method.retraces)) == (1, 1, 0)
    made[0](X)
    assert listed("nn.jit(Doubled.__call__)").calls == 1


def test_it_keeps_nothing_of_the_users_alive() -> None:
    def made(module: Any, x: Any) -> Any:
        return module(x)

    net = nn.Dense(2)
    bound = net.bind(net.init(nn.key(0), X))
    nn.jit(made)(bound, X)
    f, gone = listed("nn.jit(made)"), weakref.ref(bound)
    del bound, net
    gc.collect()
    assert gone() is None
    assert f.python_function is made


def test_an_observer_that_fails_breaks_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransformedMethod, "note", lambda *_: 1 / 0)
    net = nn.jit(nn.Dense)(2)
    variables = net.init(nn.key(0), X)
    with warns(nbfn.NbfnWarning):
        assert net.apply(variables, X).shape == (2, 2)
