"""Bound modules in a notebook: views, rebinding, the tree, cells that run again."""

from __future__ import annotations

import gc
import sys
from typing import Any

import keras
import pytest
import tensorflow as tf
from IPython.core.interactiveshell import InteractiveShell

from nbfn import nn
from tests.harness.messages import raises

X = tf.ones([2, 3])


class Net(nn.Module):
    width: int = 4
    training: bool = True

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        x = nn.BatchNorm()(x, training=self.training)
        return nn.Dropout(0.5)(nn.Dense(2, name="out")(x), training=self.training)


VARIABLES = Net().init(nn.key(0), X)


@pytest.fixture
def net() -> Any:
    return Net().bind(VARIABLES, rngs={"dropout": nn.key(1)})


# -- views ---------------------------------------------------------------------------------------


def test_a_view_shares_the_variables(net: Any) -> None:
    still = net.view(training=False)
    assert (still.training, net.training) == (False, True)
    assert {id(v) for v in still.variables} == {id(v) for v in net.variables}
    before = still(X)
    tf.debugging.assert_equal(still(X), before)
    net["out/kernel"].assign(tf.zeros([4, 2]))
    net["out/bias"].assign(tf.ones([2]))
    tf.debugging.assert_equal(still(X), tf.ones([2, 2]))
    net(X)
    assert float(tf.reduce_sum(tf.abs(still["BatchNorm_0/moving_mean"]))) > 0.0


def test_a_view_outlives_and_frees(net: Any) -> None:
    still = net.view(training=False)
    y = still(X)
    del net
    gc.collect()
    tf.debugging.assert_equal(still(X), y)


def test_views_in_one_trace(net: Any) -> None:
    step = tf.function(lambda x: (net(x), net.view(training=False)(x)))
    noisy, still = step(X)
    tf.debugging.assert_near(still, net.view(training=False)(X), atol=1e-2)
    assert bool(tf.reduce_any(noisy != still))


def test_a_view_of_a_submodule_and_with_adopted_modules() -> None:
    class Outer(nn.Module):
        body: nn.Module
        scale: float = 1.0

        def __call__(self, x):
            return self.body(x) * self.scale

    outer = Outer(nn.Dense(2))
    bound = outer.bind(outer.init(nn.key(0), X))
    tf.debugging.assert_near(bound.view(scale=3.0)(X), bound(X) * 3.0)
    linear = bound.body.view(activation="relu")
    assert linear.path == ("body",)
    tf.debugging.assert_near(linear(X), tf.nn.relu(bound.body(X)))


def test_a_view_that_does_not_fit_is_refused(net: Any) -> None:
    net(X)
    with raises(nn.ParamShapeError):
        net.view(width=7)(X)
    with raises(TypeError):
        net.view(widht=7)
    with raises(nn.UnboundModuleError):
        Net().view(training=False)


# -- rebind --------------------------------------------------------------------------------------


class Wider(nn.Module):
    """Net with one more layer, another width of the last one, and no dropout."""

    @nn.compact
    def __call__(self, x):
        x = nn.BatchNorm()(nn.Dense(4)(x), training=True)
        return nn.Dense(2, name="extra")(nn.Dense(5, name="out")(x))


def test_rebind_carries_variables_by_path(net: Any) -> None:
    kept, old = net["Dense_0/kernel"], net["out/kernel"]
    new = net.rebind(Wider(), X, rngs=nn.key(5))
    assert isinstance(new, Wider)
    assert isinstance(new.carried, nn.Carried)
    assert new["Dense_0/kernel"] is kept
    assert new["out/kernel"].shape == (4, 5)
    assert new.carried.made == (("params", "extra/bias"), ("params", "extra/kernel"))
    assert new.carried.changed == (("params", "out/bias"), ("params", "out/kernel"))
    assert ("batch_stats", "BatchNorm_0/moving_mean") in new.carried.kept
    assert new.carried.dropped == ()
    assert new(X).shape == (2, 2)
    assert net["out/kernel"] is old
    back = new.rebind(Net(), tf.TensorSpec([None, 3]), rngs=nn.key(0))
    assert set(back.carried.dropped) == {("params", "extra/bias"), ("params", "extra/kernel")}


def test_rebind_needs_a_key_for_new_variables_only(net: Any) -> None:
    with raises(nn.RngError):
        net.rebind(Wider(), X)
    assert net.rebind(Net(training=False), X).carried.made == ()


def test_rebind_without_inputs_keeps_everything_and_the_streams(net: Any) -> None:
    other = net.rebind(Net())
    assert {id(v) for v in other.trainable_variables} == {id(v) for v in net.trainable_variables}
    assert (
        other.named_variables()["rngs/dropout/counts"]
        is net.named_variables()["rngs/dropout/counts"]
    )
    assert len(other.carried.kept) == 8
    assert net.carried is None


def test_a_cell_that_runs_again_keeps_what_was_trained() -> None:
    code = (
        "class Cell(nn.Module):\n"
        "    factor = 1.0\n"
        "    @nn.compact\n"
        "    def __call__(self, x):\n"
        "        return nn.Dense(1, kernel_initializer='ones')(x) * self.factor\n"
    )
    space: dict[str, Any] = {"nn": nn, "__name__": "__main__"}
    exec(code, space)
    model = space["Cell"]().bind(space["Cell"]().init(nn.key(0), X))
    optimizer = keras.optimizers.SGD(0.001, momentum=0.9)

    def train(model):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(X) ** 2)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
        return float(loss)

    first = train(model)
    exec(code.replace("1.0", "2.0"), space)
    again = model.rebind(space["Cell"](), X)
    assert type(again) is not type(model)
    tf.debugging.assert_near(again(X), model(X) * 2.0)
    train(again)
    assert train(model) < first


