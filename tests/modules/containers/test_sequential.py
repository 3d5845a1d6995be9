"""Sequences and composites: parts of every kind, names, paths, options, lifecycle."""

from __future__ import annotations

from typing import Any

import keras
import pytest
import tensorflow as tf

from nbfn import nn
from nbfn.modules.layers.part_names import snake_case
from tests.harness.messages import raises


class Scale(tf.Module):
    """A tf.Module of its own: its variable is no part of init and apply."""

    def __init__(self, factor: float, name: str | None = None) -> None:
        super().__init__(name)
        self.factor = tf.Variable(factor)

    def __call__(self, x):
        return x * self.factor


class Outer(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Scale(3.0, name="deep")

    def __call__(self, x):
        return self.inner(x)


class Gate(nn.Module):
    """Takes an option, and control flow that depends on data."""

    @nn.compact
    def __call__(self, x, gate=True):
        if tf.reduce_sum(x) > 0.0:
            x = -x
        return x if gate else x * 0.0


X = tf.ones([2, 3])


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("Dense", "dense"),
        ("Conv2D", "conv_2d"),
        ("Conv2DTranspose", "conv_2d_transpose"),
        ("ROIPooling", "roi_pooling"),
        ("BatchNorm", "batch_norm"),
        ("LSTM", "lstm"),
        ("_Private", "private"),
        ("ResNet50", "res_net_50"),
        ("<lambda>", "lambda"),
        ("dense_1", "dense_1"),
    ],
)
def test_names_from_types(name: str, snake: str) -> None:
    assert snake_case(name) == snake


def test_layers_run_in_order_and_lists_are_flattened() -> None:
    seq = nn.Sequential([lambda x: x + 1.0, [None, (lambda x: x * 2.0,)], tf.negative])
    assert float(seq(tf.constant(3.0))) == -8.0
    assert len(seq) == 3
    assert nn.Sequential()


def test_the_first_layer_takes_all_arguments() -> None:
    seq = nn.Sequential([lambda x, y: x + y, lambda x: x * 2.0])
    assert float(seq(tf.constant(1.0), 2.0)) == 6.0


@pytest.mark.parametrize("bad", [3, "relu", nn.Dense, [[object()]]])
def test_what_cannot_be_called_is_refused(bad: Any) -> None:
    with pytest.raises(nn.PartError):
        nn.Sequential([bad])
    seq = nn.Sequential([tf.nn.relu])
    with pytest.raises(nn.PartError):
        seq += bad
    assert len(seq) == 1


def test_index_slice_path_and_iteration() -> None:
    seq = nn.Sequential([nn.Dense(2), nn.Sequential([nn.Dense(4)]), Outer()])
    assert seq[0] is seq["dense"] is next(iter(seq))
    assert seq[-1] is seq["outer"]
    assert seq[:2] == [seq[0], seq[1]]
    assert seq["sequential/dense"].features == 4
    assert seq["outer/inner"] is seq[2].inner
    assert seq["outer/deep"] is seq[2].inner
    assert float(seq["outer/inner/factor"]) == 3.0
    for wrong in ("dens", "outer/outr", "sequential/x"):
        with pytest.raises(nn.PathNotFoundError):
            seq[wrong]
    with pytest.raises(IndexError):
        seq[3]


def test_one_layer_twice_is_one_layer() -> None:
    layer = nn.Dense(3)
    seq = nn.Sequential([layer, tf.nn.relu, layer])
    variables = seq.init(nn.key(0), X)
    assert set(variables["params"]) == {"dense"}
    kernel = variables["params"]["dense"]["kernel"]
    expected = tf.nn.relu(X @ kernel) @ kernel
    tf.debugging.assert_near(seq.apply(variables, X), expected)


def test_explicit_names_must_differ_and_other_names_are_suffixed() -> None:
    with raises(nn.NameInUseError):
        nn.Sequential([nn.Dense(1, name="a"), nn.Dense(2, name="a")])
    seq = nn.Sequential([Scale(1.0, name="a"), Scale(2.0, name="a")])
    assert float(seq["a_1"].factor) == 2.0


def test_options_go_to_the_layers_that_take_them() -> None:
    inner = nn.Sequential([nn.Dropout(0.5), Gate()])
    seq = nn.Sequential([nn.Dense(3), inner, tf.nn.relu])
    variables = seq.init(nn.key(0), X)
    closed = seq.apply(variables, X, gate=False)
    assert float(tf.reduce_sum(tf.abs(closed))) == 0.0
    with raises(nn.RngError):
        seq.apply(variables, X, training=True)
    with raises(nn.PartError):
        seq.apply(variables, X, traning=True)


def test_data_dependent_control_flow_inside_a_sequence_is_traced() -> None:
    bound = nn.Sequential([Gate(), tf.identity]).bind({})
    step = tf.function(lambda x: bound(x))
    assert float(step(tf.constant(2.0))) == -2.0
    assert float(step(tf.constant(-2.0))) == -2.0


