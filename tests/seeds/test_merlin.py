"""The samples and claims of the "Merlin Design Document", in its order.

Samples are kept as they are printed, except that ``Sequential``, ``Conv2D`` and ``Spec`` are
``nn``'s, and that a Keras layer is no ``tf.Module`` any more, so that ``nn`` adapts it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import keras
import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises


class Contrived(tf.Module):
    def __init__(self):
        self.alpha = tf.Variable(1.0, name="alpha")
        self.beta = None

    def __call__(self, x):
        if self.beta is None:
            self.beta = tf.Variable(x, name="beta")
        return self.alpha + x * self.beta


def test_modules_are_tf_modules() -> None:
    """Merlin, "Modules": `tf.Module` is the building block, Keras layers are not."""
    assert isinstance(nn.Dense(3), tf.Module)
    assert not isinstance(nn.Dense(3), keras.Layer)


def test_other_parts_are_agnostic() -> None:
    """Merlin, "Modules": any `tf.Module` will do, and in most cases any callable."""
    module, dense = Contrived(), keras.layers.Dense(2, kernel_initializer="ones")
    seq = nn.Sequential([nn.Dense(3, kernel_initializer="ones"), dense, tf.nn.relu, module])
    x = tf.ones([1, 2])
    variables = seq.init(nn.key(0), x)
    assert set(variables["params"]) == {"dense", "dense_1"}
    tf.debugging.assert_equal(seq.apply(variables, x), tf.constant([[37.0, 37.0]]))
    bound = seq.bind(variables)
    assert any(v is module.alpha for v in bound.trainable_variables)


def test_naming() -> None:
    """Merlin, "Naming": from the type, unique in the scope, suffixed from 1."""
    seq = nn.Sequential([nn.Dense(3), nn.Conv2D(3, 3), nn.Dense(3), nn.Dense(3), tf.nn.relu])
    seq += [nn.Sequential([nn.Dense(2)], name="tower"), nn.Dense(1, name="logits")]
    names = ["dense", "conv_2d", "dense_1", "dense_2", "relu", "tower", "logits"]
    assert [seq[name] for name in names] == list(seq)
    assert seq["tower/dense"].features == 2  # unique in the construction scope, not everywhere


def test_naming_is_robust_to_explicit_numbers() -> None:
    """Merlin, "Naming": the suffix goes on past a name that somebody chose."""
    seq = nn.Sequential([nn.Dense(1, name="dense_1"), nn.Dense(2), nn.Dense(3), nn.Dense(4)])
    features = {name: seq[name].features for name in ("dense_1", "dense", "dense_2", "dense_3")}
    assert features == {"dense_1": 1, "dense": 2, "dense_2": 3, "dense_3": 4}


def test_the_sample_of_a_sequence() -> None:
    """Merlin, "Scoping Issues": `Sequential([Contrived(), Contrived()], name='outer')`."""
    unit = nn.Sequential([Contrived(), Contrived()], name="outer")
    assert unit.name == "outer"
    assert float(unit(2.0)) == 1.0 + (1.0 + 2.0 * 2.0) ** 2
    assert len(unit.trainable_variables) == 4
    assert unit / "contrived_1" is unit[1]


def test_the_sample_of_a_sequence_in_its_scope() -> None:
    """Merlin, "Scoping Issues": `with Sequential(name='outer') as outer`."""
    with nn.Sequential(name="outer") as outer:
        special = Contrived()
        outer += [special, Contrived()]
    assert outer[0] is special
    assert special.alpha.name == "outer/alpha:0"
    assert Contrived().alpha.name == "alpha:0"  # the scope is left behind
    special(1.0)
    # As the text says, names are superficial: what was made later is outside the scope.
    assert special.beta.name == "beta:0"
    assert float(outer(1.0)) == 1.0 + 2.0 * 2.0


def test_construction_has_no_scoping_magic() -> None:
    """Merlin, "Scoping Issues": names do not depend on which is invoked first."""
    seq = nn.Sequential([nn.Dense(2), nn.Dense(2)])
    x = tf.ones([1, 2])
    first, second = (
        seq.init(nn.key(0), x),
        seq.init(nn.key(0), x, method=lambda s, x: s[0](s[1](x))),
    )
    assert set(first["params"]) == set(second["params"]) == {"dense", "dense_1"}


def test_composite_configures_explicitly() -> None:
    """Merlin, "Scoping Issues": simple indirection for construction and invocation."""

    class Unit(nn.Composite):
        class Config(nn.Spec):
            filters: int
            rate: float = 0.5

        def configure(self, config):
            return [nn.Conv2D(filters=config.filters, kernel_size=1), nn.Dropout(config.rate)]

    config = Unit.Config(filters=3)
    unit = Unit(**config)
    x = tf.ones([1, 2, 2, 1])
    assert unit.apply(unit.init(nn.key(0), x), x).shape == (1, 2, 2, 3)
    assert unit["dropout"].rate == 0.5


# -- The `Spec` class ------------------------------------------------------------------------


class Base(nn.Spec):
    rate: float = 0.1
    sizes: list[int] = [1, 2]  # noqa: RUF012  (each spec copies it)


class Derived(Base):
    steps: int
    inner: Base = Base(rate=0.2)


def test_spec_describes_concisely_with_types() -> None:
    """Merlin, "The `Spec` class": options with annotated fields."""
    assert repr(Base()) == "Base(rate=0.1, sizes=[1, 2])"
    with raises(nn.SpecError):
        Base(rate="0.1")


def test_spec_defaults_are_safe() -> None:
    """Merlin, "The `Spec` class": no mutation reaches past or future instances."""
    past = Base()
    past.sizes.append(3)
    assert Base().sizes == [1, 2]
    derived = Derived(steps=1)
    derived.inner.sizes.append(3)
    assert Derived(steps=1).inner.sizes == [1, 2]


def test_spec_is_validated() -> None:
    """Merlin, "The `Spec` class": typos are no fields, and what has no default must be given."""
    with raises(nn.SpecFieldError):
        Base(ratee=1.0)
    with raises(nn.SpecFieldError):
        Derived()
    with raises(nn.SpecFieldError):
        Base().typo = 1


def test_spec_is_composable_and_inheritable() -> None:
    """Merlin, "The `Spec` class": a field without default after inherited ones that have some."""
    derived = Derived(steps=3, rate=0.3)
    assert list(derived) == ["rate", "sizes", "steps", "inner"]
    assert isinstance(derived, Base)
    assert derived.inner == Base(rate=0.2)


def test_spec_serializes() -> None:
    """Merlin, "The `Spec` class": to JSON and back."""
    derived = Derived(steps=3, inner=Derived(steps=4))
    assert Derived.from_json(derived.to_json()) == derived
    assert json.loads(Base().to_json()) == {"rate": 0.1, "sizes": [1, 2]}


def test_spec_needs_no_decorator_for_subclasses() -> None:
    """Merlin, "The `Spec` class": subclasses become dataclasses by themselves."""
    import dataclasses

    assert [f.name for f in dataclasses.fields(Derived)] == ["rate", "sizes", "steps", "inner"]
    assert dataclasses.replace(Derived(steps=1), steps=2).steps == 2


def test_spec_asserts_that_fields_are_annotated() -> None:
    """Merlin, "The `Spec` class": fields without annotation are not silently ignored."""
    with raises(nn.SpecDefinitionError):

        class Wrong(nn.Spec):
            rate = 0.5


def test_spec_takes_keywords_only() -> None:
    """Merlin, "The `Spec` class": keyword-only arguments."""
    with pytest.raises(TypeError, match="positional"):
        Base(0.1)


def test_config_and_keyword_arguments_coexist() -> None:
    """Merlin, "The `Spec` class": the sample `conv = Conv2D(**config)`."""
    conv = nn.Conv2D(filters=256, kernel_size=3)

    config = nn.Conv2D.Config(filters=256, kernel_size=3)
    assert isinstance(config, Mapping)
    assert nn.Conv2D(**config) == conv


@pytest.mark.parametrize(
    ("constant", "translated"), [("nchw", "channels_first"), ("nhwc", "channels_last")]
)
def test_consistency(constant: str, translated: str) -> None:
    """Merlin, "Consistency": TensorFlow's constants in, Keras's out."""
    conv = nn.Conv2D(filters=4, kernel_size=1, data_format=constant)
    assert conv.make_layer().data_format == translated
    # Traced only: a CPU has no convolution for nchw.
    key = nn.key(0)
    init = tf.function(lambda x: conv.init(key, x))
    made = init.get_concrete_function(tf.TensorSpec([1, 5, 5, 2])).structured_outputs
    assert made["params"]["kernel"].shape == ((1, 1, 5, 4) if constant == "nchw" else (1, 1, 2, 4))
    pool = nn.GlobalAveragePooling2D(data_format=constant)
    pooled = pool.apply({}, tf.ones([1, 5, 5, 2]))
    assert pooled.shape == ((1, 5) if constant == "nchw" else (1, 2))


def test_explicitness() -> None:
    """Merlin, "Explicitness": a common idiom, concise and in the open."""
    unit = nn.NormalizingActivation(activation="relu", normalization="batch_norm")
    seq = nn.Sequential([nn.Dense(3, use_bias=not unit.absorbs_bias), unit])
    x = tf.random.stateless_normal([4, 2], nn.key(1))
    variables = seq.init(nn.key(0), x)
    kernel = variables["params"]["dense"].pop("kernel")
    assert variables["params"]["dense"] == {}
    variables["params"]["dense"]["kernel"] = kernel
    y, _ = seq.apply(variables, x, training=True, mutable=["batch_stats"])
    h = x @ kernel
    mean, variance = tf.nn.moments(h, [0])
    expected: Any = tf.nn.relu((h - mean) / tf.sqrt(variance + 1e-3))
    tf.debugging.assert_near(y, expected, atol=1e-5)
