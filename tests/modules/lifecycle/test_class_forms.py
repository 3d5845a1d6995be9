"""Module classes of less usual forms: generic, abstract, with descriptors, defined inside."""

from __future__ import annotations

import abc
import functools
from typing import Any, Generic, TypeVar

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises

T = TypeVar("T")
X = tf.ones([1, 2])


def test_generic_modules() -> None:
    class Box(nn.Module, Generic[T]):
        value: T

        @nn.compact
        def __call__(self, x):
            return nn.Dense(self.value)(x)

    class IntBox(Box[int]):
        pass

    for made in (Box[int](3), IntBox(3)):
        assert made.init(nn.key(0), X)["params"]["Dense_0"]["kernel"].shape == (2, 3)
    assert Box[int](3) == Box(3)


def test_abstract_modules_and_mixins() -> None:
    class Named:
        def label(self):
            return f"{type(self).__name__}:{self.width}"

    class Base(nn.Module, abc.ABC):
        width: int

        @abc.abstractmethod
        def width_of(self): ...

        @nn.compact
        def __call__(self, x):
            return nn.Dense(self.width_of())(x)

    class Double(Named, Base):
        def width_of(self):
            return 2 * self.width

    with pytest.raises(TypeError, match="width_of"):
        Base(3)
    double = Double(3)
    assert double.label() == "Double:3"
    assert double.init(nn.key(0), X)["params"]["Dense_0"]["kernel"].shape == (2, 6)


def test_descriptors_of_ones_own() -> None:
    class Twice:
        def __get__(self, module, owner=None):
            return self if module is None else module.width * 2

    class Net(nn.Module):
        width: int
        twice = Twice()

        @nn.compact
        def __call__(self, x):
            return nn.Dense(self.twice)(x)

    assert Net(3).twice == 6
    assert isinstance(Net.twice, Twice)
    assert Net(3).init(nn.key(0), X)["params"]["Dense_0"]["kernel"].shape == (2, 6)


def test_static_and_class_methods() -> None:
    class Net(nn.Module):
        width: int = 3

        @staticmethod
        def twice(x):
            return x * 2

        @classmethod
        def small(cls):
            return cls(1)

        def __call__(self, x):
            return self.twice(x)

    assert Net.small() == Net(1)
    assert Net.small().apply({}, 3) == 6


def test_a_class_defined_inside_a_method() -> None:
    class Outer(nn.Module):
        @nn.compact
        def __call__(self, x):
            class Inner(nn.Module):
                @nn.compact
                def __call__(self, x):
                    return nn.Dense(2)(x)

            return Inner()(x)

    variables = Outer().init(nn.key(0), X)
    assert set(variables["params"]) == {"Inner_0"}
    bound = Outer().bind(variables)
    # The class is another object in each call, but the same for anyone who reads it.
    tf.debugging.assert_equal(bound(X), bound(X))
    assert len(bound.trainable_variables) == 2


def test_setup_runs_for_a_submodule_that_is_only_asked_for_a_value() -> None:
    log: list[str] = []

    class Inner(nn.Module):
        def setup(self):
            log.append("setup")
            self.size = 7

    class Outer(nn.Module):
        inner: Any

        def __call__(self, x):
            return x * self.inner.size

    assert Outer(Inner()).apply({}, 2) == 14
    assert log == ["setup"]


def test_a_descriptor_that_raises_is_not_a_missing_attribute() -> None:
    class Descriptor:
        def __get__(self, module: Any, owner: Any = None) -> Any:
            return self if module is None else module.non_existent

    class Net(nn.Module):
        custom = Descriptor()

        @functools.cached_property
        def cached(self) -> Any:
            return self.non_existent

        def __call__(self, name: str) -> Any:
            return getattr(self, name)

    for name in ("custom", "cached"):
        with raises(nn.PropertyError):
            Net().apply({}, name)


def test_methods_with_a_name_scope_may_be_called_from_any_method() -> None:
    class Net(nn.Module):
        @nn.compact_name_scope
        def up(self, x: Any) -> Any:
            return nn.Dense(3)(x)

        @nn.compact_name_scope
        def down(self, x: Any) -> Any:
            return nn.Dense(3)(x)

        def __call__(self, x: Any) -> Any:
            return self.up(x) + self.down(x)

    x = tf.ones([1, 2])
    variables = Net().init(nn.key(0), x)
    assert {name: list(tree) for name, tree in variables["params"].items()} == {
        "up": ["Dense_0"],
        "down": ["Dense_0"],
    }
    parts = [Net().apply(variables, x, method=name) for name in ("up", "down")]
    tf.debugging.assert_near(Net().apply(variables, x), parts[0] + parts[1])


def test_names_of_adopted_modules_are_kept_at_every_depth() -> None:
    class Inner(nn.Module):
        sub: nn.Module
        preserve_adopted_names = True

        def __call__(self, x: Any) -> Any:
            return self.sub(x)

    class Outer(Inner):
        pass

    x = tf.ones([1, 2])
    outer = Outer(Inner(nn.Dense(1, name="deep"), name="inner"))
    variables = outer.init(nn.key(0), x)
    assert list(variables["params"]["inner"]) == ["deep"]
    bound = outer.bind(variables)
    tf.debugging.assert_near(bound(x), outer.apply(variables, x))
    assert bound["inner/deep"].features == 1


def test_names_with_a_slash_are_found() -> None:
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(1, name="a/b")(x)

    x = tf.ones([1, 2])
    bound = Net().bind(Net().init(nn.key(0), x))
    bound(x)
    assert bound["a/b"].features == 1
    assert bound["a/b/kernel"].shape == [2, 1]


def test_an_instance_from_before_a_field_was_added_has_its_default() -> None:
    class Part(nn.Module):
        width: int
        scale: float = 2.0

        @nn.compact
        def __call__(self, x):
            return self.scale * nn.Dense(self.width)(x)

    old = Part(3)
    del old.__dict__["scale"]  # as after autoreload
    assert old == Part(3)
    assert hash(old) == hash(Part(3))
    x = tf.ones([1, 2])
    model = Part(3).bind(Part(3).init(nn.key(0), x))
    del model.__dict__["scale"]
    expected = model(x)
    for transform in (nn.jit, nn.remat, nn.map_variables):
        tf.debugging.assert_near(transform(lambda m, x: m(x))(model, x), expected)
