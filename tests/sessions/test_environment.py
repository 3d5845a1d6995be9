"""What the feed is told of models and devices by the kernel's main thread."""

from __future__ import annotations

import gc
import sys
from types import ModuleType
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn
from nbfn import nn
from nbfn.functions import live_functions
from nbfn.sessions import environment
from nbfn.sessions import feed as feed_module
from nbfn.sessions.environment import MODEL_ROWS, tell_environment
from nbfn.sessions.feed import feed
from nbfn.sessions.session import Session


@pytest.fixture(autouse=True)
def _forget(monkeypatch) -> None:
    monkeypatch.setattr(feed().environment, "models", {})
    monkeypatch.setattr(environment, "_read_at", {})


def names() -> dict[str, list[str]]:
    return {
        name: [row.path for row in record.rows]
        for name, record in feed().environment.models.items()
    }


def test_models_are_told_and_taken_out_again() -> None:
    spec = nn.Sequential([nn.Dense(2)])
    held: dict[str, Any] = {"spec": spec, "rate": 0.1}
    tell_environment(Session(held).named())
    assert names() == {"spec": ["", "dense"]}
    held["net"] = spec.bind(spec.init(nn.key(0), tf.ones([1, 3])))
    tell_environment(Session(held).named())
    assert names()["net"] == ["", "dense", "dense/bias", "dense/kernel"]
    (whole, *_) = feed().environment.models["net"].rows
    assert (whole.name, whole.label, whole.parameters) == ("net", "Sequential", 8)
    feed().flush()
    assert set(feed().snapshot().state.models) == {"spec", "net"}
    del held["spec"]
    tell_environment(Session(held).named())
    feed().flush()
    assert set(feed().snapshot().state.models) == {"net"}


def test_devices_are_told_once_there_is_a_trace() -> None:
    f = nbfn.function(lambda x: x + 1.0)
    f(tf.ones([1]))
    tell_environment([])
    assert "CPU" in {row.kind for row in feed().environment.devices.values()}


def test_large_models_are_cut_and_read_rarely(monkeypatch) -> None:
    large = tf.Module()
    large.all = [tf.Variable(float(n)) for n in range(MODEL_ROWS + 50)]
    small = tf.Module()
    held = {"large": large, "small": small}
    tell_environment(Session(held).named())
    record = feed().environment.models["large"]
    assert (len(record.rows), record.total) == (MODEL_ROWS, MODEL_ROWS + 51)
    assert len(feed().environment.models["small"].rows) == 1
    monkeypatch.setattr(environment, "_read_at", {id(large): float("inf")})
    large.more, small.more = tf.Variable(1.0), tf.Variable(1.0)
    tell_environment(Session(held).named())
    assert feed().environment.models["large"].total == MODEL_ROWS + 51
    assert feed().environment.models["small"].total == 2


def made(width: int) -> keras.Model:
    inputs = keras.Input((3,))
    return keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Dense(width)(inputs)))


def look(held: dict[str, Any], monkeypatch) -> tuple[set[str], int]:
    """After a cell: the variables that are listed, and how many there are of some functions."""
    monkeypatch.setattr(environment, "_read_at", {})
    tell_environment(Session(held).named())
    feed().flush()
    snapshot = feed().snapshot()
    rows = snapshot.state.variables.values()
    assert snapshot.totals is not None
    return {row.id for row in rows}, snapshot.totals.variables


@pytest.fixture
def own_feed(monkeypatch):
    """A feed of the functions that a test makes."""
    known = {function.id for function in live_functions()}

    def scope():
        return [each for each in live_functions() if each.id not in known], ()

    monkeypatch.setattr(feed_module, "_feed", feed_module.Feed(scope))
    feed()._is_whole = True


@pytest.mark.parametrize("passed", [True, False])
def test_variables_of_a_model_that_was_made_again_are_listed_once(own_feed, monkeypatch, passed):
    held: dict[str, Any] = {"__name__": "__main__", "model": made(2), "x": tf.ones([1, 3])}
    exec(
        "def step(model):\n    return model(x)" if passed else "def step():\n    return model(x)",
        held,
    )
    held["step"] = step = nbfn.function(held["step"], autograph=False)
    gc.disable()
    try:
        for _ in range(3):
            step(*[held["model"]] * passed)
            ids, total = look(held, monkeypatch)
            captured = {each.id for each in step.captures if each.is_current and each.is_alive}
            live = {id(each) for each in Session(held).variables.values()} | {id(held["x"])}
            now = {each.id for each in step.captures if each.is_alive and id(each.value) in live}
            assert ids == now
            assert (len(ids), total) == (5, 4)  # x is no variable
            assert now <= captured
            held["model"] = made(2)  # the old one lives on in a cycle
            again, total = look(held, monkeypatch)
            assert (len(again & ids), len(again), total) == (1, 5, 4)
    finally:
        gc.enable()


def test_captures_of_stale_traces_come_last_and_say_so() -> None:
    held: dict[str, Any] = {"__name__": "__main__", "model": made(2)}
    exec("def step(x):\n    return model(x)", held)
    step = nbfn.function(held["step"], autograph=False)
    step(tf.ones([1, 3]))
    old, held["model"] = held["model"], made(2)
    assert "kernel: float32[3, 2] on CPU:0, in traces only that are stale" in repr(step.captures)
    step(tf.ones([1, 3]))
    assert [each.is_current for each in step.captures] == [True] * 4 + [False] * 4
    del old
    gc.collect()
    assert repr(step.captures).count("no longer exists") == 4


def test_a_model_that_is_back_is_listed_again(own_feed, monkeypatch) -> None:
    held: dict[str, Any] = {"__name__": "__main__", "model": made(2)}
    exec("def step(x):\n    return model(x)", held)
    step = held["step"] = nbfn.function(held["step"], autograph=False)
    step(tf.ones([1, 3]))
    before = look(held, monkeypatch)
    old, held["model"] = held["model"], None
    assert look(held, monkeypatch) == (set(), 0)
    held["model"] = old
    assert look(held, monkeypatch) == before


def test_what_a_function_closes_over_or_a_module_holds_is_listed(
    own_feed, monkeypatch, tmp_path
) -> None:
    def make():
        hidden = made(2)
        return nbfn.function(lambda x: hidden(x)), hidden

    step, _ = make()
    module = ModuleType("my_models")
    module.__file__, module.net = str(tmp_path / "my_models.py"), made(3)
    monkeypatch.setitem(sys.modules, "my_models", module)
    apply = nbfn.function(lambda model, x: model(x))
    step(tf.ones([1, 3]))
    apply(module.net, tf.ones([1, 3]))
    held = {"my_models": module}
    assert look(held, monkeypatch)[1] == 8
    held.clear()
    assert look(held, monkeypatch)[1] == 4
