"""A notebook that loads nbfn late: what it has made by then is seen at once."""

from __future__ import annotations

import gc
import importlib.abc
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import nbfn
from nbfn.sessions.messages.feed import feed
from tests.harness.messages import warns
from tests.harness.shells import bare_shell

MADE = """
import keras
import tensorflow as tf

net = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
net.compile("sgd", "mse")
_ = net.fit(tf.ones([4, 2]), tf.ones([4, 1]), verbose=0)
rate = tf.Variable(0.5)

@tf.function
def scaled(x):
    return x * rate

class Holder(tf.Module):
    @tf.function
    def doubled(self, x):
        return x * 2.0

holder = Holder()
for n in (1, 2):
    scaled(tf.ones([n]))
    holder.doubled(tf.ones([n]))
"""


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell without nbfn."""
    with bare_shell() as made:
        gc.collect()
        yield made


def traces() -> dict[str, int]:
    feed().flush()
    return {row.name: row.traces for row in feed().snapshot().state.functions.values()}


def test_functions_models_and_variables_are_there_after_the_cell_that_loads(shell) -> None:
    shell.run_cell(MADE).raise_error()
    shell.run_cell("%load_ext nbfn").raise_error()
    seen = traces()
    assert seen.items() >= {"scaled": 2, "holder.doubled": 2}.items()
    # The second is what Keras 3.16 calls if an execution has one step.
    assert 1 in (seen["net.train_function"], seen.get("net.train_step"))
    state = feed().snapshot().state
    assert {"net", "holder"} <= state.models.keys()
    assert "rate" in {row.name for row in state.variables.values()}
    assert "CPU" in {row.kind for row in state.devices.values()}
    shell.run_cell("_ = scaled(tf.ones([3]))").raise_error()
    feed().flush()
    rows = feed().snapshot().state.functions.values()
    # Another test's function may have the name as long as the names are not read again.
    assert ("scaled", 3, 1) in {(each.name, each.traces, each.retraces) for each in rows}


def test_functions_of_the_cell_that_imports_tensorflow_are_there_too(shell) -> None:
    tensorflow = sys.modules.pop("tensorflow")
    shell.run_cell("%load_ext nbfn").raise_error()
    sys.modules["tensorflow"] = tensorflow
    shell.run_cell(MADE).raise_error()
    assert traces()["scaled"] == 2


def test_what_cannot_be_looked_at_is_left_out(shell, monkeypatch) -> None:
    from nbfn.sessions.session import Session

    def fails(self: Session) -> None:
        raise RuntimeError("not now")

    monkeypatch.setattr(Session, "discover", fails)
    shell.run_cell(MADE).raise_error()
    with warns(nbfn.NbfnWarning):
        shell.run_cell("%load_ext nbfn").raise_error()
    shell.run_cell("_ = scaled(tf.ones([3]))").raise_error()
    assert traces()["scaled"] == 3


def test_what_nbfn_imports_draws_none_of_the_users_random_numbers(shell, monkeypatch) -> None:
    load = nbfn._load

    def draws(*args: Any) -> Any:
        random.random()
        return load(*args)

    monkeypatch.setattr(nbfn, "_load", draws)
    monkeypatch.delitem(vars(nbfn), "stance", raising=False)
    shell.run_cell("import random\nrandom.seed(3)\nimport nbfn\nnbfn.stance").raise_error()
    assert random.random() == random.Random(3).random()

    class Drawing(importlib.abc.MetaPathFinder):
        def find_spec(self, *_: Any) -> None:
            random.random()

    monkeypatch.setattr(sys, "meta_path", [Drawing(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "nbfn.functions.traced.missing_devices")
    shell.run_cell("random.seed(3)\n%load_ext nbfn").raise_error()
    assert random.random() == random.Random(3).random()
