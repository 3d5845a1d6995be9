"""``setup`` and ``declare``: when they run and what they name."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises


class Scale(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x * self.param("s", nn.initializers.ones_init(), ())


def names(tree: Any) -> list[str]:
    return sorted(tree["params"])


def init(module: nn.Module) -> dict[str, Any]:
    return module.init(nn.key(0), tf.ones(()))


def test_lists_tuples_and_dicts_are_named_by_position_and_key() -> None:
    class Pair(NamedTuple):
        left: Any
        right: Any

    class Containers(nn.Module):
        def setup(self):
            self.list = [Scale(), Scale()]
            self.dict = {"b": {"c": Scale()}, "a": Scale(), (1, 2): Scale()}
            self.pair = Pair(Scale(), [Scale()])

        def __call__(self, x):
            assert isinstance(self.list, tuple)
            assert isinstance(self.pair, Pair)
            with pytest.raises(TypeError):
                self.dict["new"] = 1
            everything = [*self.list, self.dict["a"], self.dict["b"]["c"], self.dict[(1, 2)]]
            for part in [*everything, self.pair.left, self.pair.right[0]]:
                x = part(x)
            return x

    expected = ["dict_(1, 2)", "dict_a", "dict_b_c", "list_0", "list_1", "pair_0", "pair_1_0"]
    assert names(init(Containers())) == expected


def test_an_explicit_name_wins_over_the_attribute() -> None:
    class Named(nn.Module):
        def setup(self):
            self.attribute = Scale(name="explicit")

        def __call__(self, x):
            return self.attribute(x)

    assert names(init(Named())) == ["explicit"]


def test_setup_runs_once_for_each_bound_instance() -> None:
    runs = []

    class Counting(nn.Module):
        def setup(self):
            runs.append(1)
            self.a = Scale()

        def __call__(self, x):
            return self.a(self.a(x))

        def other(self, x):
            return self.a(x)

    variables = init(Counting())
    assert len(runs) == 1
    bound = Counting().bind(variables)
    assert "a" in dir(bound)
    bound(1.0)
    bound.other(1.0)
    assert len(runs) == 2


def test_super_setup_adds_to_what_the_base_declares() -> None:
    class One(nn.Module):
        def setup(self):
            self.a = Scale()

        def __call__(self, x):
            return self.a(x)

    class Two(One):
        def setup(self):
            super().setup()
            self.b = Scale()

        def __call__(self, x):
            return self.b(super().__call__(x))

    assert names(init(Two())) == ["a", "b"]


def test_params_and_variables_in_setup() -> None:
    class Direct(nn.Module):
        def setup(self):
            self.w = self.param("w", nn.initializers.ones_init(), (2,))
            self.count = self.variable("stats", "count", lambda: tf.zeros([]))

        def __call__(self, x):
            self.count.value += 1.0
            return x * self.w

    variables = init(Direct())
    assert variables["params"]["w"].shape == (2,)
    assert float(variables["stats"]["count"]) == 1.0


def test_a_failed_setup_leaves_nothing_behind() -> None:
    broken = [True]

    class Fragile(nn.Module):
        def setup(self):
            self.a = Scale()
            if broken[0]:
                raise RuntimeError("not yet")
            self.b = Scale()

        def __call__(self, x):
            return self.b(self.a(x))

    broken[0] = False
    variables = init(Fragile())
    broken[0] = True
    bound = Fragile().bind(variables)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not yet"):
            bound(1.0)
    broken[0] = False
    assert float(bound(2.0)) == 2.0


def test_setup_of_an_unbound_module_is_refused() -> None:
    class Setup(nn.Module):
        def setup(self):
            self.a = Scale()

    with raises(nn.UnboundModuleError):
        Setup().setup()


def test_setup_of_a_bound_module_may_not_compute_with_a_parameter() -> None:
    class Stale(nn.Module):
        def setup(self):
            self.double = 2 * self.param("w", nn.initializers.ones_init(), ())

        def __call__(self, x):
            return x * self.double

    variables = init(Stale())
    assert float(Stale().apply(variables, 3.0)) == 6.0
    with raises(nn.SetupReadError):
        Stale().bind(variables)(3.0)
    bound = Stale().bind(variables)
    with pytest.raises(nn.SetupReadError):
        tf.function(lambda x: bound(x))(3.0)


def test_setup_that_first_runs_in_a_trace_leaves_no_graph_tensors() -> None:
    class Constant(nn.Module):
        def setup(self):
            self.mask = tf.constant([1.0, 0.0]) * 2.0

        def __call__(self, x):
            return x * self.mask

    bound = Constant().bind({})
    traced = tf.function(lambda x: bound(x))  # the object itself would be asked for attributes
    assert traced(tf.ones([2])).numpy().tolist() == [2.0, 0.0]
    assert bound(tf.ones([2])).numpy().tolist() == [2.0, 0.0]


def test_fields_with_modules_are_adopted_under_the_field_name() -> None:
    class Outer(nn.Module):
        inner: Any
        more: Any = ()

        def __call__(self, x):
            for part in (self.inner, *self.more):
                x = part(x)
            return x

    given = Scale(name="ignored")
    variables = init(Outer(given, [Scale(), Scale()]))
    assert names(variables) == ["inner", "more_0", "more_1"]
    assert given.name == "ignored"


def test_one_instance_in_several_places_is_one_module() -> None:
    class Shared(nn.Module):
        parts: Any

        def __call__(self, x):
            assert self.parts["a"] is self.parts["b"]
            return self.parts["b"](self.parts["a"](x))

    class Nested(nn.Module):
        left: Any
        right: Any

        def __call__(self, x):
            return self.right(self.left(x))

    a = Scale()
    assert names(init(Shared({"b": a, "a": a}))) == ["parts_a"]
    assert names(init(Nested(Nested(a, Scale()), a))) == ["left"]
    bound = Nested(a, a).bind(init(Nested(a, a)))
    assert len(bound.trainable_variables) == 1
    bound.trainable_variables[0].assign(3.0)
    assert float(bound(1.0)) == 9.0


def test_a_module_from_outside_is_cloned_when_setup_assigns_it() -> None:
    outside = Scale()

    class Closing(nn.Module):
        def setup(self):
            self.a = outside

        def __call__(self, x):
            return self.a(x)

    assert names(init(Closing())) == ["a"]
    assert outside.name is None
    assert init(outside)["params"]["s"].shape == ()


def test_a_module_made_in_setup_can_be_passed_on() -> None:
    class Wrap(nn.Module):
        inner: Any

        def __call__(self, x):
            return self.inner(x)

    class Outer(nn.Module):
        def setup(self):
            scale = Scale()
            self.first = Wrap(scale)
            self.second = Wrap(scale)

        def __call__(self, x):
            return self.second(self.first(x))

    variables = init(Outer())
    assert variables["params"].keys() == {"first"}
    assert variables["params"]["first"].keys() == {"inner"}


def test_declare_may_not_declare_variables() -> None:
    class Wrong(nn.Module):
        def declare(self):
            self.w = self.param("w", nn.initializers.ones_init(), ())

        def __call__(self, x):
            return x

    with raises(nn.PlacementError):
        Wrong().apply({}, 1.0)
    with pytest.raises(nn.PlacementError):
        _ = Wrong().w


def test_declared_children_are_unbound_modules_of_their_own() -> None:
    class Both(nn.Module):
        width: int

        def declare(self):
            self.a = nn.Dense(self.width)

        def setup(self):
            self.b = nn.Dense(2 * self.a.features)

        def __call__(self, x):
            return self.b(self.a(x))

    module = Both(3)
    assert module.a == nn.Dense(3)
    assert module.a is module.a
    assert not hasattr(module, "b")
    assert module["b"] == nn.Dense(6)
    x = tf.ones((1, 2))
    variables = module.init(nn.key(0), x)
    assert names(variables) == ["a", "b"]
    assert module.bind(variables).a(x).shape == (1, 3)


def test_looking_into_a_setup_that_declares_variables() -> None:
    class Mixed(nn.Module):
        use: bool = False

        def setup(self):
            self.w = self.param("w", nn.initializers.ones_init(), (2,))
            self.n = self.variable("stats", "n", lambda: 0)
            self.a = nn.Dense(self.w.shape[0] if self.use else 2)

    assert Mixed()["a"] == nn.Dense(2)
    with raises(nn.UnboundModuleError):
        _ = Mixed(use=True)["a"]
