"""nn.vmap: ensembles, shared parameters, axes, streams, and what it refuses."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises

X = tf.random.stateless_normal([3, 2], nn.key(9))


def ensemble(size: int = 4, **options: Any) -> Any:
    axes = {"params": 0, **options.pop("axes", {})}
    split = {"params": True, **options.pop("split", {})}
    return functools.partial(
        nn.vmap, variable_axes=axes, split_rngs=split, in_axes=None, axis_size=size, **options
    )


def test_stacked_parameters_are_an_ensemble() -> None:
    members = ensemble()(nn.Dense)(5)
    variables = members.init(nn.key(0), X)
    kernel = variables["params"]["kernel"]
    assert kernel.shape == (4, 2, 5)
    y = members.apply(variables, X)
    for i in range(4):
        one = {"params": {name: value[i] for name, value in variables["params"].items()}}
        tf.debugging.assert_near(y[i], nn.Dense(5).apply(one, X))
    assert all(bool(tf.reduce_any(kernel[0] != kernel[i])) for i in range(1, 4))


def test_shared_parameters_are_one_set() -> None:
    shared = nn.vmap(nn.Dense, variable_axes={"params": None}, split_rngs={"params": False})(5)
    variables = shared.init(nn.key(0), X)
    assert variables["params"]["kernel"].shape == (2, 5)
    tf.debugging.assert_near(shared.apply(variables, X), nn.Dense(5).apply(variables, X))
    y, again = shared.init_with_output(nn.key(0), X)
    tf.debugging.assert_near(y, shared.apply(again, X))


def test_an_ensemble_trains_bound_and_in_a_trace() -> None:
    members = ensemble()(nn.Dense)(1)
    bound = members.bind(members.init(nn.key(0), X))
    step = tf.function(lambda x: bound(x))
    tf.debugging.assert_near(step(X), bound(X))
    bound["kernel"].assign(tf.ones([4, 2, 1]))
    tf.debugging.assert_near(step(X)[3], tf.reduce_sum(X, 1, keepdims=True))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(bound(X) ** 2)
    grads = tape.gradient(loss, bound.trainable_variables)
    assert [g.shape for g in grads] == [(4, 1), (4, 2, 1)]
    expected = tf.reduce_sum(2.0 * (X @ tf.ones([2, 1])) * X, 0)[:, None]
    tf.debugging.assert_near(grads[1][2], expected, atol=1e-4)


@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_axes_of_inputs_and_outputs(out_axis: int) -> None:
    class Add(nn.Module):
        def __call__(self, pair, scale):
            return {"sum": pair[0] + pair[1] * scale}

    mapped = nn.vmap(Add, in_axes=((0, 1), None), out_axes={"sum": out_axis})
    a, b = tf.ones([3, 2]), tf.reshape(tf.range(6.0), [2, 3])
    y = mapped().apply({}, (a, b), 10.0)["sum"]
    expected = a + tf.transpose(b) * 10.0
    tf.debugging.assert_near(y, expected if out_axis == 0 else tf.transpose(expected))


def test_an_axis_of_variables_other_than_the_first() -> None:
    last = nn.vmap(
        nn.Dense,
        variable_axes={"params": -1},
        split_rngs={"params": True},
        in_axes=None,
        axis_size=3,
    )(5)
    variables = last.init(nn.key(0), X)
    assert variables["params"]["kernel"].shape == (2, 5, 3)
    one = {"params": {name: value[..., 1] for name, value in variables["params"].items()}}
    tf.debugging.assert_near(last.apply(variables, X)[1], nn.Dense(5).apply(one, X))


def test_the_first_entry_that_names_a_collection_counts() -> None:
    members = ensemble(axes={True: None})(nn.Dense)(5)
    assert members.init(nn.key(0), X)["params"]["kernel"].shape == (4, 2, 5)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, training=False):
        x = nn.Dense(4)(x)
        x = nn.BatchNorm()(x, training=training)
        return nn.Dropout(0.5)(x, training=training)


def test_state_and_streams_of_an_ensemble() -> None:
    members = ensemble(2, axes={"batch_stats": 0}, split={"dropout": True})(Net)()
    variables = members.init(nn.key(0), X)
    assert variables["batch_stats"]["BatchNorm_0"]["moving_mean"].shape == (2, 4)
    same = tf.nest.map_structure(lambda t: tf.stack([t[0], t[0]]), variables)
    y, updated = members.apply(
        same, X, training=True, rngs={"dropout": nn.key(1)}, mutable=["batch_stats"]
    )
    assert bool(tf.reduce_any(y[0] != y[1]))
    mean = updated["batch_stats"]["BatchNorm_0"]["moving_mean"]
    assert bool(tf.reduce_any(mean != 0.0))
    tf.debugging.assert_near(mean[0], mean[1])

    bound = members.bind(same, rngs={"dropout": nn.key(1)})
    tf.debugging.assert_near(bound(X, training=True), y)
    tf.debugging.assert_near(bound["BatchNorm_0/moving_mean"], mean)
    assert bool(tf.reduce_any(bound(X, training=True) != y))


def test_streams_that_are_not_split_are_the_same_and_others_do_not_exist() -> None:
    def draw(module, x):
        return tf.random.stateless_normal([2], module.make_rng("noise"))

    class Draws(nn.Module):
        split: Any

        @nn.compact
        def __call__(self, x):
            return nn.vmap(draw, split_rngs=self.split)(self, x)

    rngs = {"noise": nn.key(0)}
    y = Draws({"noise": False}).apply({}, X, rngs=rngs)
    tf.debugging.assert_equal(y[0], y[1])
    y = Draws({"noise": True}).apply({}, X, rngs=rngs)
    assert bool(tf.reduce_any(y[0] != y[1]))
    with raises(nn.RngError):
        Draws({}).apply({}, X, rngs=rngs)


class Closure(nn.Module):
    """A function that holds a module reaches a mapped method in several ways."""

    wrap: Callable[..., Any]

    @nn.compact
    def __call__(self, x):
        dense = nn.Dense(x.shape[-1])
        mapped = nn.vmap(
            Closure.inner, in_axes=0, variable_axes={"params": 0}, split_rngs={"params": True}
        )
        return mapped(self, x, self.wrap(dense))

    def inner(self, x, fn):
        return fn(x)


@dataclasses.dataclass
class Held:
    module: Any

    def __call__(self, x):
        return self.module(x)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: nn.Partial(lambda m, x: m(x), [m]),
        lambda m: functools.partial(lambda m, x: m(x), m),
        Held,
        lambda m: m,
    ],
)
def test_modules_that_can_be_seen_are_mapped(wrap: Any) -> None:
    variables = Closure(wrap).init(nn.key(0), X)
    kernel = variables["params"]["Dense_0"]["kernel"]
    assert kernel.shape == (3, 2, 2)
    y = Closure(wrap).apply(variables, X)
    tf.debugging.assert_near(y, tf.einsum("bi,bij->bj", X, kernel))


def test_a_closure_over_a_module_is_detected() -> None:
    with raises(nn.TransformError):
        Closure(lambda m: lambda x: m(x)).init(nn.key(0), X)
    variables = Closure(Held).init(nn.key(0), X)
    bound = Closure(lambda m: lambda x: m(x)).bind(variables)
    with raises(nn.TransformError):
        bound(X)
    tf.debugging.assert_near(Closure(Held).bind(variables)(X), Closure(Held).apply(variables, X))


def test_inline_submodules_continue_the_numbering() -> None:
    class Inline(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Dense(2)(x)
            x = nn.vmap(
                lambda m, x: nn.Dense(2)(x),
                variable_axes={"params": None},
                split_rngs={"params": False},
            )(self, x)
            return nn.Dense(2)(x)

    variables = Inline().init(nn.key(0), X)
    assert list(variables["params"]) == ["Dense_0", "Dense_1", "Dense_2"]
    expected = X
    for name in ("Dense_0", "Dense_1", "Dense_2"):
        expected = expected @ variables["params"][name]["kernel"]
    tf.debugging.assert_near(Inline().apply(variables, X), expected)


def test_names_of_transformed_classes_in_a_parent() -> None:
    class Parent(nn.Module):
        @nn.compact
        def __call__(self, x):
            return ensemble()(nn.Dense)(2)(x)

    assert set(Parent().init(nn.key(0), X)["params"]) == {"VmapDense_0"}


def test_setup_and_fields_of_a_mapped_class() -> None:
    class Inner(nn.Module):
        head: nn.Module

        def setup(self):
            self.scale = self.param("scale", nn.initializers.normal(), [2])
            self.body = nn.Dense(2)

        def __call__(self, x):
            return self.head(self.body(x * self.scale))

    members = ensemble(3)(Inner)(nn.Dense(1))
    variables = members.init(nn.key(0), X)["params"]
    assert variables["scale"].shape == (3, 2)
    assert variables["body"]["kernel"].shape == (3, 2, 2)
    assert variables["head"]["kernel"].shape == (3, 2, 1)
    assert members.apply({"params": variables}, X).shape == (3, 3, 1)


def test_methods_can_be_chosen() -> None:
    class Two(nn.Module):
        def setup(self):
            self.dense = nn.Dense(2)

        def encode(self, x):
            return self.dense(x)

        def plain(self, x):
            return x * 2.0

    members = ensemble(methods={"encode": {"out_axes": 1}})(Two)()
    variables = members.init(nn.key(0), X, method="encode")
    assert members.apply(variables, X, method="encode").shape == (3, 4, 2)
    assert members.apply(variables, X, method="plain").shape == (3, 2)
    with raises(nn.TransformError):
        ensemble(methods=["decode"])(Two)


def test_a_shared_collection_may_not_be_written() -> None:
    mapped = nn.vmap(Net, variable_axes={"params": None, "batch_stats": None}, in_axes=1)
    x = tf.ones([3, 4, 2])
    variables = Net().init(nn.key(0), x[:, 0])
    assert mapped().apply(variables, x).shape == (4, 3, 4)
    with raises(nn.ImmutableCollectionError):
        mapped().apply(variables, x, training=True, mutable=["batch_stats"])


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: nn.vmap(nn.Dense(3)), id="instance"),
        pytest.param(lambda: nn.vmap(3), id="number"),
        pytest.param(lambda: nn.vmap(lambda m, x: x)(1.0, X), id="no module"),
        pytest.param(lambda: nn.vmap(nn.Dense)(3)(X), id="module class"),
        pytest.param(lambda: nn.vmap(nn.Dense, in_axes=(0, 0))(3).init(nn.key(0), X), id="in_axes"),
        pytest.param(lambda: nn.vmap(nn.Dense, in_axes=None)(3).init(nn.key(0), X), id="no axis"),
        pytest.param(lambda: nn.vmap(nn.Dense, axis_size=5)(3).init(nn.key(0), X), id="sizes"),
    ],
)
def test_misuse(make: Any) -> None:
    with raises(nn.TransformError):
        make()


def test_a_module_may_not_come_out() -> None:
    class Leaks(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.vmap(lambda m, x: m)(self, x)

    with raises(nn.TransformError):
        Leaks().apply({}, X)


def test_an_error_inside_leaves_the_modules_usable() -> None:
    class Fails(nn.Module):
        @nn.compact
        def __call__(self, x):
            def fail(m, x):
                raise KeyError("mine")

            try:
                nn.vmap(fail)(self, x)
            except KeyError:
                return nn.Dense(2)(x)

    assert set(Fails().init(nn.key(0), X)["params"]) == {"Dense_0"}


def test_an_axis_that_an_argument_lacks_is_named() -> None:
    mapped = nn.vmap(nn.Dense, variable_axes={"params": None}, split_rngs={"params": False})
    with raises(nn.TransformError):
        mapped(3).init(nn.key(0), tf.constant(1.0))


def test_no_variables_are_made_over_an_axis_of_size_0() -> None:
    mapped = nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True})(3)
    with raises(nn.TransformError):
        mapped.init(nn.key(0), tf.ones([0, 2, 2]))
