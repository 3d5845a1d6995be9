"""Whatever the notebook holds, all of it is listed once, and comes back or is refused whole."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import nbfn
from nbfn import nn
from nbfn.sessions.contents.model import model_of, variables_of
from nbfn.sessions.contents.savable_state import RestoreError

layers = keras.layers
X = np.ones((4, 3), "float32")

# A failure names what it is about; making it smaller would take minutes of building models.
quick = settings(deadline=None, max_examples=8, phases=[Phase.explicit, Phase.generate])


class Block(layers.Layer):
    """Layers in an attribute, a list and a dict; a plain variable, a generator, a metric."""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.narrow = layers.Dense(width)
        self.stack = [layers.Dense(width), layers.Dense(width)]
        self.by_name = {"gate": layers.Dense(width)}
        self.plain = tf.Variable(np.arange(2.0))
        self._hidden = {"plain": [tf.Variable(1), tf.Variable(2)]}
        self.seed = keras.random.SeedGenerator(7)
        self.seen = keras.metrics.Mean()
        self.scale = self.add_weight(shape=(width,))
        self.add_weight(shape=(width,))

    def build(self, shape: Any) -> None:
        self.narrow.build(shape)
        between = (*shape[:-1], self.narrow.units)
        for each in (*self.stack, self.by_name["gate"]):
            each.build(between)

    def call(self, x: Any) -> Any:
        x = self.narrow(x)
        for each in self.stack:
            x = each(x)
        return self.by_name["gate"](x) * self.scale


class Net(keras.Model):
    """Two blocks, one of them with an optimizer of its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = Block(width), Block(width)
        self.drop = layers.Dropout(0.5)
        self.head_optimizer = keras.optimizers.Adam()

    def call(self, x: Any, training: bool = False) -> Any:
        return self.second(self.drop(self.first(x), training=training))


