"""Copies of modules: by copy, deepcopy and pickle; and what a repr says."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises

X = tf.random.stateless_normal([4, 3], [1, 2])


class Net(nn.Module):
    width: int = 4

    def setup(self) -> None:
        self.hidden = nn.Dense(self.width, kernel_initializer=nn.initializers.normal(0.5))
        self.norm = nn.BatchNorm()

    @nn.compact
    def __call__(self, x: Any, training: bool = False) -> Any:
        x = self.norm(self.hidden(x), training=training)
        return nn.Dense(2)(nn.Dropout(0.5)(x, training=training))


def pickled(module: Any) -> Any:
    return pickle.loads(pickle.dumps(module))


@pytest.fixture
def bound() -> Any:
    rngs = {"params": nn.key(0), "dropout": nn.key(1)}
    made = Net().bind(Net().init(rngs, X), rngs=rngs)
    made(X, training=True)
    return made


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
def test_a_copy_of_a_bound_module_has_variables_of_its_own(
    bound: Any, copied: Callable[[Any], Any]
) -> None:
    made = copied(bound)
    assert made.named_variables().keys() == bound.named_variables().keys()
    before = bound(X)
    tf.debugging.assert_equal(made(X), before)
    # The next draw is the same for both, because the counts were copied too.
    tf.debugging.assert_equal(made(X, training=True), bound(X, training=True))
    for variable in made.trainable_variables:
        variable.assign_add(tf.ones_like(variable))
    before = bound(X)
    assert float(tf.reduce_max(tf.abs(made(X) - before))) > 0.1
    assert made != bound


def test_a_shallow_copy_shares_the_variables(bound: Any) -> None:
    made = copy.copy(bound)
    assert made is not bound
    assert {id(v) for v in made.variables} == {id(v) for v in bound.variables}


def test_a_part_of_a_bound_module_is_copied_as_a_module(bound: Any) -> None:
    made = pickled(bound.hidden)
    assert made.path == ()
    assert made.parent is None
    tf.debugging.assert_equal(made(X), bound.hidden(X))


def test_a_copy_is_checkpointed_under_the_same_names(bound: Any, tmp_path: Any) -> None:
    path = tf.train.Checkpoint(model=bound).save(str(tmp_path / "a"))
    made = pickled(bound)
    bound.variables[0].assign_add(tf.ones_like(bound.variables[0]))
    tf.train.Checkpoint(model=made).restore(path).assert_consumed()


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy, copy.copy])
def test_copies_of_templates_are_equal(copied: Callable[[Any], Any]) -> None:
    module = nn.Sequential([nn.Conv2D(4, 3, kernel_initializer=nn.initializers.ones), Net(5)])
    assert copied(module) == module
    assert hash(copied(module)) == hash(module)


def test_a_repr_can_be_evaluated() -> None:
    for module in (
        nn.Conv2D(4, 3, padding="same", data_format="nchw"),
        nn.Dense(2, name="head"),
        nn.Sequential([nn.Dense(2), nn.Dropout(0.5, name="drop")], name="net"),
    ):
        made = eval(repr(module), {n: getattr(nn, n) for n in nn.__all__})
        assert made == module
        assert made.name == module.name


class Twice(nn.Module):
    part: nn.Module
    own: bool = True

    @nn.compact
    def __call__(self, x):
        parent = self if self.own else None
        first = self.part.clone(parent=parent)
        if not self.own:
            assert first.parent is None
            return self.part(x)
        return first(x) + self.part.clone(parent=self, width=5, name="other")(x)


def test_a_clone_with_a_parent_is_a_submodule_of_it() -> None:
    """As Flax Linen's ``Module.clone``."""
    params = Twice(Net(3)).init(nn.key(0), X)["params"]
    assert sorted(params) == ["Net_0", "other"]
    assert params["other"]["hidden"]["kernel"].shape == (3, 5)
    assert list(Twice(Net(3), own=False).init(nn.key(0), X)["params"]) == ["part"]
    net = Net(3)
    assert net.clone(parent=None) == net
    assert net.clone(parent=None, width=9) == Net(9)


def test_a_clone_in_a_method_that_may_not_declare_is_refused() -> None:
    class Plain(nn.Module):
        def __call__(self, x):
            return Net(3).clone(parent=self)(x)

    with raises(nn.PlacementError):
        Plain().init(nn.key(0), X)
