"""The samples of "The Flax Module lifecycle", in the order of the document.

A sample is kept as it is printed, except that ``jax.numpy`` is ``tf`` and ``random.key`` is
``nn.key``. Where a sample only defines something, the test says what the text around it promises.
The sections from "Functionalization" on are in ``test_flax_module_functionalization``.
"""

# The samples keep their indentation and their style.
# ruff: noqa: RET503
# fmt: off
from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises


class MLP(nn.Module):
  # 1. Attribute annotations
  hidden_size: int
  out_size: int

  # 2. The ``setup`` method
  def setup(self):
    self.hidden = nn.Dense(self.hidden_size)
    self.out = nn.Dense(self.out_size)

  # 3. User methods
  def __call__(self, x):
    a = self.hidden(x)
    h = nn.relu(a)
    return self.out(h)


class CompactMLP(nn.Module):
  hidden_size: int
  out_size: int

  @nn.compact
  def __call__(self, x):
    a = nn.Dense(self.hidden_size)(x)
    h = nn.relu(a)
    return nn.Dense(self.out_size)(h)


class CompactScaledMLP(nn.Module):
  hidden_size: int
  out_size: int

  @nn.compact
  def __call__(self, x):
    scale = self.param("scale", nn.initializers.ones_init(), x.shape[-1:])
    x *= scale[None]
    a = nn.Dense(self.hidden_size)(x)
    h = nn.relu(a)
    return nn.Dense(self.out_size)(h)


class WrongModule(nn.Module):
  @nn.compact
  def __call__(self, x, mode):
    if mode == "encode":
      return nn.Dense(features=8)(x)
    elif mode == "decode":
      return nn.Dense(features=4)(x)


class CorrectModule(nn.Module):
  @nn.compact
  def __call__(self, x, mode):
    encoder = nn.Dense(8)
    decoder = nn.Dense(4)
    if mode == "encode":
      return encoder(x)
    elif mode == "decode":
      return decoder(x)


def same(a: Any, b: Any) -> bool:
    tf.nest.assert_same_structure(a, b)
    pairs = zip(tf.nest.flatten(a), tf.nest.flatten(b), strict=True)
    return all(bool(tf.reduce_all(x == y)) for x, y in pairs)


def test_definition() -> None:
    """Flax Module lifecycle, "Definition": fields make the constructor."""
    mlp = MLP(5, out_size=3)
    assert (mlp.hidden_size, mlp.out_size) == (5, 3)
    with pytest.raises(TypeError, match="out_size"):
        MLP(5)


def test_construction_and_initialization() -> None:
    """Flax Module lifecycle, "Construction/initialization": construct, init, apply."""
    mlp = MLP(hidden_size=5, out_size=3)
    x = tf.ones((1, 2))
    variables = mlp.init(nn.key(0), x)
    y = mlp.apply(variables, x)

    assert y.shape == (1, 3)
    hidden, out = variables["params"]["hidden"], variables["params"]["out"]
    expected = tf.nn.relu(x @ hidden["kernel"] + hidden["bias"]) @ out["kernel"] + out["bias"]
    tf.debugging.assert_near(y, expected)


def test_init_is_a_special_case_of_apply() -> None:
    """Flax Module lifecycle, "Construction/initialization": the equivalent call."""
    mlp = MLP(hidden_size=5, out_size=3)
    x = tf.ones((1, 2))
    # equivalent to: variables = mlp.init(random.key(0), x)
    _, variables = mlp.apply({}, x, rngs={"params": nn.key(0)}, mutable=True)

    assert same(variables, mlp.init(nn.key(0), x))
    assert not same(variables, mlp.init(nn.key(1), x))


def test_lifecycle() -> None:
    """Flax Module lifecycle, "Lifecycle": apply clones, sets up, calls; the module stays."""
    seen = []

    class Recording(MLP):
        def __call__(self, x):
            seen.append(self)
            return super().__call__(x)

    mlp = Recording(hidden_size=5, out_size=3)
    x = tf.ones((1, 2))
    variables = mlp.init(nn.key(0), x)
    before = dict(variables["params"])
    y1 = mlp.apply(variables, x)
    y2, updated = mlp.apply(variables, x, mutable=["params"])

    assert len({id(m) for m in seen}) == 3
    assert all(m is not mlp for m in seen)
    assert not hasattr(mlp, "hidden")
    assert same(y1, y2)
    assert same(updated["params"], before)


def test_variables_are_nested_dicts_by_collection() -> None:
    """Flax Module lifecycle, "Variables": collections at the top, then the module hierarchy."""
    variables = MLP(5, 3).init(nn.key(0), tf.ones((1, 2)))
    assert type(variables) is dict
    assert set(variables) == {"params"}
    assert {k: set(v) for k, v in variables["params"].items()} == {
        "hidden": {"kernel", "bias"},
        "out": {"kernel", "bias"},
    }
    assert all(isinstance(leaf, tf.Tensor) for leaf in tf.nest.flatten(variables))


def test_note_on_fields() -> None:
    """Flax Module lifecycle, "Variables", note: without a type hint it belongs to the class."""

    class Noted(nn.Module):
        rate = 0.5
        anything: Any

    assert Noted(anything="x").anything == "x"
    assert Noted("y").rate == 0.5
    with raises(TypeError):
        Noted("y", rate=0.1)