class Plain(tf.Module):
    """Variables in lists and dicts, a layer and an optimizer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.w = tf.Variable(tf.ones([width]))
        self.rows = [tf.Variable(1.0), [tf.Variable([True, False])]]
        self.tables = {"a": tf.Variable(3, dtype=tf.int64), "a/b": tf.Variable(2.0)}
        self.tables_again = {"b": tf.Variable(b"text")}
        self.layer = layers.Dense(width)
        self.layer.build((None, 3))
        self.optimizer = keras.optimizers.Adam()
        self.optimizer.build(self.layer.trainable_variables)


def functional(width: int) -> Any:
    inputs = keras.Input((3,))
    hidden = inputs
    for _ in range(3):
        hidden = layers.Dense(width)(hidden)
        hidden = layers.BatchNormalization()(hidden)
    return keras.Model(inputs, layers.Dropout(0.5)(hidden))


def deep(width: int) -> Any:
    """Layers whose numbers get another digit, so that they sort in another order than they have."""
    return keras.Sequential([keras.Input((3,)), *(layers.Dense(width) for _ in range(11))])


def trained(width: int) -> Any:
    model = functional(width)
    model.compile("adam", "mse", metrics=["mae", "mape"], run_eagerly=True)
    model.fit(X, np.ones((4, width)), epochs=2, verbose=0)
    return model


def nested(width: int) -> Any:
    inputs = keras.Input((3,))
    inner = keras.Sequential([layers.Dense(width), layers.Dense(3)])
    tower = keras.Model(inputs, layers.Dense(3)(inner(inner(inputs))))
    return keras.Model(inputs, [layers.Dense(width)(tower(inputs)), tower(inner(inputs))])


def sharing(width: int) -> Any:
    shared = layers.Dense(width)
    inputs = keras.Input((3,))
    return {
        "one": keras.Model(inputs, layers.Dense(2)(shared(inputs))),
        "other": keras.Model(inputs, layers.Dense(2)(shared(inputs))),
        "again": [shared],
    }


def subclassed(width: int) -> Any:
    net = Net(width)
    net(X)
    net.head_optimizer.build(net.second.trainable_variables)
    net.compile("adam", "mse", metrics=["mae"], run_eagerly=True)
    with warnings.catch_warnings():  # the block has weights that its call does not use
        warnings.simplefilter("ignore", UserWarning)
        net.fit(X, np.ones((4, width)), verbose=0)
    return net


def recurrent(width: int) -> Any:
    model = keras.Sequential(
        [
            layers.Embedding(5, width),
            layers.Bidirectional(layers.LSTM(width, return_sequences=True, dropout=0.1)),
            layers.RNN([layers.LSTMCell(width), layers.GRUCell(width)], return_sequences=True),
            layers.GRU(width, stateful=True),
        ]
    )
    model(np.zeros((2, 3), "int32"))
    return model


def sequential(width: int) -> Any:
    model = keras.Sequential(
        [layers.GaussianNoise(0.1), layers.Dense(width), layers.Dropout(0.1), layers.Dense(width)]
    )
    model(X)
    return model


def attention(width: int) -> Any:
    layer = layers.MultiHeadAttention(2, width, dropout=0.1)
    layer(tf.ones([1, 2, 3]), tf.ones([1, 2, 3]))
    return [layer, layers.SpectralNormalization(layers.Dense(width))]


def same_names(width: int) -> Any:
    """Two layers of one name, of which Keras builds variables of one path."""

    class Twins(layers.Layer):
        def __init__(self) -> None:
            super().__init__(name="twins")
            self.one, self.other = (layers.Dense(width, name="dense") for _ in range(2))

        def build(self, shape: Any) -> None:
            self.one.build(shape)
            self.other.build(shape)

    twins = Twins()
    twins.build((None, 3))
    optimizer = keras.optimizers.Adam()
    optimizer.build(twins.trainable_variables)
    return {"twins": twins, "optimizer": optimizer}


def bound(width: int) -> Any:
    spec = nn.Sequential([nn.Dense(width), nn.BatchNorm(), nn.Dropout(0.5)])
    return spec.bind(spec.init(nn.key(0), X), rngs={"dropout": nn.key(1)})


def loose(width: int) -> Any:
    scaled = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(use_ema=True))
    weights = [keras.Variable(np.ones(width)), keras.Variable(np.ones(width))]
    scaled.build(weights)
    scaled.apply_gradients([(tf.ones([width]), each) for each in weights])
    mean, area = keras.metrics.Mean(), keras.metrics.AUC(num_thresholds=3)
    mean.update_state([1.0, 2.0])
    return {
        "weights": weights,
        "optimizer": scaled,
        "metrics": [mean, area],
        "seed": keras.random.SeedGenerator(3),
        "random": tf.random.Generator.from_seed(1),
        "plain": (tf.Variable(1.0), {"deep": [tf.Variable([2])]}),
    }


MAKERS: list[Callable[[int], Any]] = [
    *(functional, deep, trained, nested, sharing, subclassed, recurrent, sequential, attention),
    *(same_names, bound, loose, Plain),
]


def expected(value: Any) -> Iterator[Any]:
    """Every variable of something, as Keras and TensorFlow list them."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from expected(each)
    elif isinstance(value, dict):
        yield from expected(list(value.values()))
    elif isinstance(value, tf.Variable):
        yield value
    elif isinstance(value, keras.Variable):
        yield value.value
    elif isinstance(value, keras.random.SeedGenerator):
        yield value.state.value
    elif isinstance(value, tf.random.Generator):
        yield value.state
    else:
        yield from expected(list(value.variables))
        for each in ("metrics_variables", "optimizer", "head_optimizer"):
            yield from expected(getattr(value, each, None) or [])
        if isinstance(value, Plain):
            yield from expected(value.layer)
        if isinstance(value, Net):
            yield from expected([value.first, value.second])
        if isinstance(value, Block):
            yield from expected([value.plain, value._hidden, value.seen])
        if isinstance(value, keras.Model):
            for each in value.layers:
                if isinstance(each, layers.GRU) and each.stateful:
                    yield from expected(each.states)


@contextmanager
def notebook(made: dict[str, Any]) -> Iterator[dict[str, Any]]:
    main, before = ModuleType("__main__"), sys.modules["__main__"]
    sys.modules["__main__"] = main
    main.__dict__.update(made)
    try:
        yield main.__dict__
    finally:
        sys.modules["__main__"] = before


def values() -> dict[str, bytes]:
    return {name: each.numpy() for name, each in nbfn.session().variables.items()}


def same(before: dict[str, Any], now: dict[str, Any]) -> bool:
    return list(before) == list(now) and all(
        np.asarray(before[name]).tobytes() == np.asarray(now[name]).tobytes() for name in before
    )


def change(variable: tf.Variable) -> None:
    if variable.dtype == tf.bool:
        variable.assign(tf.logical_not(variable))
    elif variable.dtype == tf.string:
        variable.assign(tf.constant(b"other"))
    else:
        variable.assign(variable + tf.ones_like(variable))


def change_all() -> None:
    for variable in nbfn.session().variables.values():
        change(variable)


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for each in tree.values() for leaf in leaves(each)]
    return [tree]


made = st.lists(st.tuples(st.sampled_from(MAKERS), st.integers(1, 3)), min_size=1, max_size=3).map(
    lambda chosen: {f"v{i}": (make, width) for i, (make, width) in enumerate(chosen)}
)


def build(plan: dict[str, tuple[Callable[[int], Any], int]]) -> dict[str, Any]:
    return {name: make(width) for name, (make, width) in plan.items()}


