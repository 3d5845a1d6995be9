"""Names, setup and sharing across transformations; modules that branches make."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import WAYS, called, near

X = tf.random.stateless_normal([2, 2], nn.key(9))
TRANSFORMS = pytest.mark.parametrize("transform", [nn.jit, nn.remat], ids=["jit", "remat"])


@TRANSFORMS
def test_setup_runs_once_for_each_copy_whatever_the_number_of_methods(transform: Any) -> None:
    setups: list[int] = []

    class A(nn.Module):
        def setup(self):
            setups.append(1)
            self.dense = nn.Dense(2)

        @transform
        def one(self, x):
            return self.dense(self.dense(x))

        @transform
        def two(self, x):
            return self.dense(self.dense(x))

    class B(nn.Module):
        def setup(self):
            self.a = A()

        def __call__(self, x):
            return self.a.one(x), self.a.two(x)

    (one, two), variables = B().init_with_output(nn.key(0), X)
    near(one, two)
    assert set(variables["params"]) == {"a"}
    assert set(variables["params"]["a"]) == {"dense"}
    assert len(setups) <= 3


@TRANSFORMS
def test_one_module_in_two_fields_or_as_field_and_argument(transform: Any) -> None:
    class Fields(nn.Module):
        one: nn.Module
        two: nn.Module

        @nn.compact
        def __call__(self, x):
            return self.two(self.one(x))

    class Both(nn.Module):
        one: nn.Module

        @nn.compact
        def __call__(self, x, two):
            return two(self.one(x))

    class Parent(nn.Module):
        kind: str

        @nn.compact
        def __call__(self, x):
            dense = nn.Dense(2)
            if self.kind == "fields":
                return transform(Fields)(dense, dense)(x)
            return transform(Both)(dense)(x, dense)

    for kind in ("fields", "both"):
        y, variables = Parent(kind).init_with_output(nn.key(0), X)
        assert set(variables["params"]) == {"Dense_0"}
        dense = nn.Dense(2).bind({"params": variables["params"]["Dense_0"]})
        near(y, dense(dense(X)))
        near(Parent(kind).apply(variables, X), y)
        near(Parent(kind).bind(variables)(X), y)


@TRANSFORMS
def test_state_of_adopted_modules_is_written_once_where_it_belongs(transform: Any) -> None:
    class C(nn.Module):
        @transform
        @nn.compact
        def __call__(self, x):
            sums = self.variable("sums", "v", lambda: tf.zeros_like(x))
            if not self.is_initializing():
                sums.value += x
            return x

    class B(nn.Module):
        c: nn.Module

        @transform
        @nn.compact
        def __call__(self, x):
            return self.c(C(name="outer_c")(x))

    class A(nn.Module):
        b: nn.Module

        @transform
        @nn.compact
        def __call__(self, x):
            return self.b(x)

    module = A(B(C()))
    variables = module.init(nn.key(0), X)
    _, updated = module.apply(variables, X, mutable=["sums"])
    near(updated, {"sums": {"b": {"c": {"v": X}, "outer_c": {"v": X}}}})


@TRANSFORMS
def test_names_are_reserved_across_transformed_methods(transform: Any) -> None:
    class Clash(nn.Module):
        @transform
        @nn.compact
        def helper(self, x, m):
            nn.Dense(2, name="a")
            return m(x)

        @transform
        @nn.compact
        def __call__(self, x):
            return self.helper(x, nn.Dense(2, name="a"))

    with raises(nn.NameInUseError):
        Clash().init(nn.key(0), X)

    class InSetup(nn.Module):
        def setup(self):
            self.subs = [nn.Dense(2)]
            self.subs = [nn.Dense(2)]

        @transform
        def __call__(self, x):
            return self.subs[0](x)

    with raises(nn.NameInUseError):
        InSetup().init(nn.key(0), X)


@TRANSFORMS
def test_a_module_of_setup_shared_with_a_transformed_one(transform: Any) -> None:
    class A(nn.Module):
        def setup(self):
            self.w = self.param("w", nn.initializers.normal(1.0), (2, 2))

        def __call__(self, x):
            return x @ self.w

    class B(nn.Module):
        a: nn.Module

        @nn.compact
        def __call__(self, x):
            return self.a(x)

    class C(nn.Module):
        def setup(self):
            self.a = A()
            self.b = transform(B)(self.a)

        def __call__(self, x):
            return self.b(x) + 2.0 * self.a(x)

    y, variables = C().init_with_output(nn.key(0), X)
    assert tf.nest.map_structure(lambda t: t.shape, variables) == {"params": {"a": {"w": (2, 2)}}}
    near(y, 3.0 * X @ variables["params"]["a"]["w"])
    near(C().bind(variables)(X), y)


# -- modules of branches ---------------------------------------------------------------------------


class Heads(nn.Module):
    """Each branch makes its own modules and counts its calls."""

    named: bool = True
    widths: tuple[int, ...] = (3, 4, 3)

    @nn.compact
    def __call__(self, index, x):
        def head(i):
            def branch(m, x):
                name = f"hidden_{i}" if self.named else None
                count = m.variable("counts", f"calls_{i}", lambda: tf.zeros([]))
                if not m.is_initializing():
                    count.value += 1.0
                h = nn.Dense(self.widths[i], name=name)(x)
                return nn.Dense(2, name=f"out_{i}")(tf.tanh(h))

            return branch

        return nn.switch(index, [head(i) for i in range(len(self.widths))], self, x)


@pytest.mark.parametrize("how", WAYS)
def test_switch_with_modules_that_the_branches_make(how: str) -> None:
    variables = Heads().init(nn.key(0), tf.constant(0), X)
    params = variables["params"]
    assert sorted(params) == [f"{kind}_{i}" for kind in ("hidden", "out") for i in range(3)]
    assert params["hidden_1"]["kernel"].shape == (2, 4)
    for i in (1, 2):
        y, after = called(how, Heads(), variables, tf.constant(i), X, mutable=["counts"])
        hidden = tf.tanh(nn.Dense(Heads().widths[i]).apply({"params": params[f"hidden_{i}"]}, X))
        near(y, nn.Dense(2).apply({"params": params[f"out_{i}"]}, hidden))
        assert float(after["counts"][f"calls_{i}"]) == 1.0
        assert float(after["counts"]["calls_0"]) == 0.0


def test_an_automatic_name_for_different_modules_of_two_branches_is_refused() -> None:
    with raises((nn.AutoNameError, nn.ParamShapeError)):
        Heads(named=False).init(nn.key(0), tf.constant(0), X)


def test_alike_modules_of_two_branches_share_as_in_flax() -> None:
    variables = Heads(named=False, widths=(3, 3)).init(nn.key(0), tf.constant(0), X)
    assert sorted(variables["params"]) == ["Dense_0", "out_0", "out_1"]
    traced = tf.function(lambda i: Heads(False, (3, 3)).apply(variables, i, X, mutable="counts")[0])
    hidden = tf.tanh(nn.Dense(3).apply({"params": variables["params"]["Dense_0"]}, X))
    for i in range(2):
        out = {"params": variables["params"][f"out_{i}"]}
        near(traced(tf.constant(i)), nn.Dense(2).apply(out, hidden))