def test_compact_modules() -> None:
    """Flax Module lifecycle, "Compact Modules": the MLP, rewritten."""
    x = tf.ones((1, 2))
    mlp = CompactMLP(hidden_size=5, out_size=3)
    variables = mlp.init(nn.key(0), x)
    assert list(variables["params"]) == ["Dense_0", "Dense_1"]

    inner = variables["params"]
    renamed = {"params": {"hidden": inner["Dense_0"], "out": inner["Dense_1"]}}
    assert same(mlp.apply(variables, x), MLP(5, 3).apply(renamed, x))


def test_compact_shape_inference() -> None:
    """Flax Module lifecycle, "Compact Modules": a parameter's shape from an argument."""
    mdl = CompactScaledMLP(hidden_size=4, out_size=5)
    x = tf.ones((3, 2))
    vars = mdl.init(nn.key(0), x)
    assert vars["params"]["scale"].shape == (2,)


def test_compact_control_flow_breaks() -> None:
    """Flax Module lifecycle, "Compact control flow": the wrong module."""
    mdl = WrongModule()
    x = tf.ones((3, 2))
    variables = mdl.init(nn.key(0), x, "encode")
    assert list(variables["params"]) == ["Dense_0"]
    with raises(nn.ParamShapeError):
        mdl.apply(variables, x, "decode")


def test_compact_control_flow_hoisted() -> None:
    """Flax Module lifecycle, "Compact control flow": constructors out of the control flow."""

    def init_fn(mdl):
      x = tf.ones((3, 2))
      z = mdl(x, "encode")
      return mdl(z, "decode")

    mdl = CorrectModule()
    vars = nn.init(init_fn, mdl)(nn.key(0))
    assert vars["params"]["Dense_0"]["kernel"].shape == (2, 8)
    assert vars["params"]["Dense_1"]["kernel"].shape == (8, 4)


def test_top_level_modules_are_unbound() -> None:
    """Flax Module lifecycle, "Top-level Modules": no variables, only construction arguments."""
    mlp = MLP(5, 3)
    assert mlp.variables == ()
    assert mlp.hidden_size == 5
    with pytest.raises(nn.UnboundModuleError):
        mlp.has_variable("params", "hidden")


def test_apply_is_pure() -> None:
    """Flax Module lifecycle, "Why are top-level Modules always unbound?": two constraints."""
    kept = []

    class Keeping(nn.Module):
        @nn.compact
        def __call__(self, x):
            kept.append(self)
            count = self.variable("stats", "count", lambda: tf.zeros([]))
            count.value += 1.0
            return x + count.value

    module, x = Keeping(), tf.ones([])
    variables = {"stats": {"count": tf.zeros([])}}
    first = module.apply(variables, x, mutable=["stats"])
    second = module.apply(variables, x, mutable=["stats"])
    assert same(first, second)
    assert float(variables["stats"]["count"]) == 0.0
    with raises(nn.ScopeClosedError):
        kept[0](x)


def test_cloning() -> None:
    """Flax Module lifecycle, "Cloning": the constructor with its original arguments."""
    mlp = MLP(hidden_size=5, out_size=3)
    assert mlp.clone() == mlp
    assert mlp.clone() is not mlp
    assert mlp.clone(out_size=4) == MLP(5, 4)
    with raises(nn.FrozenModuleError):
        mlp.hidden_size = 6


def test_bind() -> None:
    """Flax Module lifecycle, "Bind": a bound clone with an unlimited lifetime."""
    x = tf.ones((1, 2))
    mlp = MLP(hidden_size=5, out_size=3)
    variables = mlp.init(nn.key(0), x)
    bound = mlp.bind(variables)
    assert same(bound(x), mlp.apply(variables, x))
    assert same(bound.hidden(x), x @ variables["params"]["hidden"]["kernel"])
    # What the text says cannot be done: an optimizer for a bound module.
    optimizer = tf.keras.optimizers.SGD(0.1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(bound(x) ** 2)
    grads = tape.gradient(loss, bound.trainable_variables)
    optimizer.apply_gradients(zip(grads, bound.trainable_variables, strict=True))
    assert float(tf.reduce_sum(bound(x) ** 2)) < float(loss)


def test_setup_is_not_called_on_unbound_modules() -> None:
    """Flax Module lifecycle, "Setup"."""

    class TopLevelAccess(nn.Module):

      def setup(self):
        self.foo = nn.Dense(2)

    mdl = TopLevelAccess()
    assert not hasattr(mdl, "foo")  # foo is not defined because setup is not called


def test_setup_is_lazy() -> None:
    """Flax Module lifecycle, "Setup": not when bound, but on the first interaction."""
    log = []

    class Logging(nn.Module):
      def setup(self):
        log.append("setup")
        self.foo = nn.Dense(2)

      def __call__(self, x):
        return self.foo(x)

    variables = Logging().init(nn.key(0), tf.ones((1, 2)))
    log.clear()
    bound = Logging().bind(variables)
    assert log == []
    assert bound.foo.features == 2
    bound(tf.ones((1, 2)))
    assert log == ["setup"]
