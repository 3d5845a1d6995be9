"""A checkpoint of the notebook that plain TensorFlow reads."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.checkpoint import CheckpointError
from nbfn.sessions.contents.savable_state import RestoreError
from tests.harness.messages import raises, warns

keras = pytest.importorskip("keras")


class Agent:
    """An object that TensorFlow does not track."""

    __module__ = "__main__"

    def __init__(self) -> None:
        self.name = "agent"
        self.policy = tf.Variable([9.0])


@pytest.fixture
def full(notebook):
    """A notebook with a value of each sort, and how to read them all."""
    notebook["weight"] = tf.Variable(2.0)
    notebook["rates"] = {"fast": tf.Variable(0.5), "steps": 3}
    notebook["layers"] = [tf.Variable(1.0), tf.Variable([2.0])]
    notebook["agent"] = Agent()
    notebook["words"] = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    notebook["words"].insert(["a"], [1])
    notebook["model"] = keras.Sequential([keras.layers.Dense(2)])
    notebook["model"](tf.ones([1, 3]))
    net = nbfn.nn.Dense(2)
    variables = net.init(nbfn.nn.key(0), tf.zeros([1, 3]))
    notebook["net"] = net.bind(variables, rngs={"dropout": nbfn.nn.key(1)})
    notebook["Out"] = {3: notebook["weight"]}  # what IPython keeps
    notebook["grows"] = tf.Variable([1.0], shape=[None])
    return notebook


def values(notebook):
    session = nbfn.session()
    held = {name: each.numpy().tolist() for name, each in session.variables.items()}
    return held, notebook["words"].export()[0].numpy().tolist()


def test_everything_comes_back(full, tmp_path) -> None:
    before = values(full)
    saved = nbfn.save(tmp_path / "run")
    for variable in nbfn.session().variables.values():
        variable.assign(tf.zeros_like(variable))
    full["grows"].assign([0.0, 0.0])
    full["words"].insert(["b"], [2])
    restored = nbfn.restore(tmp_path / "run")
    assert values(full) == before
    assert restored.names == saved.names
    assert set(saved.names) == {
        *("weight", "rates", "layers", "agent", "words", "model", "net", "grows"),
    }
    assert (restored.kept, restored.waiting) == ((), ())
    assert {each.name for each in tmp_path.iterdir()} == {"run.index", "run.data-00000-of-00001"}


def test_plain_tensorflow_reads_one_part(full, tmp_path) -> None:
    nbfn.save(tmp_path / "run")
    model = keras.Sequential([keras.layers.Dense(2)])
    model(tf.ones([1, 3]))
    checkpoint = tf.train.Checkpoint(model=model, rates={"fast": tf.Variable(0.0)})
    checkpoint.read(str(tmp_path / "run")).assert_existing_objects_matched()
    assert tf.reduce_all(model.layers[0].kernel == full["model"].layers[0].kernel)
    assert checkpoint.rates["fast"].numpy() == 0.5


def test_a_checkpoint_of_plain_tensorflow_is_restored(notebook, tmp_path) -> None:
    tf.train.CheckpointManager(
        tf.train.Checkpoint(weight=tf.Variable(7.0)), str(tmp_path), max_to_keep=1
    ).save()
    notebook["weight"] = tf.Variable(0.0)
    nbfn.restore(tmp_path)
    assert notebook["weight"].numpy() == 7.0


def test_what_it_does_not_have_is_kept_and_reported(full, tmp_path) -> None:
    nbfn.save(tmp_path / "run")
    full["new"] = tf.Variable(5.0)
    full["agent"].policy.assign([1.0])
    with warns(nbfn.NbfnWarning):
        restored = nbfn.restore(tmp_path / "run")
    assert full["new"].numpy() == 5.0
    assert full["agent"].policy.numpy() == [9.0]
    assert (restored.kept, restored.waiting, restored.left_out) == (("new",), (), ())


def test_what_the_notebook_has_no_more_is_refused_or_left_out(full, tmp_path) -> None:
    nbfn.save(tmp_path / "run")
    weight = full.pop("weight")
    full.pop("Out")
    full["agent"].policy.assign([1.0])
    with raises(RestoreError):
        nbfn.restore(tmp_path / "run")
    assert full["agent"].policy.numpy() == [1.0]
    restored = nbfn.restore(tmp_path / "run", partial=True)
    assert full["agent"].policy.numpy() == [9.0]
    assert restored.left_out == ("weight",)
    assert "weight" not in restored.names
    assert weight.numpy() == 2.0


def compiled(names):
    """A model whose optimizer and metrics make their variables with the first step."""
    inputs = keras.Input((3,))
    hidden = keras.layers.Dense(2)(keras.layers.Dense(4)(inputs))
    names["model"] = model = keras.Model(inputs, hidden)
    model.compile("adam", "mse", metrics=["mae"], run_eagerly=True)
    return model


def values_of(variables):
    return [variable.numpy().tolist() for variable in variables]


def test_what_an_optimizer_has_yet_to_make_is_given_it_then(notebook, tmp_path) -> None:
    x, y = np.ones((4, 3)), np.ones((4, 2))
    model = compiled(notebook)
    model.fit(x, y, epochs=2, verbose=0)
    trained = values_of(model.variables), values_of(model.optimizer.variables)
    nbfn.save(tmp_path / "run")
    model = compiled(notebook)
    restored = nbfn.restore(tmp_path / "run")
    assert values_of(model.variables) == trained[0]
    assert model.optimizer.iterations.numpy() == 2
    slots = [name for name in restored.waiting if "/optimizer/" in name]
    assert len(slots) == 2 * 4
    metrics = set(restored.waiting) - set(slots)
    assert metrics == {
        f"model/metrics/compile_metrics/mean_absolute_error/{each}" for each in ("total", "count")
    }
    assert (restored.kept, restored.left_out) == ((), ())
    del restored
    gc.collect()
    model.optimizer.build(model.trainable_variables)
    assert values_of(model.optimizer.variables) == trained[1]


def test_a_model_that_is_not_built_yet_is_given_its_weights_then(notebook, tmp_path) -> None:
    def make():
        notebook["nets"] = [keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(2)])]
        return notebook["nets"][0]

    net = make()
    net(tf.ones([1, 3]))
    nbfn.save(tmp_path / "run")
    before = values_of(net.variables)
    net = make()
    assert len(nbfn.restore(tmp_path / "run").waiting) == 4
    net(tf.ones([1, 3]))
    assert values_of(net.variables) == before


def test_a_model_without_its_optimizer_is_a_part_of_it(notebook, tmp_path) -> None:
    model = compiled(notebook)
    model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
    nbfn.save(tmp_path / "run")
    before = values_of(model.variables)
    inputs = keras.Input((3,))
    hidden = keras.layers.Dense(2)(keras.layers.Dense(4)(inputs))
    notebook["model"] = model = keras.Model(inputs, hidden)
    fresh = values_of(model.variables)
    with pytest.raises(RestoreError, match=r"`model/optimizer/iteration`.* 11 "):
        nbfn.restore(tmp_path / "run")
    assert values_of(model.variables) == fresh
    assert len(nbfn.restore(tmp_path / "run", partial=True).left_out) == 14
    assert values_of(model.variables) == before


def test_each_value_is_written_once(notebook, tmp_path) -> None:
    inputs = keras.Input((100,))
    notebook["model"] = keras.Model(inputs, keras.layers.Dense(1000)(inputs))
    notebook["write"] = tf.Variable(1.0)  # a name that TensorFlow's own method has
    saved = nbfn.save(tmp_path / "run")
    assert 4 * 101_001 <= saved.nbytes < 1.1 * 4 * 101_001
    notebook["write"].assign(2.0)
    assert nbfn.restore(tmp_path / "run").names == ("model", "write")
    assert notebook["write"].numpy() == 1.0


@pytest.mark.parametrize("name", ["root", "self", "restore", "save_counter"])
def test_names_that_tensorflow_has_for_something_else(notebook, tmp_path, name: str) -> None:
    notebook["weight"], notebook[name] = tf.Variable(1.0), tf.Variable(2.0)
    nbfn.save(tmp_path / "run")
    notebook["weight"].assign(0.0)
    notebook[name].assign(0.0)
    nbfn.restore(tmp_path / "run")
    assert (notebook["weight"].numpy(), notebook[name].numpy()) == (1.0, 2.0)


def test_what_does_not_fit_changes_nothing(full, tmp_path) -> None:
    nbfn.save(tmp_path / "run")
    full["weight"].assign(3.0)
    full["layers"][1] = tf.Variable([1.0, 1.0])
    with raises(RestoreError):
        nbfn.restore(tmp_path / "run")
    assert full["weight"].numpy() == 3.0


def test_there_is_none_or_another(notebook, tmp_path) -> None:
    notebook["weight"] = tf.Variable(1.0)
    with pytest.raises(RestoreError, match=r"`.*none`"):
        nbfn.restore(tmp_path / "none")
    tf.train.Checkpoint(other=tf.Variable(1.0)).write(str(tmp_path / "other"))
    with raises(RestoreError):
        nbfn.restore(tmp_path / "other")


def test_nothing_to_save(notebook, tmp_path) -> None:
    notebook["number"] = 3
    with raises(CheckpointError):
        nbfn.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_keeps_the_old_one(full, tmp_path, monkeypatch) -> None:
    nbfn.save(tmp_path / "run")
    full["weight"].assign(3.0)

    def fail(self, path, options=None):
        (tmp_path / f"{path}.index").write_text("half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tf.train.Checkpoint, "write", fail)
        with pytest.raises(KeyboardInterrupt):
            nbfn.save(tmp_path / "run")
    nbfn.restore(tmp_path / "run")
    assert full["weight"].numpy() == 2.0
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["model[v2]", "a*b?"])
def test_a_pattern_of_file_names_is_refused(notebook, tmp_path, name) -> None:
    notebook["weight"] = tf.Variable(2.0)
    with raises(CheckpointError):
        nbfn.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_model_that_its_first_call_builds_is_called_first(notebook, tmp_path) -> None:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(2, name="inner")

        def call(self, x: Any) -> Any:
            return self.dense(x)

    x = tf.ones([1, 3])
    notebook["net"] = Net()
    expected = notebook["net"](x).numpy().tolist()
    nbfn.save(tmp_path / "run")
    notebook["net"] = Net()
    with raises(RestoreError):
        nbfn.restore(tmp_path / "run")
    notebook["net"](x)
    nbfn.restore(tmp_path / "run")
    assert notebook["net"](x).numpy().tolist() == expected
