"""Compact methods, automatic names and collisions."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises

ones = nn.initializers.ones_init()


class Scale(nn.Module):
    shape: tuple[int, ...] = ()

    @nn.compact
    def __call__(self, x):
        return x * self.param("s", ones, self.shape)


def params(module: nn.Module, *args: Any, **kwargs: Any) -> dict[str, Any]:
    return module.init(nn.key(0), tf.ones(()), *args, **kwargs)["params"]


def run(body: Any) -> dict[str, Any]:
    """The parameters of a module whose compact call is ``body``."""

    class Body(nn.Module):
        @nn.compact
        def __call__(self, x):
            return body(self, x)

    return params(Body())


def test_a_second_call_finds_the_same_variables() -> None:
    class Two(nn.Module):
        @nn.compact
        def __call__(self, x):
            return Scale()(Scale()(x))

    class Twice(nn.Module):
        def setup(self):
            self.two = Two()

        def __call__(self, x):
            return self.two(self.two(x))

    assert params(Twice())["two"].keys() == {"Scale_0", "Scale_1"}


def test_compact_methods_that_call_each_other_count_on() -> None:
    class Base(nn.Module):
        @nn.compact
        def __call__(self, x):
            return self.other(Scale()(x))

        @nn.compact
        def other(self, x):
            return Scale()(x)

    class Derived(Base):
        @nn.compact
        def __call__(self, x):
            return Scale()(super().__call__(x))

    assert sorted(params(Derived())) == ["Scale_0", "Scale_1", "Scale_2"]
    assert list(params(Derived(), method="other")) == ["Scale_0"]


def test_a_plain_method_may_declare_for_a_compact_one() -> None:
    class Helped(nn.Module):
        @nn.compact
        def __call__(self, x):
            return self.part(x)

        def part(self, x):
            return Scale()(x)

    variables = Helped().init(nn.key(0), 1.0)
    assert list(variables["params"]) == ["Scale_0"]
    with raises(nn.PlacementError):
        Helped().apply(variables, 1.0, method="part")


def test_params_and_variables_need_setup_or_compact() -> None:
    class Forgot(nn.Module):
        def __call__(self, x):
            return x * self.param("s", ones, ())

        def stats(self):
            return self.variable("stats", "n", lambda: 0)

    with raises(nn.PlacementError):
        Forgot().init(nn.key(0), 1.0)
    with raises(nn.PlacementError):
        Forgot().init(nn.key(0), method="stats")


def test_compact_on_an_unbound_module_is_refused() -> None:
    with raises(nn.UnboundModuleError):
        Scale()(1.0)


def test_a_stateless_call_works_unbound() -> None:
    class Double(nn.Module):
        factor: int = 2

        def __call__(self, x):
            return self.factor * x

        def make(self):
            return Scale()

    assert Double()(3) == 6
    assert Double().make() == Scale()


def test_nowrap_constructs_in_the_callers_context() -> None:
    class Helped(nn.Module):
        @nn.nowrap
        def make(self):
            return Scale()

        def setup(self):
            self.a = self.make()

        def __call__(self, x):
            return self.a(x)

    assert Helped().make() == Scale()
    assert list(params(Helped())) == ["a"]


def test_explicit_names_keep_their_place_among_automatic_ones() -> None:
    def body(m, x):
        for name in ("mine", "Scale_0", None, "Scale_2", None):
            x = Scale(name=name)(x)
        return x

    assert list(run(body)) == ["mine", "Scale_0", "Scale_1", "Scale_2", "Scale_3"]


def test_parent_none_detaches() -> None:
    def body(m, x):
        free = Scale(parent=None)
        assert free.parent is None
        return Scale(parent=m)(x)

    assert list(run(body)) == ["Scale_0"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("module", "module"),
        ("module", "param"),
        ("param", "module"),
        ("param", "param"),
        ("variable", "variable"),
        ("variable", "module"),
        ("module", "variable"),
    ],
)
def test_collisions(first: str, second: str) -> None:
    def declare(m: Any, what: str) -> None:
        if what == "module":
            Scale(name="same")
        elif what == "param":
            m.param("same", ones, ())
        else:
            m.variable("stats", "same", lambda: 0.0)

    def body(m, x):
        declare(m, first)
        declare(m, second)

    with raises(nn.NameInUseError):
        run(body)


def test_collisions_in_setup_and_between_setup_and_compact() -> None:
    class InSetup(nn.Module):
        def setup(self):
            self.a = Scale()
            self.b = Scale(name="a")

        def __call__(self, x):
            return x

    class Across(nn.Module):
        def setup(self):
            self.a = Scale()

        @nn.compact
        def __call__(self, x):
            return Scale(name="a")(x)

    class Outer(nn.Module):
        @nn.compact
        def __call__(self, x):
            return Across(name="inner")(x)

    for module in (InSetup(), Across(), Outer()):
        with raises(nn.NameInUseError):
            params(module)


def test_different_collections_do_not_collide() -> None:
    def body(m, x):
        m.variable("stats", "same", lambda: 0.0)
        m.variable("cache", "same", lambda: 0.0)
        return x * m.param("same", ones, ())

    assert run(body).keys() == {"same"}


class Branches(nn.Module):
    """The control-flow hazard, with shapes that fit."""

    @nn.compact
    def __call__(self, x, relu=False):
        return nn.Dense(2, activation=nn.relu if relu else None)(x)


def test_an_automatic_name_for_two_configurations_is_an_error() -> None:
    x = tf.ones((1, 2))

    def both(m):
        return m(m(x, relu=True), relu=False)

    with raises(nn.AutoNameError):
        nn.init(both, Branches())(nn.key(0))
    bound = Branches().bind(Branches().init(nn.key(0), x))
    bound(x)
    with raises(nn.AutoNameError):
        bound(x, relu=True)


def test_configurations_that_are_written_alike_are_alike() -> None:
    class Inline(nn.Module):
        @nn.compact
        def __call__(self, x, rate):
            x = nn.Dropout(rate)(x)  # holds no variables, so it may differ
            return nn.Dense(
                2,
                activation=lambda y: y * 2.0,
                kernel_initializer=tf.keras.initializers.RandomNormal(stddev=0.1),
                kernel_regularizer=tf.keras.regularizers.L2(0.1),
            )(x)

    x = tf.ones((1, 2))
    bound = Inline().bind(Inline().init(nn.key(0), x, 0.1))
    assert bound(x, 0.1).shape == bound(x, 0.2).shape


def test_paths() -> None:
    seen = {}

    class Leaf(nn.Module):
        @nn.compact
        def __call__(self, x):
            seen[self.path] = self.name
            return x

    class Root(nn.Module):
        @nn.compact
        def __call__(self, x):
            assert self.path == ()
            return Leaf(name="leaf")(Leaf()(x))

    Root().apply({}, 1.0)
    assert seen == {("Leaf_0",): "Leaf_0", ("leaf",): "leaf"}
    with raises(nn.UnboundModuleError):
        _ = Leaf().path


def test_an_apply_inside_a_compact_method_is_its_own_world() -> None:
    def body(m, x):
        inner = Scale(parent=None)
        variables = inner.init(nn.key(1), x)
        return Scale()(inner.apply(variables, x))

    assert list(run(body)) == ["Scale_0"]


def test_a_bound_module_keeps_the_children_of_its_compact_methods() -> None:
    made = []

    class Child(nn.Module):
        width: int
        scale: Any = None

        def __post_init__(self):
            made.append(self.width)
            super().__post_init__()

        @nn.compact
        def __call__(self, x):
            return nn.Dense(self.width)(x)

    class Parent(nn.Module):
        @nn.compact
        def __call__(self, x, n=2):
            for _ in range(n):
                x = Child(3)(x)
            return Child(2, scale=[1.0], name="last")(x)

    x = tf.ones([1, 3])
    bound = Parent().bind(Parent().init(nn.key(0), x))
    y = bound(x)
    first = bound["Child_0"]
    made.clear()
    tf.debugging.assert_equal(bound(x), y)
    bound(x, n=1)
    # A list may hold other things each time, so that child is made again, at the same place.
    assert made == [2, 2]
    assert bound["Child_0"] is first
    copied = copy.deepcopy(bound)
    copied["last/Dense_0/kernel"].assign(tf.zeros([3, 2]))
    tf.debugging.assert_equal(bound(x), y)
    tf.debugging.assert_equal(copied(x), tf.zeros([1, 2]))


def test_a_copy_inside_a_compact_method_is_none_of_its_children() -> None:
    class Child(nn.Module):
        width: int = 3

    class Parent(nn.Module):
        @nn.compact
        def __call__(self, template):
            copied = copy.deepcopy(template)
            assert copied == template
            return Child().path, copied.path if copied.parent is not None else None

    bound = Parent().bind({})
    for _ in range(2):
        assert bound(Child(5)) == (("Child_0",), None)
