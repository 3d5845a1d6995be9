"""Bound modules: their state, their random streams, and the ways back and away."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import Linear, Net, X, ones, scaled

# -- state and streams -----------------------------------------------------------------------------


def test_assignment_keeps_the_variable_and_checks_the_value() -> None:
    class Cache(nn.Module):
        def put(self, value, name="n"):
            self.put_variable("cache", name, value)

    bound = Cache().bind({"cache": {"n": tf.zeros([2]), "pair": {"a": tf.zeros([]), "b": [1.0]}}})
    variable = bound["n"]
    bound.put(np.ones(2))
    assert bound["n"] is variable
    assert variable.numpy().tolist() == [1.0, 1.0]
    for bad in (tf.zeros([3]), tf.zeros([2], tf.int32), "text", {"x": 1.0}):
        with raises(nn.AssignmentError):
            bound.put(bad)
    with pytest.raises(nn.AssignmentError):
        bound.put({"a": tf.constant(7.0), "b": [tf.zeros([5])]}, "pair")
    assert variable.numpy().tolist() == [1.0, 1.0]
    assert float(bound["pair/a"]) == 0.0


def test_params_are_immutable_for_calls_unless_said(variables: Any) -> None:
    class Writing(nn.Module):
        def __call__(self):
            self.put_variable("params", "w", 2.0)

    held = {"params": {"w": tf.zeros([])}}
    with raises(nn.ImmutableCollectionError):
        Writing().bind(held)()
    bound = Writing().bind(held, mutable=True)
    bound()
    assert float(bound["w"]) == 2.0
    frozen = Net().bind(variables, mutable=False)
    frozen(X)
    assert int(frozen["calls"]) == 0


def test_missing_variables_are_an_error_or_made_eagerly_if_mutable() -> None:
    with raises(nn.CollectionNotFoundError):
        Linear(2).bind({})(X)
    with raises(nn.VariableCreationError):
        tf.function(Linear(2).bind({}, nn.key(0), mutable=True))(X)
    bound = Linear(2).bind({}, nn.key(0), mutable=True)
    y = bound(X)
    tf.debugging.assert_equal(y, Linear(2).apply(Linear(2).init(nn.key(0), X), X))
    assert [v.name for v in bound.trainable_variables] == ["kernel:0"]
    tf.debugging.assert_equal(tf.function(bound)(X), y)


def test_bind_is_refused_in_a_trace_and_for_what_is_no_value(variables: Any) -> None:
    with raises(nn.VariableCreationError):
        tf.function(lambda: Net().bind(variables)(X))()
    with raises(nn.AssignmentError):
        Linear(1).bind({"params": {"w": object()}})


class Noise(nn.Module):
    def __call__(self):
        return self.make_rng("noise")


class TwoNoises(nn.Module):
    def setup(self):
        self.a, self.b = Noise(), Noise()

    def __call__(self):
        return tf.stack([self.a(), self.b(), self.a()])


def test_the_first_call_draws_what_apply_draws() -> None:
    rngs = {"noise": nn.key(7)}
    bound = TwoNoises().bind({}, rngs=rngs)
    tf.debugging.assert_equal(bound(), TwoNoises().apply({}, rngs=rngs))


@pytest.mark.parametrize("traced", [False, True])
def test_draws_advance_and_reseed_starts_over(traced: bool) -> None:
    bound = TwoNoises().bind({}, rngs={"noise": nn.key(7)})
    f = tf.function(bound) if traced else bound
    drawn = [f().numpy().tolist() for _ in range(3)]
    assert len({tuple(row) for rows in drawn for row in rows}) == 9
    bound.reseed({"noise": nn.key(7)})
    assert [f().numpy().tolist() for _ in range(3)] == drawn
    bound.reseed({"noise": nn.key(8)})
    assert f().numpy().tolist() != drawn[0]


def test_draws_advance_in_a_loop_inside_a_traced_method() -> None:
    class Loop(nn.Module):
        def __call__(self, n):
            keys = tf.TensorArray(tf.int32, n)
            for i in tf.range(n):
                keys = keys.write(i, self.make_rng("noise"))
            return keys.stack()

    bound = Loop().bind({}, rngs={"noise": nn.key(0)})
    keys = tf.function(bound)(tf.constant(5)).numpy().tolist()
    assert len({tuple(k) for k in keys}) == 5


def test_reseed_may_add_a_stream() -> None:
    bound = Noise().bind({})
    with raises(nn.RngError):
        bound()
    bound.reseed({"noise": nn.key(1)})
    tf.debugging.assert_equal(bound(), Noise().apply({}, rngs={"noise": nn.key(1)}))
    assert len(bound.non_trainable_variables) == 2


# -- back, and away --------------------------------------------------------------------------------


def test_unbind_gives_both_back(net: Net, variables: Any) -> None:
    module, values = net.unbind()
    assert module == Net()
    assert module.variables == ()
    tf.nest.map_structure(tf.debugging.assert_equal, values, variables)
    net["hidden/kernel"].assign(tf.zeros([2, 3]))
    tf.debugging.assert_equal(
        values["params"]["hidden"]["kernel"], variables["params"]["hidden"]["kernel"]
    )
    part, values = net.hidden.unbind()
    assert part == Linear(3)
    assert part.apply(values, X).shape == (1, 3)


def test_unbind_keeps_sharing_and_the_original_fields() -> None:
    class Pair(nn.Module):
        parts: Any
        label: str = ""

        def __call__(self, x):
            return self.parts[1](self.parts[0](x))

    shared = Linear(2)
    pair = Pair([shared, shared], "p")
    bound = pair.bind(pair.init(nn.key(0), X))
    back, values = bound.unbind()
    assert back == pair
    assert back.parts[0] is back.parts[1]
    tf.debugging.assert_equal(back.apply(values, X), bound(X))
    assert bound.clone(label="q") == Pair([shared, shared], "q")


def test_a_bound_module_can_be_part_of_another(net: Net) -> None:
    class Head(nn.Module):
        body: Any

        @nn.compact
        def __call__(self, x):
            return Linear(4)(self.body(x))

    head = Head(net.unbind()[0])
    made = head.init(nn.key(1), X)
    assert made["params"].keys() == {"body", "Linear_0"}


def test_checkpoints_restore_into_a_module_that_was_never_called(net: Net, tmp_path: Any) -> None:
    net(X)
    y = net(X)
    path = tf.train.Checkpoint(model=net).save(str(tmp_path / "ckpt"))
    names = [name for name, _ in tf.train.list_variables(path)]
    assert "model/_state/params/hidden/kernel/.ATTRIBUTES/VARIABLE_VALUE" in names
    fresh = Net().bind(scaled(Net().init(nn.key(5), X), 3.0))
    tf.train.Checkpoint(model=fresh).restore(path).assert_consumed()
    tf.debugging.assert_equal(fresh(X), y)
    assert int(fresh["calls"]) == 3


def test_names_in_checkpoints_do_not_depend_on_setup(tmp_path: Any) -> None:
    class Keeping(nn.Module):
        def setup(self):
            self.w = self.param("w", ones, ())

        def __call__(self, x):
            return x * self.w

    bound = Keeping().bind({"params": {"w": tf.constant(2.0)}})
    paths = []
    for name in ("before", "after"):
        path = tf.train.Checkpoint(m=bound).save(str(tmp_path / name))
        paths.append([name for name, _ in tf.train.list_variables(path)])
        bound(1.0)
    assert paths[0] == paths[1]
    assert "m/_state/params/w/.ATTRIBUTES/VARIABLE_VALUE" in paths[0]


def test_random_streams_are_in_checkpoints(tmp_path: Any) -> None:
    bound = TwoNoises().bind({}, rngs={"noise": nn.key(0)})
    bound()
    path = tf.train.Checkpoint(m=bound).save(str(tmp_path / "ckpt"))
    expected = bound().numpy().tolist()
    fresh = TwoNoises().bind({}, rngs={"noise": nn.key(9)})
    tf.train.Checkpoint(m=fresh).restore(path).assert_consumed()
    assert fresh().numpy().tolist() == expected


def test_saved_models(variables: Any, tmp_path: Any) -> None:
    class Served(Net):
        @tf.function(input_signature=[tf.TensorSpec([None, 2])])
        def serve(self, x):
            return self(x)

    bound = Served().bind(variables)
    tf.saved_model.save(bound, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    tf.debugging.assert_near(loaded.serve(X), Net().apply(variables, X))
    assert int(loaded._state["stats"]["calls"]) == 1
    assert int(bound["calls"]) == 0


def test_saved_models_keep_tables_of_setup(tmp_path: Any) -> None:
    class Lookup(nn.Module):
        def setup(self):
            pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
            self.table = tf.lookup.StaticHashTable(pairs, -1)

        @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
        def __call__(self, x):
            return self.table.lookup(x)

    bound = Lookup().bind({})
    assert int(bound(tf.constant("b"))) == 2
    tf.saved_model.save(bound, str(tmp_path))
    assert int(tf.saved_model.load(str(tmp_path))(tf.constant("a"))) == 1


def test_a_dropped_module_is_freed_although_a_traced_function_lives(variables: Any) -> None:
    f = tf.function(lambda m, x: m(x))
    bound = Net().bind(variables)
    f(bound, X)
    module, variable = weakref.ref(bound), weakref.ref(bound["hidden/kernel"])
    del bound
    gc.collect()
    assert module() is None
    assert variable() is None


def test_a_submodule_outlives_its_parent(variables: Any) -> None:
    hidden = Net().bind(variables).hidden
    gc.collect()
    assert hidden.parent is None
    tf.debugging.assert_equal(hidden(X), X @ variables["params"]["hidden"]["kernel"])


def test_two_threads_may_call_one_module(net: Net) -> None:
    from concurrent.futures import ThreadPoolExecutor

    y = net(X)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: net(X), range(40)))
    for result in results:
        tf.debugging.assert_equal(result, y)


def test_repr_shows_what_is_known(net: Net) -> None:
    assert repr(net) == "Net()"
    net(X)
    assert repr(net) == "Net()\n  hidden: Linear(features=3)\n  Linear_0: Linear(features=1)"


def test_threads_never_draw_the_same() -> None:
    dropout = nn.Dropout(0.5).bind({}, rngs={"dropout": nn.key(0)})
    x, masks = tf.ones([1, 64]), []

    def work() -> None:
        masks.extend(dropout(x, training=True).numpy().tobytes() for _ in range(40))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(masks) == len(set(masks)) == 240
