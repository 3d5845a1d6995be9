"""Bound modules: ``tf.Module``s that work with everything TensorFlow has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import Linear, Net, X, ones, scaled


def test_bound_and_applied_outputs_agree(net: Net, variables: Any) -> None:
    tf.debugging.assert_equal(net(X), Net().apply(variables, X))
    tf.debugging.assert_equal(net.hidden(X), X @ variables["params"]["hidden"]["kernel"])
    tf.debugging.assert_equal(net.apply(net.state, X), net(X))
    assert int(net.state["stats"]["calls"]) == 2


def test_values_are_copied_and_tf_variables_are_aliased(variables: Any) -> None:
    shared = tf.Variable(variables["params"]["hidden"]["kernel"])
    params = {**variables["params"], "hidden": {"kernel": shared}}
    bound = Net().bind({**variables, "params": params})
    assert bound["hidden/kernel"] is shared
    bound["Linear_0/kernel"].assign(tf.zeros([3, 1]))
    assert float(tf.reduce_sum(tf.abs(variables["params"]["Linear_0"]["kernel"]))) > 0


def test_state_is_a_fresh_tree_of_variables(net: Net) -> None:
    state = net.state
    assert state.keys() == {"params", "stats"}
    assert isinstance(state["params"]["hidden"]["kernel"], tf.Variable)
    state["params"].clear()
    assert net.state["params"].keys() == {"hidden", "Linear_0"}
    assert net.hidden.state.keys() == {"params"}


def test_variables_have_the_meaning_of_tf_module(net: Net) -> None:
    assert isinstance(net, tf.Module)
    params = tf.nest.flatten(net.state["params"])
    assert [v.ref() for v in net.trainable_variables] == [v.ref() for v in params]
    assert [v.name for v in net.non_trainable_variables] == ["calls:0"]
    assert {v.ref() for v in net.variables} == {v.ref() for v in (*params, net["calls"])}
    assert [type(m).__name__ for m in net.submodules] == ["Linear"]
    net(X)
    assert [m.name for m in net.submodules] == ["Linear_0", "hidden"]


def test_only_params_are_trainable() -> None:
    class Two(nn.Module):
        def __call__(self):
            return 0

    held = {"params": {"w": tf.Variable(1.0), "frozen": tf.Variable(1.0, trainable=False)}}
    bound = Two().bind({**held, "ema": {"w": tf.Variable(1.0)}})
    assert [v.ref() for v in bound.trainable_variables] == [held["params"]["w"].ref()]
    assert len(bound.non_trainable_variables) == 2


def test_an_enclosing_tf_module_sees_the_variables(net: Net) -> None:
    outer = tf.Module()
    outer.net = net
    assert {v.ref() for v in outer.variables} == {v.ref() for v in net.variables}
    decoder = tf.Module()
    decoder.part = net.hidden
    assert [v.name for v in decoder.trainable_variables] == ["hidden/kernel:0"]
    net(X)
    inline = tf.Module()
    inline.part = net["Linear_0"]
    assert [v.name for v in inline.trainable_variables] == ["Linear_0/kernel:0"]


def test_named_variables() -> None:
    class Named(nn.Module):
        def __call__(self):
            return self.make_rng("noise")

    value = tf.zeros([])
    bound = Named().bind(
        {"stats": {"a": {"w": value}, "n": value}, "params": {"a": {"w": value}, "p": (value,)}},
        rngs={"noise": nn.key(0)},
    )
    named = bound.named_variables()
    assert list(named) == [
        "a/w", "p/0", "a/w (stats)", "n", "rngs/noise/counts", "rngs/noise/key",
    ]  # fmt: skip
    assert named["a/w"] is bound.state["params"]["a"]["w"]
    assert named["a/w (stats)"] is bound.state["stats"]["a"]["w"]


def test_named_variables_of_a_submodule_start_there(net: Net) -> None:
    assert list(net.hidden.named_variables()) == ["kernel"]


# -- paths -----------------------------------------------------------------------------------------


def test_paths_reach_submodules_and_variables(net: Net) -> None:
    assert net["hidden"] is net.hidden
    assert net / "hidden" is net.hidden
    assert net["hidden/kernel"] is net.state["params"]["hidden"]["kernel"]
    assert (net / "hidden")["kernel"] is net["hidden/kernel"]
    assert net["calls"] is net.state["stats"]["calls"]


def test_compact_children_are_reachable_after_a_call(net: Net) -> None:
    assert net["Linear_0/kernel"].shape == (3, 1)
    with raises(nn.PathNotFoundError):
        _ = net["Linear_0"]
    y = net(X)
    child = net["Linear_0"]
    tf.debugging.assert_equal(child(net.hidden(X)), y)
    net(X)
    assert net["Linear_0"] is child


def test_compact_grandchildren_stay_reachable() -> None:
    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, deep=False):
            x = Linear(2)(x)
            return Linear(2, name="deep")(x) if deep else x

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x, deep=False):
            return Block()(x, deep)

    model = Model().bind(Model().init(nn.key(0), X, deep=True))
    model(X)
    model(X, deep=True)
    assert (model / "Block_0" / "deep").path == ("Block_0", "deep")
    assert {m.name for m in model.submodules} == {"Block_0", "Linear_0", "deep"}


def test_a_wrong_path_says_what_there_is(net: Net) -> None:
    with raises(nn.PathNotFoundError):
        _ = net["hiden"]
    with raises(nn.PathNotFoundError):
        _ = net["hidden/bias"]
    with raises(nn.PathNotFoundError):
        _ = Net()["Linear_0"]


def test_unbound_children_by_path() -> None:
    class Stack(nn.Module):
        parts: Any

        def setup(self):
            self.blocks = [Linear(1), Linear(2)]

    stack = Stack((Linear(5), Linear(6)))
    assert stack["blocks_1"] == Linear(2)
    assert stack["parts_0"] == Linear(5)
    assert stack["blocks_1"].init(nn.key(0), X)["params"]["kernel"].shape == (2, 2)


# -- tf.function, gradients, optimizers ------------------------------------------------------------


def test_traced_functions_see_assigned_values(net: Net, variables: Any) -> None:
    traces = []

    @tf.function
    def f(x):
        traces.append(1)
        return net(x)

    before = f(X)
    net["hidden/kernel"].assign(2.0 * net["hidden/kernel"])
    tf.debugging.assert_near(f(X), 2.0 * before)
    tf.debugging.assert_near(net(X), 2.0 * before)
    assert traces == [1]
    assert int(net["calls"]) == 3


@pytest.mark.parametrize("how", ["object", "argument", "method", "decorated"])
def test_equal_modules_keep_their_own_weights(variables: Any, how: str) -> None:
    class Decorated(Net):
        @tf.function
        def traced(self, x):
            return self(x)

    a, b = Decorated().bind(variables), Decorated().bind(scaled(variables, 2.0))
    if how == "argument":
        f = tf.function(lambda m, x: m(x))
        ya, yb = f(a, X), f(b, X)
    elif how == "method":
        g = tf.function(Decorated.__call__)
        ya, yb = g(a, X), g(b, X)
    elif how == "decorated":
        ya, yb = a.traced(X), b.traced(X)
    else:
        ya, yb = tf.function(a)(X), tf.function(b)(X)
    tf.debugging.assert_near(yb, 4.0 * ya)
    tf.debugging.assert_near(ya, Net().apply(variables, X))


def test_autograph_converts_methods_that_depend_on_data() -> None:
    class Branch(nn.Module):
        @nn.compact
        def __call__(self, x):
            w = self.param("w", ones, ())
            if tf.reduce_sum(x) > 0:  # noqa: SIM108
                x = x * w
            else:
                x = self.otherwise(x)
            return x

        def otherwise(self, x):
            while tf.reduce_sum(x) < 0:
                x = x + 1.0
            return x

    branch = Branch()
    held = {"params": {"w": tf.constant(3.0)}}
    bound = branch.bind(held)
    for f in (
        tf.function(bound),
        tf.function(lambda x: bound(x)),
        tf.function(lambda x: branch.apply(held, x)),
        tf.function(lambda x: nn.apply(lambda m, x: m(x), branch)(held, x)),
    ):
        assert float(f(tf.constant(2.0))) == 6.0
        assert float(f(tf.constant(-1.5))) == 0.5


def test_graph_operations_are_named_after_modules(net: Net) -> None:
    graph = tf.function(net).get_concrete_function(X).graph
    names = [op.name for op in graph.get_operations() if op.type == "MatMul"]
    assert names == ["Net/hidden/matmul", "Net/Linear_0/matmul"]


def test_a_keras_optimizer_trains_it_in_a_traced_step(net: Net) -> None:
    optimizer = keras.optimizers.Adam(0.05)
    y = tf.constant([[3.0]])
    traces = []

    @tf.function
    def step():
        traces.append(1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(X) - y) ** 2)
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))
        return loss

    losses = [float(step()) for _ in range(60)]
    assert losses[-1] < 0.01 * losses[0]
    assert len(traces) <= 2  # the optimizer makes its variables in the first
    assert float(tf.abs(net(X) - y)[0, 0]) < 0.3


def test_params_are_the_variables_themselves() -> None:
    class Keeping(nn.Module):
        def setup(self):
            self.w = self.param("w", ones, ())

        def __call__(self, x):
            return x * self.w

    bound = Keeping().bind({"params": {"w": tf.constant(2.0)}})
    assert float(bound(1.0)) == 2.0
    bound["w"].assign(5.0)
    assert float(bound(1.0)) == 5.0
    with tf.GradientTape() as tape:
        y = bound(3.0)
    assert float(tape.gradient(y, bound.w)) == 3.0


def test_a_trace_has_the_operations_of_a_tf_module_by_hand(variables: Any) -> None:
    class Hand(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.out = tf.Variable(tf.ones([2, 3])), tf.Variable(tf.ones([3, 1]))
            self.calls = tf.Variable(0)

        def __call__(self, x):
            self.calls.assign(self.calls.value() + 1)
            return x @ self.hidden @ self.out

    def operations(model: Any) -> list[str]:
        graph = tf.function(lambda x: model(x)).get_concrete_function(X).graph
        return sorted(op.type for op in graph.get_operations() if op.type != "NoOp")

    assert operations(Net().bind(variables)) == operations(Hand())


def test_a_name_that_a_later_call_takes_twice_is_refused() -> None:
    class Twice(nn.Module):
        @nn.compact
        def __call__(self, x, extra=""):
            y = Linear(3, name="a")(x)
            if extra == "module":
                Linear(3, name="a")
            if extra == "variable":
                self.variable("stats", "a", lambda: tf.zeros([]))
            return y

    bound = Twice().bind(Twice().init(nn.key(0), X))
    y = bound(X)
    for extra in ("module", "variable"):
        with raises(nn.NameInUseError):
            bound(X, extra)
        tf.debugging.assert_equal(bound(X), y)


def test_a_child_with_more_or_fewer_arguments_is_another() -> None:
    class Scaled(nn.Module):
        features: int
        factor: float = 1.0

        @nn.compact
        def __call__(self, x):
            return self.factor * Linear(self.features)(x)

    class Chooses(nn.Module):
        @nn.compact
        def __call__(self, x, arguments=(3,)):
            return Scaled(*arguments)(x)

    variables = Chooses().init(nn.key(0), X)
    for first, second in (((3,), (3, 2.0)), ((3, 2.0), (3,))):
        bound = Chooses().bind(variables)
        bound(X, first)
        with raises(nn.AutoNameError):
            bound(X, second)


@pytest.mark.parametrize("table", [{1: 2, "a": 3}, {None: {2: 3, "b": 4}}, {(1, 2): "x", "a": 1}])
def test_fields_may_hold_dicts_whose_keys_cannot_be_sorted(table: Any, tmp_path: Path) -> None:
    class Model(nn.Module):
        table: Any

        @nn.compact
        def __call__(self, x):
            return nn.Dense(2)(x)

    bound = Model(table).bind(Model(table).init(nn.key(0), X))
    assert bound.table == table
    assert len(bound.trainable_variables) == 2
    tf.debugging.assert_equal(tf.function(bound.__call__)(X), bound(X))
    assert [part.name for part in bound.submodules] == ["Dense_0"]
    tf.train.Checkpoint(model=bound).save(str(tmp_path / "model"))