@pytest.mark.parametrize("make", MAKERS)
def test_every_variable_is_listed_once(alone, make) -> None:
    value = make(2)
    with notebook({"a": value, "again": [value]}) as names:
        variables = nbfn.session().variables
        listed = [id(each) for each in variables.values()]
        assert len(set(listed)) == len(listed)
        wanted = {id(each): each.name for each in expected(value)}
        assert {wanted[each] for each in wanted.keys() - set(listed)} == set()
        assert set(listed) == wanted.keys()
        assert len(leaves(nbfn.session().state)) == len(variables)
        assert f"{len(variables)} variables" in repr(nbfn.session())
        for name, variable in variables.items():
            found = nbfn.session()[name]
            assert getattr(found, "value", found) is variable or found is variable
        assert names["a"] is value


@pytest.mark.parametrize("make", [functional, nested, subclassed, recurrent, sequential, Plain])
def test_a_models_tree_has_all_its_variables(make) -> None:
    value = make(2)
    wanted = {
        id(each.value if isinstance(each, keras.Variable) else each) for each in value.variables
    }
    rows = [row for row in model_of(value).rows if row.kind == "variable" and row.same_as is None]
    assert wanted <= {id(each) for each in variables_of(value).values()}
    assert len(rows) == len(variables_of(value)) == len({row.path for row in rows})


@quick
@given(made)
def test_a_snapshot_brings_everything_back(plan) -> None:
    with notebook(build(plan)):
        session, before = nbfn.session(), values()
        snapshot = session.snapshot()
        assert list(snapshot) == list(before)
        change_all()
        assert not any(np.array_equal(each, before[name]) for name, each in values().items())
        session.restore(snapshot)
        assert same(before, values())


@quick
@given(made)
def test_a_checkpoint_brings_everything_back(plan) -> None:
    with notebook(build(plan)), TemporaryDirectory() as folder:
        before = values()
        nbfn.save(Path(folder) / "run")
        change_all()
        restored = nbfn.restore(Path(folder) / "run")
        assert same(before, values())
        assert (restored.kept, restored.waiting, restored.left_out) == ((), (), ())


@quick
@given(made)
def test_what_was_made_again_is_restored(plan) -> None:
    with notebook(build(plan)) as names, TemporaryDirectory() as folder:
        before = [each.numpy() for each in nbfn.session().variables.values()]
        snapshot = nbfn.session().snapshot()
        nbfn.save(Path(folder) / "run")
        for restore in (nbfn.session().restore, nbfn.restore):
            names.update(build(plan))
            change_all()
            restore(snapshot if restore is not nbfn.restore else Path(folder) / "run")
            now = [each.numpy() for each in nbfn.session().variables.values()]
            assert len(now) == len(before)
            for old, new in zip(before, now, strict=True):
                np.testing.assert_array_equal(old, new)


@quick
@given(made, st.data())
def test_what_does_not_fit_changes_nothing(plan, data) -> None:
    with notebook(build(plan)) as names, TemporaryDirectory() as folder:
        session = nbfn.session()
        names["last"] = tf.Variable(1.0)
        snapshot = session.snapshot()
        nbfn.save(Path(folder) / "run")
        change_all()
        how = data.draw(st.sampled_from(["gone", "shape", "dtype", "width"]))
        if how == "width":
            name = data.draw(st.sampled_from(list(plan)))
            make, width = plan[name]
            names[name] = make(width + 1)
        else:
            other = {"shape": tf.Variable([1.0]), "dtype": tf.Variable(1)}
            names.pop("last")
            if how in other:
                names["last"] = other[how]
        before = values()
        for restore in (
            lambda: session.restore(snapshot),
            lambda: nbfn.restore(Path(folder) / "run"),
        ):
            with pytest.raises(RestoreError, match=r"`\w+.*`"):
                restore()
            assert same(before, values())


@pytest.mark.parametrize("make", [functional, nested, recurrent, sequential, bound])
def test_an_export_has_all_that_its_function_uses(make, tmp_path) -> None:
    model = make(2)
    x = tf.zeros([2, 3], tf.int32) if make is recurrent else tf.ones([2, 3])
    with notebook({"model": model}) as names:
        code = "def predict(x):\n    return model(x)\n"
        exec(code, names)
        predict = nbfn.function(names["predict"], autograph=False)
        names["predict"] = predict
        predict(x)
        now = nbfn.session().variables
        used = {capture.name for capture in predict.captures}
        assert len(used) == len(predict.captures)
        assert used <= now.keys()
        nbfn.export(tmp_path / "model", predict, verify=False)
        loaded = nbfn.load(tmp_path / "model")
        assert loaded.variables.keys() == used
        for name, variable in loaded.variables.items():
            assert variable.numpy().tobytes() == now[name].numpy().tobytes()
        before = {name: each.numpy() for name, each in loaded.variables.items()}
        snapshot = loaded.snapshot()
        for variable in loaded.variables.values():
            change(variable)
        loaded.restore(snapshot)
        assert same(before, {name: each.numpy() for name, each in loaded.variables.items()})
    gc.collect()
