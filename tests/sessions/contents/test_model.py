"""Models as trees: parts, variables, sharing, and what training has done to them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn
from nbfn import nn
from nbfn.sessions.contents.model import Model, model_of
from nbfn.sessions.session import Session, SessionKeyError
from tests.harness.messages import raises

X = tf.ones([2, 4])


def rows(model: Model) -> dict[str, tuple[str, str]]:
    return {"/".join(row.path): (row.kind, row.label) for row in model.rows}


def classifier() -> keras.Model:
    inner = keras.Sequential([keras.layers.Dense(3, name="narrow")], name="inner")
    layers = [
        keras.Input((4,)),
        keras.layers.Dense(5, name="wide"),
        keras.layers.Dropout(0.5, name="drop"),
    ]
    return keras.Sequential([*layers, inner], name="net")


def test_a_keras_model_is_a_tree_of_its_layers() -> None:
    model = model_of(classifier(), "net")
    assert rows(model) == {
        "": ("module", "Sequential"),
        "wide": ("module", "Dense"),
        "wide/kernel": ("variable", "params"),
        "wide/bias": ("variable", "params"),
        "drop": ("module", "Dropout"),
        "drop/seed_generator_state": ("variable", "state"),
        "inner": ("module", "Sequential"),
        "inner/narrow": ("module", "Dense"),
        "inner/narrow/kernel": ("variable", "params"),
        "inner/narrow/bias": ("variable", "params"),
    }
    assert model.parameters[()] == 4 * 5 + 5 + 5 * 3 + 3 + 2
    assert model.parameters["inner",] == 5 * 3 + 3
    wide = next(row for row in model.rows if row.path == ("wide",))
    assert (wide.takes, wide.gives) == ("float32[None, 4]", "float32[None, 5]")
    assert wide.nbytes == 4 * 25


def test_a_model_has_a_tree_before_its_first_call() -> None:
    class Later(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [keras.layers.Dense(2), keras.layers.Dense(3)]

    assert [row.label for row in model_of(Later()).rows] == ["Later", "Dense", "Dense"]
    net = nn.Sequential([nn.Dense(2), nn.Dense(3)])
    assert next(row.label for row in model_of(net).rows) == "Sequential"
    assert model_of(net).sizes == "without variables yet"


def test_what_is_shared_frozen_or_a_plain_module_is_reported() -> None:
    class Tied(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(tf.ones([2, 3]), trainable=False)
            self.parts = {"a": tf.Module(), "b": tf.Module()}
            self.parts["a"].w = self.parts["b"].w = tf.Variable([1.0])
            self.again = self.parts["a"]

    model = model_of(Tied())
    assert rows(model) == {
        "": ("module", "Tied"),
        "w": ("variable", "state"),
        "parts/a": ("module", "Module"),
        "parts/a/w": ("variable", "params"),
        "parts/b": ("module", "Module"),
        "parts/b/w": ("variable", "params"),
        "again": ("module", "Module"),
    }
    same = {"/".join(row.path): row.same_as for row in model.rows if row.same_as}
    assert same == {"parts/b/w": ("parts/a", "w"), "again": ("parts/a",)}
    assert model.parameters[()] == 7


def test_a_layer_that_is_frozen_later_is_frozen() -> None:
    net = keras.Sequential([keras.Input([3]), keras.layers.Dense(2), keras.layers.Dense(1)])
    net.layers[0].trainable = False
    assert [row.trainable for row in model_of(net).variables] == [False, False, True, True]


def test_setup_of_a_module_that_is_not_bound_runs_once_and_may_fail() -> None:
    ran = []

    class Net(nn.Module):
        def setup(self) -> None:
            ran.append(1)
            self.hidden = nn.Dense(3)

    class Broken(nn.Module):
        def setup(self) -> None:
            raise RuntimeError("no weights here")

    net = Net()
    assert rows(model_of(net))["hidden"] == ("module", "Dense")
    model_of(net)
    assert len(ran) == 1
    alive = weakref.ref(net)
    del net
    gc.collect()
    assert alive() is None
    assert model_of(Broken()).problem == "setup cannot run now: RuntimeError: no weights here"


@pytest.mark.parametrize("make", ["keras", "nn"])
def test_a_step_of_training_is_seen_part_by_part(make: str) -> None:
    net: Any = classifier()
    if make == "nn":
        spec = nn.Sequential([nn.Dense(5), nn.Dense(3)])
        net = spec.bind(spec.init(nn.key(0), X))

    @nbfn.function
    def gradients(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(net(x) ** 2)
        return tape.gradient(loss, list(net.trainable_variables))

    session = Session({"net": net, "gradients": gradients})
    found = list(zip(gradients(X), net.trainable_variables, strict=True))
    before = session.tabulate("net", found)
    assert before.norms[()].relative_change is None
    assert before.unused == ({("drop", "seed_generator_state")} if make == "keras" else set())
    total = float(tf.linalg.global_norm([gradient for gradient, _ in found]))
    assert before.norms[()].gradient_norm == pytest.approx(total, rel=1e-5)

    last = before.variables[-1]
    variables = list(net.trainable_variables)
    if make == "keras":
        variables = [each.value for each in variables]
    old = [tf.identity(each) for each in variables]
    kernel = next(each for each in variables[2:] if each.shape.rank == 2)
    kernel.assign(kernel * 1.5)
    after = session.tabulate("net")
    changed = {path for path, norms in after.norms.items() if norms.relative_change}
    assert changed == {(), *(last.path[:n] for n in range(1, len(last.path)))} | {
        (*last.path[:-1], "kernel")
    }
    expected = tf.linalg.global_norm(
        [new - was for new, was in zip(variables, old, strict=True)]
    ) / tf.linalg.global_norm(old)
    assert after.norms[()].relative_change == pytest.approx(float(expected), rel=1e-5)
    assert "changed by 50.00%" in repr(after)
    assert "unchanged" in repr(after)


def test_what_was_zero_has_no_share_that_changed() -> None:
    module = tf.Module()
    module.bias, module.scale = tf.Variable([0.0, 0.0]), tf.Variable([0.0])
    session = Session({"module": module})
    session.tabulate("module")
    module.bias.assign([1.0, 0.0])
    model = session.tabulate("module")
    assert model.norms["bias",].relative_change is None
    assert model.norms["scale",].relative_change == 0.0
    assert "bias: float32[2]  8 B  changed from zero" in repr(model)


def test_a_variable_that_no_trace_captures_is_marked() -> None:
    net = {"used": tf.Variable(1.0), "other": tf.Variable(2.0)}
    module = tf.Module()
    module.used, module.other = net.values()
    f = nbfn.function(lambda: module.used + 1.0)
    f()
    model = Session({"module": module, "f": f}).tabulate("module")
    assert model.unused == {("other",)}
    assert "in no trace" in repr(model)


def test_what_has_no_tree_is_refused() -> None:
    session = Session({"rate": 0.5, "net": classifier()})
    with raises(SessionKeyError):
        session.tabulate("rate")


def test_a_layer_that_is_added_is_in_the_tree() -> None:
    net = nn.Sequential([nn.Dense(3)])
    assert "dense_1" not in rows(model_of(net))
    net.add(nn.Dense(4))
    assert rows(model_of(net))["dense_1"] == ("module", "Dense")


def test_a_method_of_the_users_is_no_tree() -> None:
    class Described(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = tf.Variable(1.0)

        def describe(self) -> str:
            return "mine"

    assert rows(model_of(Described()))["weight"] == ("variable", "params")
