"""The samples of "The Flax Module lifecycle" from the section "Functionalization" on.

A sample is kept as it is printed, except that ``jax.numpy`` is ``tf``, ``random.key`` is ``nn.key``
and a ``flax.struct`` class is a dataclass.
"""

# The samples keep their indentation and their style.
# ruff: noqa: B007, E501, E731
# fmt: off
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises


def same(a: Any, b: Any) -> bool:
    tf.nest.assert_same_structure(a, b)
    pairs = zip(tf.nest.flatten(a), tf.nest.flatten(b), strict=True)
    return all(bool(tf.reduce_all(x == y)) for x, y in pairs)


def test_a_closure_over_a_module_works_without_a_transformation() -> None:
    """Flax Module lifecycle, "Practical consequences": the untransformed line of the sample."""

    class Foo(nn.Module):
      @nn.compact
      def __call__(self, x):
        dense = nn.Dense(x.shape[-1])
        fn = lambda x: dense(x) + 1
        # simply calling inner works fine
        return self.inner(x, fn)

      def inner(self, x, fn):
        for i in range(3):
          x = fn(x)
        return x

    x = tf.ones((3, 2))
    mdl = Foo()
    vars = mdl.init(nn.key(0), x)
    assert vars["params"]["Dense_0"]["kernel"].shape == (2, 2)
    expected = x
    for _ in range(3):
        expected = expected @ vars["params"]["Dense_0"]["kernel"] + 1
    tf.debugging.assert_near(mdl.apply(vars, x), expected)


def test_a_closure_over_a_module_in_a_transformation_is_detected() -> None:
    """Flax Module lifecycle, "Practical consequences": the sample that does not work."""

    class Foo(nn.Module):
      @nn.compact
      def __call__(self, x):
        dense = nn.Dense(x.shape[-1])
        fn = lambda x: dense(x) + 1
        # simply calling inner works fine
        # return self.inner(x, fn)
        # but applying a transformation doesn't:
        vmap_inner = nn.vmap(Foo.inner, in_axes=0, variable_axes={"params": 0}, split_rngs={"params": True})
        return vmap_inner(self, x, fn)

      def inner(self, x, fn):
        for i in range(3):
          x = fn(x)
        return x

    with raises(nn.TransformError):
        Foo().init(nn.key(0), tf.ones((3, 2)))


@dataclasses.dataclass
class Partial:
    fn: Callable
    args: Iterable[Any]

    def __call__(self, *args, **kwargs):
      return self.fn(*(tuple(self.args) + args), **kwargs)


@pytest.mark.parametrize("partial", [Partial, nn.Partial])
def test_a_partial_shows_its_modules_to_a_transformation(partial: Any) -> None:
    """Flax Module lifecycle, "Practical consequences": the sample that works."""
    Partial = partial

    class Foo(nn.Module):

      @nn.compact
      def __call__(self, x):
        dense = nn.Dense(x.shape[-1])
        fn = lambda mdl, x: mdl(x) + 1
        vmap_inner = nn.vmap(Foo.inner, in_axes=0, variable_axes={"params": 0}, split_rngs={"params": True})
        return vmap_inner(self, x, Partial(fn, [dense]))

      def inner(self, x, fn):
        for i in range(3):
          x = fn(x)
        return x

    x = tf.ones((3, 2))
    mdl = Foo()
    vars = mdl.init(nn.key(0), x)
    assert vars["params"]["Dense_0"]["kernel"].shape == (3, 2, 2)
    expected = x
    for _ in range(3):
        expected = tf.einsum("bi,bij->bj", expected, vars["params"]["Dense_0"]["kernel"]) + 1
    tf.debugging.assert_near(mdl.apply(vars, x), expected)
    tf.debugging.assert_near(mdl.bind(vars)(x), expected)


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(x)


class Decoder(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(x)


def test_setup_for_unbound_modules() -> None:
    """Flax Module lifecycle, "Setup for unbound Modules": the second of the two solutions.

    ``setup`` keeps its meaning; the additional method is ``declare``.
    """

    class AutoEncoder(nn.Module):
      def declare(self):
        self.encoder = Encoder()
        self.decoder = Decoder()

      def __call__(self, x):
        return self.decoder(self.encoder(x))

    auto_encoder = AutoEncoder()
    variables = auto_encoder.init(nn.key(0), tf.ones((1, 4)))
    decoder_variables = {"params": variables["params"]["decoder"]}
    x = tf.ones((1, 2))
    y = auto_encoder.decoder.apply(decoder_variables, x)

    assert same(y, auto_encoder.apply(variables, x, method=lambda m, x: m.decoder(x)))
    assert same(y, Decoder().apply(decoder_variables, x))


def test_looking_into_an_unbound_module_with_setup() -> None:
    """Flax Module lifecycle, "Setup for unbound Modules": the sample itself."""

    class AutoEncoder(nn.Module):
      def setup(self):
        self.encoder = Encoder()
        self.decoder = Decoder()

      def __call__(self, x):
        return self.decoder(self.encoder(x))

    auto_encoder = AutoEncoder()
    variables = auto_encoder.init(nn.key(0), tf.ones((1, 4)))
    decoder_variables = {"params": variables["params"]["decoder"]}
    x = tf.ones((1, 2))
    y = auto_encoder.decoder.apply(decoder_variables, x)
    assert same(y, Decoder().apply(decoder_variables, x))
    assert auto_encoder["decoder"] is auto_encoder.decoder
