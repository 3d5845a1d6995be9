"""Derivatives and mapped variables of several modules, and of modules that hold others."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import near

X = tf.random.stateless_normal([4, 3], nn.key(9))


class Holder(nn.Module):
    """Uses a module of elsewhere and one of its own."""

    head: nn.Module
    more: Any = ()

    @nn.compact
    def __call__(self, x):
        for module in (nn.Dense(3, use_bias=False), *self.more):
            x = tf.tanh(module(x))
        return self.head(x)


class Root(nn.Module):
    """Calls ``fn`` with a structure of modules below it; ``get`` chooses what it passes."""

    fn: Any
    get: Any

    @nn.compact
    def __call__(self, x):
        head, extra = nn.Dense(2, name="shared"), nn.Dense(3, use_bias=False, name="extra")
        holder = Holder(head, (extra,), name="holder")
        if self.is_initializing():
            return holder(x)
        return self.fn(self.get(self, head, holder), x)


VARIABLES = Root(None, None).init(nn.key(0), X)
PARAMS = VARIABLES["params"]


def output(params: Any, x: Any) -> Any:
    x = tf.tanh(x @ params["holder"]["Dense_0"]["kernel"])
    x = tf.tanh(x @ params["extra"]["kernel"])
    return x @ params["shared"]["kernel"] + params["shared"]["bias"]


def expected() -> Any:
    """The gradients of the sum of squares, by hand."""
    with tf.GradientTape() as tape:
        tape.watch([X, *tf.nest.flatten(PARAMS)])
        loss = tf.reduce_sum(output(PARAMS, X) ** 2)
    return tape.gradient(loss, [PARAMS, X])


FORMS: dict[str, tuple[Any, Any, Any]] = {
    "a module that holds others": (
        lambda root, head, holder: holder,
        lambda m, x: m(x),
        lambda g: {"Dense_0": g["holder"]["Dense_0"], "head": g["shared"], "more_0": g["extra"]},
    ),
    "a list": (
        lambda root, head, holder: [head, holder],
        lambda m, x: m[1](x),
        lambda g: [g["shared"], {"Dense_0": g["holder"]["Dense_0"], "more_0": g["extra"]}],
    ),
    "a dict with the root": (
        lambda root, head, holder: {"head": head, "holder": holder, "root": root},
        lambda m, x: m["holder"](x),
        lambda g: {"head": None, "holder": None, "root": g},
    ),
}


def collections(tree: Any) -> Any:
    """The trees of parameters of a structure of modules, each in its collection."""
    if isinstance(tree, list):
        return [{"params": node} for node in tree]
    if "root" in tree:
        return {name: {"params": node} if node else {} for name, node in tree.items()}
    return {"params": tree}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_vjp(form: str, traced: bool) -> None:
    get, call, shaped = FORMS[form]

    def derived(modules, x):
        y, backward = nn.vjp(call, modules, x)
        return backward(2.0 * y)

    def run(variables):
        return Root(derived, get).apply(variables, X)

    of_params, of_x = (tf.function(run) if traced else run)(VARIABLES)
    by_hand, x_by_hand = expected()
    near(of_params, collections(shaped(by_hand)))
    near(of_x, x_by_hand)


@pytest.mark.parametrize("form", FORMS)
def test_jvp_and_custom_vjp_take_the_same_structure(form: str) -> None:
    get, call, shaped = FORMS[form]
    by_hand, x_by_hand = expected()

    def along(modules, x):
        def loss(m, x):
            return tf.reduce_sum(call(m, x) ** 2)

        tangents = collections(shaped(by_hand))
        return nn.jvp(loss, modules, (x,), (tf.zeros_like(x),), tangents)[1]

    squares = sum(tf.reduce_sum(g**2) for g in tf.nest.flatten(by_hand))
    near(Root(along, get).apply(VARIABLES, X), squares)

    def tripled(modules, x):
        def backward(residual, g):
            of_variables, of_x = residual(g)
            return tf.nest.map_structure(lambda t: 3.0 * t, of_variables), 5.0 * of_x

        return nn.custom_vjp(call, lambda m, x: nn.vjp(call, m, x), backward)(modules, x)

    bound = Root(tripled, get).bind(VARIABLES)
    with tf.GradientTape() as tape:
        tape.watch(X)
        loss = tf.reduce_sum(bound(X) ** 2)
    of_variables, of_x = tape.gradient(loss, [bound.trainable_variables, X])
    near(list(of_variables), [3.0 * g for g in tf.nest.flatten(by_hand)])
    near(of_x, 5.0 * x_by_hand)


def test_a_structure_that_does_not_fit_is_refused() -> None:
    def wrong(modules, x):
        return nn.jvp(lambda m, x: m[1](x), modules, (x,), (x,), {"params": {}})

    get = FORMS["a list"][0]
    with raises(nn.TransformError):
        Root(wrong, get).apply(VARIABLES, X)

    def unknown(modules, x):
        tangents = {"params": {"head": {"kernal": tf.zeros([3, 2])}}}
        return nn.jvp(lambda m, x: m(x), modules, (x,), (x,), tangents)

    with raises(nn.TransformError):
        Root(unknown, FORMS["a module that holds others"][0]).apply(VARIABLES, X)


@pytest.mark.parametrize("has_aux", [False, True])
def test_grad_of_several_modules_and_what_they_write(has_aux: bool) -> None:
    def loss(modules, x):
        y = tf.reduce_sum(modules[1](x) ** 2)
        for module in modules:
            module.put_variable("stats", "loss", y)
        return (y, 2.0 * y) if has_aux else y

    def derived(modules, x):
        return nn.value_and_grad(loss, modules, x, has_aux=has_aux)

    get = FORMS["a list"][0]
    (value, (of_x,)), updated = Root(derived, get).apply(VARIABLES, X, mutable=["stats"])
    whole = tf.reduce_sum(output(PARAMS, X) ** 2)
    near(value, (whole, 2.0 * whole) if has_aux else whole)
    near(of_x, expected()[1])
    near(updated["stats"], {"shared": {"loss": whole}, "holder": {"loss": whole}})


def doubled(variables: Any) -> Any:
    return tf.nest.map_structure(lambda t: 2.0 * t, variables)


@pytest.mark.parametrize("form", FORMS)
def test_map_variables(form: str) -> None:
    get, call, _ = FORMS[form]
    mapped = nn.map_variables(call, trans_in_fn=doubled)
    near(Root(mapped, get).apply(VARIABLES, X), output(doubled(PARAMS), X))


def test_map_variables_maps_the_modules_among_the_arguments_each_for_itself() -> None:
    seen: list[Any] = []

    def note(variables):
        seen.append(sorted(variables["params"]))
        return doubled(variables)

    def calls(head, x, others):
        return others[0](x)

    mapped = nn.map_variables(calls, trans_in_fn=note)
    y = Root(lambda m, x: mapped(m[0], x, m[1:]), FORMS["a list"][0]).apply(VARIABLES, X)
    near(y, output(doubled(PARAMS), X))
    assert seen == [["bias", "kernel"], ["Dense_0", "more_0"]]


def test_map_variables_writes_back_where_each_belongs() -> None:
    def count(m, x):
        for module in m:
            module.put_variable("stats", "n", module.get_variable("stats", "n", 0.0) + 1.0)
        return x

    mapped = nn.map_variables(
        count,
        "stats",
        trans_in_fn=doubled,
        trans_out_fn=lambda v: tf.nest.map_structure(lambda t: t / 2.0, v),
        mutable=True,
    )
    stats = {"shared": {"n": tf.constant(1.0)}, "holder": {"n": tf.constant(3.0)}}
    _, updated = Root(mapped, FORMS["a list"][0]).apply(
        {**VARIABLES, "stats": stats}, X, mutable=["stats"]
    )
    near(updated["stats"], {"shared": {"n": 1.5}, "holder": {"n": 3.5}})


class Foo(nn.Module):
    """Takes gradients of a function that uses a module of elsewhere and makes one of its own."""

    bar: nn.Module

    @nn.compact
    def __call__(self, x, y):
        def fn(m, x, y):
            return tf.reduce_sum((y - m.bar(nn.Dense(2, use_bias=False)(x))) ** 2)

        return nn.value_and_grad(fn, self, x, y)


class Baz(nn.Module):
    @nn.compact
    def __call__(self, x, y):
        return Foo(nn.Dense(2, use_bias=False))(x, y)


@pytest.mark.parametrize("how", ["init", "apply", "traced", "bound"])
def test_gradients_where_modules_are_made_inside_and_given_from_outside(how: str) -> None:
    y = X[:, :2]
    first, variables = Baz().init_with_output(nn.key(0), X, y)
    params = variables["params"]
    assert {name: sorted(node) for name, node in params.items()} == {
        "Foo_0": ["Dense_0"],
        "Dense_0": ["kernel"],
    }
    found = {
        "init": lambda: first,
        "apply": lambda: Baz().apply(variables, X, y),
        "traced": lambda: tf.function(Baz().apply)(variables, X, y),
        "bound": lambda: Baz().bind(variables)(X, y),
    }[how]()
    with tf.GradientTape() as tape:
        tape.watch([X, y])
        inner = X @ params["Foo_0"]["Dense_0"]["kernel"]
        loss = tf.reduce_sum((y - inner @ params["Dense_0"]["kernel"]) ** 2)
    near(found, (loss, tuple(tape.gradient(loss, [X, y]))))


def test_what_an_output_does_not_depend_on_has_zero_gradients() -> None:
    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    y, backward = nn.vjp(lambda m, x, unused: m(x) * 0.0 + x[:, :2], dense, X, tf.ones([5]))
    of_variables, of_x, of_unused = backward(tf.ones_like(y))
    near(of_variables["params"], {"kernel": tf.zeros([3, 2]), "bias": tf.zeros([2])})
    near(of_x, tf.pad(tf.ones([4, 2]), [[0, 0], [0, 1]]))
    near(of_unused, tf.zeros([5]))
    _, backward = nn.vjp(lambda m, x: x, dense, X)
    of_variables, _ = backward(X)
    near(of_variables["params"], {"kernel": tf.zeros([3, 2]), "bias": tf.zeros([2])})
    _, change = nn.jvp(lambda m, x: tf.ones([3]), dense, (X,), (X,))
    near(change, tf.zeros([3]))


def test_map_variables_hands_back_whole_collections() -> None:
    seen: list[Any] = []

    def halved(variables):
        seen.append(sorted(variables["stats"]))
        return tf.nest.map_structure(lambda t: t / 2.0, variables)

    class Writes(nn.Module):
        @nn.compact
        def __call__(self, x):
            self.put_variable("stats", "a", self.get_variable("stats", "a") + 1.0)
            return x

    mapped = nn.map_variables(Writes, "stats", doubled, halved, mutable=True)()
    start = {"stats": {"a": tf.constant(1.0), "b": tf.constant(5.0)}}
    _, updated = mapped.apply(start, X, mutable=["stats"])
    near(updated, {"stats": {"a": 1.5, "b": 5.0}})
    assert seen == [["a", "b"]]
