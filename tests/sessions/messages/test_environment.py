"""What the feed knows of models and devices from the kernel's main thread."""

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
from nbfn.outlines.outline import MAX_TREE
from nbfn.sessions.messages import environment
from nbfn.sessions.messages import feed as feed_module
from nbfn.sessions.messages.environment import update_environment
from nbfn.sessions.messages.feed import feed
from nbfn.sessions.session import Session


@pytest.fixture(autouse=True)
def _forget(monkeypatch) -> None:
    monkeypatch.setattr(feed().environment, "models", {})
    monkeypatch.setattr(environment, "_read_at", {})


def names() -> dict[str, list[str]]:
    return {
        name: [str(row[0]) for row in page.tables[0].rows]
        for name, (_, page) in feed().environment.models.items()
    }


def test_models_are_reported_and_taken_out_again() -> None:
    spec = nn.Sequential([nn.Dense(2)])
    held: dict[str, Any] = {"spec": spec, "rate": 0.1}
    update_environment(Session(held).named())
    assert names() == {"spec": ["spec", "dense"]}
    held["net"] = spec.bind(spec.init(nn.key(0), tf.ones([1, 3])))
    update_environment(Session(held).named())
    assert names()["net"] == ["net", "dense", "bias", "kernel"]
    row, page = feed().environment.models["net"]
    assert (row.id, row.label, row.parameters) == ("net", "Sequential", 8)
    assert page.tables[0].depths == [0, 1, 2, 2]
    feed().flush()
    assert set(feed().snapshot().state.models) == {"spec", "net"}
    del held["spec"]
    update_environment(Session(held).named())
    feed().flush()
    assert set(feed().snapshot().state.models) == {"net"}


def test_devices_are_reported_once_there_is_a_trace() -> None:
    f = nbfn.function(lambda x: x + 1.0)
    f(tf.ones([1]))
    update_environment([])
    assert "CPU" in {row.kind for row in feed().environment.devices.values()}


def test_large_models_are_cut_and_read_rarely(monkeypatch) -> None:
    large = tf.Module()
    large.all = [tf.Variable(float(n)) for n in range(MAX_TREE + 50)]
    small = tf.Module()
    held = {"large": large, "small": small}
    update_environment(Session(held).named())
    assert (len(names()["large"]), total("large")) == (MAX_TREE, MAX_TREE + 51)
    assert len(names()["small"]) == 1
    monkeypatch.setattr(environment, "_read_at", {id(large): float("inf")})
    large.more, small.more = tf.Variable(1.0), tf.Variable(1.0)
    update_environment(Session(held).named())
    assert total("large") == MAX_TREE + 51
    assert total("small") == 2


def total(name: str) -> int:
    """How many rows the tree of a model has."""
    _, page = feed().environment.models[name]
    return page.tables[0].total


def test_the_tree_of_a_model_is_sent_while_it_is_looked_at() -> None:
    held: dict[str, Any] = {"net": tf.Module()}
    update_environment(Session(held).named())
    messages: list[Any] = []
    feed().subscribe(messages.append)
    feed().set_shown(messages.append, ["model/net"])
    assert messages[-1].pages["model/net"].title == "net: Module"
    held["net"].scale = tf.Variable(1.0)
    environment._read_at.clear()
    update_environment(Session(held).named())
    feed().flush()
    (table,) = messages[-1].pages["model/net"].tables
    assert [row[0] for row in table.rows] == ["net", "scale"]
    update_environment([])
    feed().flush()
    assert messages[-1].pages["model/net"] is None
    feed().unsubscribe(messages.append)


def test_values_are_read_while_somebody_looks_and_reported_when_they_change() -> None:
    rate = tf.Variable([1.0, 3.0])
    named = Session({"rate": rate}).named()
    update_environment(named)
    assert feed().environment.values is None
    messages: list[Any] = []
    asked: list[int] = []
    feed().environment.read_shown = lambda: asked.append(1)
    feed().subscribe(messages.append)
    feed().set_shown(messages.append, ["values"])
    assert messages[-1].pages["values"].lines == ["read as soon as the kernel has time"]
    assert asked == [1]
    for value in (2.0, 4.0):
        rate.assign([value, value])
        update_environment(named)
        feed().flush()
        (table,) = messages[-1].pages["values"].tables
        assert table.rows[0][:2] == ["rate", "float32[2]"]
        assert table.rows[0][3] == f"{value:.4g} ± 0"
    first = Session({"rate": rate}).statistics("rate")
    assert first[0].change is None  # what is only shown is no look
    feed().unsubscribe(messages.append)
    update_environment(named)
    assert feed().environment.values is None


def test_objects_are_read_while_somebody_looks_and_for_the_text() -> None:
    held: dict[str, Any] = {"rows": tf.data.Dataset.range(3), "rate": tf.Variable(1.0)}
    session = Session(held)
    feed().environment.objects = {}
    update_environment(session.named())
    assert feed().environment.objects == {}
    messages: list[Any] = []
    asked: list[int] = []
    feed().environment.read_shown = lambda: asked.append(1)
    feed().subscribe(messages.append)
    feed().set_shown(messages.append, ["variables"])
    assert asked == [1]
    held["adam"] = [keras.optimizers.Adam()]
    update_environment(session.named())
    feed().flush()
    table = messages[-1].pages["variables"].tables[-1]
    assert table.title.startswith("tables, datasets")
    assert [row[0] for row in table.rows] == ["rows", "adam/0"]
    feed().unsubscribe(messages.append)
    del held["rows"]
    update_environment(session.named(), now=True)
    assert [*feed().environment.objects] == ["adam/0"]
    held.clear()
    update_environment([], now=True)


def made(width: int) -> keras.Model:
    inputs = keras.Input((3,))
    return keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Dense(width)(inputs)))


def look(held: dict[str, Any], monkeypatch) -> tuple[set[str], int]:
    """After a cell: the variables that are listed, and how many there are of some functions."""
    monkeypatch.setattr(environment, "_read_at", {})
    update_environment(Session(held).named())
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
