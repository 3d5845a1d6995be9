"""Transformations among each other, several modules at once, sharing, and named methods."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import near

X = tf.random.stateless_normal([4, 3], nn.key(9))
EACH = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}


class Layer(nn.Module):
    @nn.compact
    def __call__(self, x):
        return tf.tanh(nn.Dense(3)(x)), None


def test_an_ensemble_of_scanned_rematerialized_layers() -> None:
    layers = nn.scan(nn.remat(Layer), length=2, **EACH)
    members = nn.vmap(layers, in_axes=None, axis_size=5, **EACH)()
    variables = members.init(nn.key(0), X)
    assert variables["params"]["Dense_0"]["kernel"].shape == (5, 2, 3, 3)
    y, _ = members.apply(variables, X)
    for i in range(5):
        expected = X
        for j in range(2):
            one = tf.nest.map_structure(lambda t, i=i, j=j: t[i, j], variables)
            expected, _ = Layer().apply(one, expected)
        near(y[i], expected)
    near(nn.jit(type(members))().apply(variables, X)[0], y)


def test_several_modules_in_one_transformation() -> None:
    class Counter(nn.Module):
        @nn.compact
        def __call__(self, n):
            count = self.variable("counts", "n", lambda: tf.zeros([]))
            count.value += n
            return count.value

    class Both(nn.Module):
        transform: Any

        @nn.compact
        def __call__(self, x):
            one, two = Counter(name="one"), Counter(name="two")
            add = self.transform(lambda m, other, n: m(n) + other["two"](2.0 * n))
            return add(one, {"two": two}, x)

    start = {"counts": {"one": {"n": tf.zeros([])}, "two": {"n": tf.ones([])}}}
    for transform in (nn.jit, nn.remat, lambda f: f):
        y, updated = Both(transform).apply(start, 10.0, mutable=["counts"])
        assert float(y) == 31.0
        assert float(updated["counts"]["one"]["n"]) == 10.0
        assert float(updated["counts"]["two"]["n"]) == 21.0


def test_a_shared_module_stays_one() -> None:
    class Inner(nn.Module):
        a: nn.Module
        b: nn.Module

        def __call__(self, x):
            return self.b(self.a(x))

    class Outer(nn.Module):
        transform: Any

        def setup(self):
            shared = nn.Dense(3)
            self.shared = shared
            self.inner = self.transform(Inner)(shared, shared)

        def __call__(self, x):
            return self.inner(x)

    plain = Outer(lambda cls: cls).init(nn.key(0), X)
    for transform in (nn.remat, nn.jit):
        variables = Outer(transform).init(nn.key(0), X)
        assert set(variables["params"]) == {"shared"}
        near(Outer(transform).apply(plain, X), Outer(lambda cls: cls).apply(plain, X))


def test_sowing_inside_and_from_outside() -> None:
    class Sows(nn.Module):
        @nn.compact
        def __call__(self, x):
            self.sow("intermediates", "h", x)
            return nn.Dense(3)(x)

    for transform in (nn.jit, nn.remat):
        module = transform(Sows)()
        variables = module.init(nn.key(0), X)
        assert set(variables) == {"params"}
        _, state = module.apply(variables, X, mutable=["intermediates"])
        near(state["intermediates"]["h"][0], X)
        bound = module.bind(variables)
        bound(X)
        with bound.capture() as sown:
            bound(X)
            bound(X)
        assert len(sown["intermediates"]["h"]) == 2
        assert set(bound.state) == {"params"}


def test_partly_applied_classes_and_bound_methods() -> None:
    members = nn.vmap(
        functools.partial(nn.Dense, use_bias=False), in_axes=None, axis_size=2, **EACH
    )
    assert set(members(5).init(nn.key(0), X)["params"]) == {"kernel"}

    class Chooses(nn.Module):
        def setup(self):
            self.dense = nn.Dense(3)

        def one(self, x):
            return self.dense(x)

        def other(self, x):
            return x * 2.0

        def __call__(self, pred):
            return nn.cond(pred, self.one, self.other, self, X)

    variables = Chooses().init(nn.key(0), tf.constant(True))
    run = tf.function(lambda p: Chooses().apply(variables, p))
    near(run(tf.constant(False)), X * 2.0)
    near(run(tf.constant(True)), nn.Dense(3).apply({"params": variables["params"]["dense"]}, X))


def test_a_reference_to_a_variable_is_an_argument() -> None:
    class Passes(nn.Module):
        @nn.compact
        def __call__(self, x):
            total = self.variable("sums", "total", lambda: tf.zeros([]))

            def add(_, ref, x):
                ref.value += tf.reduce_sum(x)
                return ref.value

            return nn.remat(add)(self, total, x)

    y, updated = Passes().apply({"sums": {"total": tf.ones([])}}, X, mutable=["sums"])
    near(y, 1.0 + tf.reduce_sum(X))
    near(updated["sums"]["total"], y)


class Named(nn.Module):
    def setup(self):
        self.scale = self.param("scale", nn.initializers.constant(2.0), [])

    @nn.compact_name_scope
    def encode(self, x):
        return nn.Dense(3)(x) * self.scale

    @nn.compact_name_scope
    def decode(self, x):
        return nn.Dense(5)(x)

    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(self.decode(self.encode(self.encode(x))))


def test_methods_with_a_place_of_their_own() -> None:
    variables = Named().init(nn.key(0), X)
    params = variables["params"]
    assert {name: set(node) for name, node in params.items() if name != "scale"} == {
        "encode": {"Dense_0"},
        "decode": {"Dense_0"},
        "Dense_0": {"kernel", "bias"},
    }
    assert params["decode"]["Dense_0"]["kernel"].shape == (3, 5)
    hidden = X @ params["encode"]["Dense_0"]["kernel"] * 2.0
    near(Named().apply(variables, X, method="encode"), hidden)
    bound = Named().bind(variables)
    for _ in range(2):
        near(bound(X), Named().apply(variables, X))
    assert bound["decode/Dense_0"].features == 5
    near(tf.function(lambda x: bound.encode(x))(X), hidden)
    with raises(nn.UnboundModuleError):
        Named().encode(X)


def test_a_named_method_reserves_its_name() -> None:
    class Clash(nn.Module):
        @nn.compact_name_scope
        def encode(self, x):
            return nn.Dense(3)(x)

        @nn.compact
        def __call__(self, x):
            return self.encode(nn.Dense(3, name="encode")(x))

    with raises(nn.NameInUseError):
        Clash().init(nn.key(0), X)