def test_a_cell_of_a_submodule_may_run_again() -> None:
    code = (
        "class Child(nn.Module):\n"
        "    @nn.compact\n"
        "    def __call__(self, x):\n"
        "        return nn.Dense(1)(x) * FACTOR\n"
    )
    space: dict[str, Any] = {"nn": nn, "__name__": "__main__", "FACTOR": 1.0}
    exec(code, space)

    class Parent(nn.Module):
        @nn.compact
        def __call__(self, x):
            return space["Child"]()(x)

    bound = Parent().bind(Parent().init(nn.key(0), X))
    y = bound(X)
    exec(code.replace("FACTOR", "2.0"), space)
    for _ in range(2):
        tf.debugging.assert_near(bound(X), y * 2.0)
    assert type(bound["Child_0"]) is space["Child"]
    assert len(bound.trainable_variables) == 2


NET = """
from nbfn import nn

class Net(nn.Module):
    width: int = 1

    def setup(self):
        self.own = nn.Dense({f}, kernel_initializer="ones")

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1, kernel_initializer="ones")(x) * {f}

    def plain(self, x):
        return x * {f}

    @nn.compact_name_scope
    def named(self, x):
        return nn.Dense(1, kernel_initializer="ones")(x) * {f}

    @property
    def prop(self):
        return {f}
    {more}
"""


@pytest.mark.parametrize("more", ["", "depth: int = 3"])
def test_autoreload_replaces_the_code_of_a_bound_module(
    tmp_path: Any, monkeypatch: Any, more: str
) -> None:
    """IPython patches functions one by one, or reloads the whole file if more has changed."""
    path = tmp_path / "reloaded_net.py"
    path.write_text(NET.format(f=1, more=""))
    monkeypatch.syspath_prepend(str(tmp_path))
    shell = InteractiveShell()
    shell.run_cell("%load_ext autoreload\n%autoreload 2").raise_error()
    shell.run_cell(
        "import tensorflow as tf\nfrom nbfn import nn\nfrom reloaded_net import Net\n"
        "x = tf.ones([2, 3])\n"
        "variables = Net().init(nn.key(0), x) | Net().init(nn.key(0), x, method='named')\n"
        "params = {**Net().init(nn.key(0), x)['params'], **variables['params']}\n"
        "bound = Net().bind({'params': params})\n"
        "before = bound(x), bound.named(x)"
    ).raise_error()
    try:
        path.write_text(NET.format(f=2, more=more) + "# longer\n")
        shell.run_cell(
            "fresh = Net().bind({'params': params})\n"
            "found = [(m(x), m.plain(x), m.named(x), m.prop) for m in (bound, fresh)]\n"
            "width = Net()['own'].features"
        ).raise_error()
        before, found = shell.user_ns["before"], shell.user_ns["found"]
        for call, plain, named, prop in found:
            tf.debugging.assert_near(call, 2.0 * before[0])
            tf.debugging.assert_near(plain, 2.0 * tf.ones([2, 3]))
            tf.debugging.assert_near(named, 2.0 * before[1])
            assert prop == 2
        assert shell.user_ns["width"] == 2
    finally:
        shell.run_cell("%autoreload 0").raise_error()
        sys.modules.pop("reloaded_net")


# -- the tree ------------------------------------------------------------------------------------


def test_rows_of_a_bound_module(net: Any) -> None:
    net(X)
    rows = {row.path: row for row in net.describe()}
    assert rows[()].kind == "module"
    assert rows[()].nbytes == 4 * (3 * 4 + 4 + 4 * 4 + 4 * 2 + 2)
    kernel = rows["Dense_0", "kernel"]
    assert (kernel.label, kernel.shape, kernel.dtype, kernel.nbytes) == (
        "params",
        (3, 4),
        "float32",
        48,
    )
    assert kernel.trainable
    assert not rows["BatchNorm_0", "moving_mean"].trainable
    assert rows["BatchNorm_0", "moving_mean"].label == "batch_stats"


def test_rows_show_sharing() -> None:
    class Shared(nn.Module):
        a: nn.Module
        b: nn.Module

        def __call__(self, x):
            return self.b(self.a(x))

    layer, kernel = nn.Dense(3), tf.Variable(tf.ones([3, 3]))
    bound = Shared(layer, layer).bind(Shared(layer, layer).init(nn.key(0), X))
    assert [row.path for row in bound.describe() if row.kind == "variable"] == [
        ("a", "bias"),
        ("a", "kernel"),
    ]
    tied = {"kernel": kernel, "bias": tf.zeros([3])}
    two = Shared(nn.Dense(3), nn.Dense(3)).bind({"params": {"a": tied, "b": tied}})
    rows = {row.path: row for row in two.describe()}
    assert rows["b", "kernel"].same_as == ("a", "kernel")
    assert rows[()].nbytes == 4 * (9 + 3 + 3)


def test_rows_of_an_unbound_module() -> None:
    class Pair(nn.Module):
        head: nn.Module

        def setup(self):
            self.body = nn.Dense(2)

    assert [(row.path, row.label) for row in Pair(nn.Dense(1)).describe()] == [
        ((), "Pair"),
        (("head",), "Dense"),
        (("body",), "Dense"),
    ]
