"""What the feed is told of models and devices by the kernel's main thread."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import nn
from nbfn.sessions import environment
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
    tell_environment(Session(held))
    assert names() == {"spec": ["", "dense"]}
    held["net"] = spec.bind(spec.init(nn.key(0), tf.ones([1, 3])))
    tell_environment(Session(held))
    assert names()["net"] == ["", "dense", "dense/bias", "dense/kernel"]
    (whole, *_) = feed().environment.models["net"].rows
    assert (whole.name, whole.label, whole.parameters) == ("net", "Sequential", 8)
    feed().flush()
    assert set(feed().snapshot().state.models) == {"spec", "net"}
    del held["spec"]
    tell_environment(Session(held))
    feed().flush()
    assert set(feed().snapshot().state.models) == {"net"}


def test_devices_are_told_once_there_is_a_trace() -> None:
    f = nbfn.function(lambda x: x + 1.0)
    f(tf.ones([1]))
    tell_environment(Session({}))
    assert "CPU" in {row.kind for row in feed().environment.devices.values()}


def test_large_models_are_cut_and_read_rarely(monkeypatch) -> None:
    large = tf.Module()
    large.all = [tf.Variable(float(n)) for n in range(MODEL_ROWS + 50)]
    small = tf.Module()
    held = {"large": large, "small": small}
    tell_environment(Session(held))
    record = feed().environment.models["large"]
    assert (len(record.rows), record.total) == (MODEL_ROWS, MODEL_ROWS + 51)
    assert len(feed().environment.models["small"].rows) == 1
    monkeypatch.setattr(environment, "_read_at", {id(large): float("inf")})
    large.more, small.more = tf.Variable(1.0), tf.Variable(1.0)
    tell_environment(Session(held))
    assert feed().environment.models["large"].total == MODEL_ROWS + 51
    assert feed().environment.models["small"].total == 2