def test_layers_may_be_added_until_there_are_variables() -> None:
    seq = nn.Sequential([nn.Dense(2)])
    same = seq
    seq += nn.Dense(3)
    seq.add(nn.Dense(4), nn.Dense(5))
    assert seq is same
    assert [layer.features for layer in seq] == [2, 3, 4, 5]
    bound = seq.bind(seq.init(nn.key(0), X))
    with raises(nn.FrozenModuleError):
        bound += nn.Dense(1)
    with pytest.raises(nn.FrozenModuleError):
        seq.layers = ()


def test_a_scope_needs_a_name_and_is_left_after_an_error() -> None:
    with raises(nn.PlacementError), nn.Sequential():
        pass
    with pytest.raises(KeyError), nn.Sequential(name="outer"):
        raise KeyError
    assert Scale(1.0).factor.name == "Variable:0"


def test_bound_sequences_train_track_and_save(tmp_path: Any) -> None:
    scale = Scale(2.0)
    seq = nn.Sequential([nn.Dense(3), scale, keras.layers.Dense(1)])
    bound = seq.bind(seq.init(nn.key(0), X))
    assert len(bound.trainable_variables) == 5
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(bound(X) ** 2)
    assert all(g is not None for g in tape.gradient(loss, bound.trainable_variables))

    path = tf.train.Checkpoint(model=bound).save(tmp_path / "ckpt")
    expected = bound(X)
    scale.factor.assign(7.0)
    bound["dense/kernel"].assign(tf.zeros([3, 3]))
    tf.train.Checkpoint(model=bound).restore(path).assert_existing_objects_matched()
    tf.debugging.assert_near(bound(X), expected)

    class Served(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bound = bound

        @tf.function(input_signature=[tf.TensorSpec([None, 3])])
        def run(self, x):
            return self.bound(x)

    tf.saved_model.save(Served(), str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    tf.debugging.assert_near(loaded.run(X), expected)


def test_in_setup_and_in_compact_methods() -> None:
    class Setup(nn.Module):
        def setup(self):
            self.tower = nn.Sequential([nn.Dense(3), tf.nn.relu, nn.Dense(2)])

        def __call__(self, x):
            return self.tower(x)

    class Compact(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Sequential([nn.Dense(3), tf.nn.relu, nn.Dense(2)])(x)

    made = Setup().init(nn.key(0), X)["params"]
    assert set(made["tower"]) == {"dense", "dense_1"}
    # A compact method has bound the layers already when the sequence gets them.
    assert set(Compact().init(nn.key(0), X)["params"]) == {"Dense_0", "Dense_1"}


def test_clone_bind_and_unbind() -> None:
    seq = nn.Sequential([nn.Dense(3), nn.Dense(2)], name="outer")
    assert seq.clone() == seq
    bound = seq.bind(seq.init(nn.key(0), X))
    template, variables = bound.unbind()
    assert template == seq
    tf.debugging.assert_equal(template.apply(variables, X), bound(X))


class Block(nn.Composite):
    class Config(nn.Spec):  # noqa: D106
        features: int
        rate: float = 0.5
        hidden: list[int] = [4]  # noqa: RUF012  (each spec copies it)

    def configure(self, config):
        yield [[nn.Dense(n), tf.nn.relu] for n in config.hidden]
        yield nn.Dense.Config(features=config.features)
        yield nn.Dropout(config.rate) if config.rate else None


def test_a_composite_has_the_fields_of_its_config() -> None:
    block = Block(features=2, hidden=[4, 5])
    assert block == Block(**Block.Config(features=2, hidden=[4, 5]))
    assert repr(block) == "Block(features=2, hidden=[4, 5])"
    assert block.config == Block.Config(features=2, hidden=[4, 5])
    with raises(nn.SpecError):
        Block(features="2")
    with raises(TypeError):
        Block(featuers=2)
    with pytest.raises(TypeError):
        Block(2)


def test_the_parts_of_a_composite() -> None:
    block = Block(features=2, hidden=[4, 5], rate=0.0)
    assert [type(p).__name__ for p in block[::2]] == ["Dense", "Dense", "Dense"]
    assert block["dense_1"].features == 5
    variables = block.init(nn.key(0), X)
    assert set(variables["params"]) == {"dense", "dense_1", "dense_2"}
    bound = block.bind(variables)
    assert bound["dense_2"].features == 2
    tf.debugging.assert_equal(bound(X), block.apply(variables, X))
    assert len(bound.trainable_variables) == 6


def test_autograph_converts_the_parts_of_a_composite_and_complains_of_nothing(caplog) -> None:
    class Rectified(nn.Composite):
        def configure(self, config: Any) -> Any:
            return [nn.Dense(2), lambda x: x if tf.reduce_sum(x) > 0 else -x]

    bound = Rectified().bind(Rectified().init(nn.key(0), X))
    with caplog.at_level("WARNING"):
        traced = tf.function(lambda x: bound(x))(X)
    tf.debugging.assert_equal(traced, bound(X))
    assert "AutoGraph" not in caplog.text


def test_a_composite_may_annotate_its_fields_itself() -> None:
    class Plain(nn.Composite):
        width: int = 3

        def configure(self, config):
            return nn.Dense(config.width)

    assert Plain().init(nn.key(0), X)["params"]["dense"]["kernel"].shape == (3, 3)
    with raises(nn.SpecDefinitionError):

        class Mixed(nn.Composite):
            other: int

            class Config(nn.Spec):
                width: int


def test_a_composite_inherits_and_extends_its_config() -> None:
    class Wide(Block):
        class Config(Block.Config):
            factor: int = 2

        def configure(self, config):
            return super().configure(config.replace(features=config.features * config.factor))

    assert Wide(features=2).init(nn.key(0), X)["params"]["dense_1"]["kernel"].shape == (4, 4)


def test_composites_hold_tf_modules_too(tmp_path: Any) -> None:
    class Held(nn.Composite):
        def configure(self, config):
            return [nn.Dense(1), Scale(2.0)]

    held = Held()
    bound = held.bind(held.init(nn.key(0), X))
    bound(X)
    assert len(bound.trainable_variables) == 3
    path = tf.train.Checkpoint(model=bound).save(tmp_path / "c")
    assert any("factor" in name for name, _ in tf.train.list_variables(path))


def test_names_of_parts_tell_sequences_apart() -> None:
    one, same, other = (nn.Sequential([nn.Dense(3, name=name)]) for name in "aab")
    assert one == same
    assert hash(one) == hash(same)
    assert one != other


def test_a_function_of_an_unbound_sequence_may_make_modules() -> None:
    x = tf.ones([1, 2])
    variables = nn.Dense(3).init(nn.key(0), x)
    made = nn.Sequential([lambda x: nn.Dense(3).bind(variables)(x)])(x)
    tf.debugging.assert_equal(made, nn.Dense(3).apply(variables, x))


def test_every_module_class_has_a_config() -> None:
    class Net(nn.Module):
        width: int
        rate: float = 0.5

        @nn.compact
        def __call__(self, x):
            return nn.Dense(self.width)(x)

    config = Net.Config(width=3)
    assert Net.Config is Net.Config
    assert Net(**config) == config.make() == Net(3)
    assert config.make(name="net").name == "net"
    assert Net.Config.from_json(config.to_json()) == config
    with raises(nn.SpecError):
        Net.Config(width=3.5)


def test_normalizing_activation() -> None:
    after = nn.NormalizingActivation(activation=tf.nn.tanh, activate_before_normalize=True)
    assert [type(p).__name__ for p in after[1:]] == ["BatchNorm"]
    assert not after.absorbs_bias
    assert nn.NormalizingActivation().absorbs_bias
    assert not nn.NormalizingActivation(normalization="layer_norm").absorbs_bias
    config = nn.BatchNorm.Config(momentum=0.5)
    assert nn.NormalizingActivation(normalization=config)["batch_norm"].momentum == 0.5
    assert len(nn.NormalizingActivation(normalization=None)) == 1
    with raises(nn.PartError):
        list(nn.NormalizingActivation(normalization="batchnorm"))


def test_an_empty_sequence_cannot_be_called() -> None:
    empty = nn.Sequential(name="outer")
    with raises(nn.EmptySequentialError):
        empty.init(nn.key(0), 1.0)
    with raises(ValueError):
        empty(1.0)
    empty += tf.negative
    assert float(empty(tf.constant(2.0))) == -2.0


def test_tuples_are_arguments_and_dicts_are_keywords_of_the_next_layer() -> None:
    """As Flax Linen's ``nn.Sequential``."""

    class Halves(nn.Module):
        def __call__(self, x, *, training=False):
            return x / 2.0, (3.0 if training else 1.0)

    seq = nn.Sequential([Halves(), lambda a, b: {"p": a, "q": b}, lambda q, p: [p, q], tf.stack])
    assert seq.apply({}, tf.constant(4.0)).numpy().tolist() == [2.0, 1.0]
    assert seq(tf.constant(4.0), training=True).numpy().tolist() == [2.0, 3.0]
    whole = nn.Sequential([lambda x: (x, x)])
    assert whole(1.0) == (1.0, 1.0)


def test_a_function_among_the_layers_can_make_modules() -> None:
    seq = nn.Sequential([nn.Dense(4), lambda x: nn.Dense(2)(nn.relu(x)), lambda x: nn.Dense(3)(x)])
    x = tf.ones([1, 5])
    variables = seq.init(nn.key(0), x)
    assert {name: leaf["kernel"].shape[-1] for name, leaf in variables["params"].items()} == {
        "dense": 4,
        "Dense_0": 2,
        "Dense_1": 3,
    }
    y = seq.apply(variables, x)
    model = seq.bind(variables)
    tf.debugging.assert_near(tf.function(model)(x), y)
    tf.debugging.assert_near(model(x), y)
