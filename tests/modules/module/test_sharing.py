"""Shared places, copies, kept names and merged arguments."""

from __future__ import annotations

import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises

X = tf.ones([1, 2])


class LoRA(nn.Module):
    rank: int = 1
    clash: bool = False

    def setup(self):
        self.inner = nn.Dense(3)
        nn.share_scope(self, self.inner)

    @nn.compact
    def __call__(self, x):
        a = self.param("a", nn.initializers.ones, [x.shape[-1], self.rank])
        b = self.param("b", nn.initializers.zeros, [self.rank, 3])
        return self.inner(x) + x @ a @ b


def test_a_wrapper_shares_the_place_of_what_it_wraps() -> None:
    variables = LoRA().init(nn.key(0), X)
    assert set(variables["params"]) == {"kernel", "bias", "a", "b"}
    plain = nn.Dense(3).apply(
        {"params": {k: variables["params"][k] for k in ("kernel", "bias")}}, X
    )
    tf.debugging.assert_near(LoRA().apply(variables, X), plain)
    bound = LoRA().bind(variables)
    tf.debugging.assert_near(bound(X), plain)
    assert len(bound.trainable_variables) == 4
    assert bound["inner"].path == ()


def test_parameters_of_setup_live_at_the_shared_place() -> None:
    """As in Flax Linen: sharing runs no setup, so what it declares is declared there."""

    class Inner(nn.Module):
        def setup(self):
            self.w = self.param("w", nn.initializers.ones, [2])
            self.dense = nn.Dense(3)

        def __call__(self, x):
            return self.dense(x * self.w)

    class Wrapper(nn.Module):
        def setup(self):
            self.inner = Inner()
            nn.share_scope(self, self.inner)

        def __call__(self, x):
            return self.inner(x)

    variables = Wrapper().init(nn.key(0), X)
    assert set(variables["params"]) == {"w", "dense"}
    bound = Wrapper().bind(variables)
    tf.debugging.assert_equal(bound(X), Inner().apply(variables, X))
    assert bound["inner/w"] is bound["w"]


def test_siblings_share_the_place_of_the_second() -> None:
    class Tied(nn.Module):
        def setup(self):
            self.one = nn.Dense(3)
            self.two = nn.Dense(3)
            nn.share_scope(self.one, self.two)

        def __call__(self, x):
            return self.one(x) - self.two(x)

    variables = Tied().init(nn.key(0), X)
    assert set(variables["params"]) == {"two"}
    tf.debugging.assert_equal(Tied().apply(variables, X), tf.zeros([1, 3]))


def test_names_of_both_must_differ() -> None:
    class Inner(nn.Module):
        def setup(self):
            self.w = self.param("w", nn.initializers.ones, [])

        def __call__(self, x):
            return x * self.w

    class Wrapper(nn.Module):
        def setup(self):
            self.w = self.param("w", nn.initializers.ones, [])
            self.inner = Inner()
            nn.share_scope(self, self.inner)

        def __call__(self, x):
            return self.inner(x)

    with raises(nn.NameInUseError):
        Wrapper().init(nn.key(0), X)


def test_sharing_needs_variables() -> None:
    with raises(nn.UnboundModuleError):
        nn.share_scope(nn.Dense(1), nn.Dense(2))


def test_a_copy_is_a_new_sibling() -> None:
    class Twins(nn.Module):
        block: nn.Module

        @nn.compact
        def __call__(self, x):
            first = nn.Dense(3)
            second = first.copy(features=2)
            third = self.block.copy(name="third")
            return third(second(first(x)))

    variables = Twins(nn.Dense(4)).init(nn.key(0), X)["params"]
    assert {name: v["kernel"].shape[-1] for name, v in variables.items()} == {
        "Dense_0": 3,
        "Dense_1": 2,
        "third": 4,
    }
    template = nn.Dense(3, name="a")
    assert template.copy() == nn.Dense(3)
    assert template.copy(name="b", features=5) == nn.Dense(5, name="b")


def test_a_copy_in_setup_is_named_by_its_attribute() -> None:
    class Pair(nn.Module):
        def setup(self):
            self.one = nn.Dense(2)
            self.two = self.one.copy()

        def __call__(self, x):
            return self.two(self.one(x))

    assert set(Pair().init(nn.key(0), X)["params"]) == {"one", "two"}


def test_adopted_modules_keep_their_names_if_the_class_says_so() -> None:
    class Plain(nn.Module):
        child: nn.Module

        def __call__(self, x):
            return self.child(x)

    class Keeping(Plain):
        preserve_adopted_names = True

    child = nn.Dense(2, name="mine")
    assert set(Plain(child).init(nn.key(0), X)["params"]) == {"child"}
    assert set(Keeping(child).init(nn.key(0), X)["params"]) == {"mine"}
    assert set(Keeping(nn.Dense(2)).init(nn.key(0), X)["params"]) == {"child"}


def test_merge_param() -> None:
    assert nn.merge_param("train", None, False) is False
    assert nn.merge_param("train", True, None) is True
    with raises(ValueError):
        nn.merge_param("train", None, None)
    with raises(ValueError):
        nn.merge_param("train", True, False)
