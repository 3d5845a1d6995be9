"""The session names what the notebook names."""

from __future__ import annotations

import collections
import gc
import shelve
import sys
import types
import weakref
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.watching.watch import observe
from nbfn.outlines.session_outline import session_outline
from nbfn.sessions.contents.savable_state import RestoreError
from nbfn.sessions.session import Session, SessionKeyError
from tests.harness.messages import raises


@pytest.fixture
def model(notebook):
    model = tf.Module()
    model.hidden = tf.Module()
    model.hidden.kernel = tf.Variable([1.0, 2.0])
    notebook["model"] = model
    return model


def test_variables_by_the_notebooks_names(notebook, model) -> None:
    notebook["rates"] = {"fast": tf.Variable(0.1)}
    session = nbfn.session()
    assert list(session.variables) == ["model/hidden/kernel", "rates/fast"]
    assert session["model/hidden/kernel"] is model.hidden.kernel
    assert session.state["model"]["hidden"]["kernel"] is model.hidden.kernel
    assert list(session.modules) == ["model"]
    assert session.devices[0] == "/device:CPU:0"  # tests before this one may have connected others


def test_functions_and_methods(notebook) -> None:
    class Model(tf.Module):
        @nbfn.function
        def step(self, x):
            return x

    notebook["f"] = nbfn.function(lambda x: x)
    notebook["model"] = Model()
    notebook["model"].step(tf.constant(1))
    functions = nbfn.session().functions
    assert list(functions) == ["f", "model.step"]
    assert functions["model.step"].calls == 1


def test_it_holds_nothing_alive(notebook) -> None:
    notebook["v"] = tf.Variable(1.0)
    session = nbfn.session()
    assert list(session.variables) == ["v"]
    watched = weakref.ref(notebook.pop("v"))
    gc.collect()
    assert watched() is None
    assert session.variables == {}


def test_snapshot_and_restore(model) -> None:
    session = nbfn.session()
    snapshot = session.snapshot()
    variable = model.hidden.kernel
    variable.assign([5.0, 5.0])
    session.restore(snapshot)
    assert variable.numpy().tolist() == [1.0, 2.0]
    assert model.hidden.kernel is variable


def test_a_snapshot_that_does_not_fit_changes_nothing(notebook, model) -> None:
    notebook["other"] = tf.Variable(1.0)
    session = nbfn.session()
    snapshot = session.snapshot()
    model.hidden.kernel.assign([7.0, 7.0])
    notebook["other"] = tf.Variable([1, 2])
    with raises(RestoreError):
        session.restore(snapshot)
    assert model.hidden.kernel.numpy().tolist() == [7.0, 7.0]


def test_a_plain_function_is_listed_by_its_name_and_watched(notebook) -> None:
    notebook["w"] = tf.Variable(2.0)

    class Model(tf.Module):
        def __init__(self):
            self.k = tf.Variable(3.0)

        @tf.function
        def grow(self, x):
            return x * self.k

    @tf.function
    def plain(x):
        return x * notebook["w"]

    notebook["model"], notebook["plain"] = Model(), plain
    plain(tf.constant(1.0))
    notebook["model"].grow(tf.constant(1.0))
    functions = nbfn.session().functions
    assert list(functions) == ["plain", "model.grow"]
    assert [len(each.traces) for each in functions.values()] == [1, 1]


def test_tables_datasets_optimizers_and_models_by_path(notebook) -> None:
    keras = pytest.importorskip("keras")
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    notebook["model"] = tf.Module()
    notebook["model"].words = table
    notebook["layer"] = keras.layers.Dense(2)
    notebook["parts"] = {"optimizer": keras.optimizers.SGD()}
    notebook["data"] = tf.data.Dataset.range(3)
    notebook["rows"] = iter(notebook["data"])
    session = nbfn.session()
    assert session.tables == {"model/words": table}
    assert list(session.models) == ["layer"]
    assert list(session.optimizers) == ["parts/optimizer"]
    assert list(session.datasets) == ["data"]
    assert list(session.iterators) == ["rows"]
    assert session["model/words"] is table


def test_a_path_into_a_bound_module(notebook) -> None:
    class Net(nbfn.nn.Module):
        def setup(self):
            self.hidden = nbfn.nn.Dense(2)

        def __call__(self, x):
            return self.hidden(x)

    net = Net()
    notebook["net"] = net = net.bind(net.init(nbfn.nn.key(0), tf.zeros([1, 3])))
    session = nbfn.session()
    assert session["net/hidden/kernel"] is net.hidden["kernel"]
    assert session["net/hidden"] is net.hidden


def test_more_variables_than_one_can_look_at_are_all_there(notebook) -> None:
    variable = tf.Variable(0.0)
    notebook["many"] = [tf.Variable(0.0) for _ in range(12_000)]
    notebook["deep"] = {"a": {str(i): {"v": v} for i, v in enumerate(notebook["many"][:11_000])}}
    notebook["last"] = variable
    session = nbfn.session()
    assert len(session.variables) == 12_001
    assert session["many/11999"] is notebook["many"][-1]
    assert session["deep/a/10999/v"] is notebook["many"][10_999]


def test_what_uses_a_variable(notebook) -> None:
    notebook["used"], notebook["idle"] = tf.Variable(1.0), tf.Variable(2.0)
    notebook["f"] = nbfn.function(lambda x: x * notebook["used"])
    notebook["f"](tf.constant(1.0))
    session = nbfn.session()
    assert session.used_by("used") == ("f",)
    assert session.used_by("idle") == ()
    assert list(session.unused) == ["idle"]


def test_a_variable_beside_others_of_its_name(notebook) -> None:
    notebook["a"] = tf.Variable(1.0)
    notebook["a/b"] = tf.Variable(2.0)
    notebook["c"] = {"d": tf.Variable(3.0)}
    state = nbfn.session().state
    assert state == {"a": notebook["a"], "a/b": notebook["a/b"], "c": notebook["c"]}


def test_what_only_ipython_keeps_is_no_part_of_the_session(notebook, model) -> None:
    notebook["Out"] = {3: model.hidden, 4: tf.Variable(1.0)}
    notebook["everything"] = notebook
    assert list(nbfn.session().variables) == ["model/hidden/kernel"]


def test_memory_of_the_devices(notebook) -> None:
    notebook["v"] = tf.Variable(tf.zeros([3, 5], tf.float64))
    assert nbfn.session().memory["/device:CPU:0"].variables == 3 * 5 * 8


def test_tables_come_back_with_a_snapshot(notebook) -> None:
    notebook["words"] = table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(["a"], [1])
    session = nbfn.session()
    snapshot = session.snapshot()
    table.insert(["a", "b"], [5, 6])
    session.restore(snapshot)
    assert table.lookup(tf.constant(["a", "b"])).numpy().tolist() == [1, -1]
    notebook["words"] = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    with raises(RestoreError):
        session.restore(snapshot)


def test_what_is_only_watched_takes_the_name_of_nothing_that_the_notebook_names() -> None:
    weight = tf.Variable(1.0)
    own = nbfn.function(lambda x: x * weight)
    own(tf.ones([1]))
    elsewhere = tf.function(lambda x: x)
    assert observe(elsewhere, "own", hits=True).label == "own"
    assert Session({"own": own, "weight": weight}).used_by("weight") == ("own",)


def test_a_snapshot_has_the_optimizer_of_a_compiled_model(notebook) -> None:
    keras.utils.set_random_seed(0)
    notebook["model"] = model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    x, y = np.ones((4, 3), "float32"), np.zeros((4, 1), "float32")

    def fit() -> Any:
        model.fit(x, y, shuffle=False, verbose=0)
        return model.get_weights()[0]

    fit()
    session = nbfn.session()
    snapshot = session.snapshot()
    assert "model/optimizer/iteration" in snapshot
    fit()
    expected = fit()
    session.restore(snapshot)
    fit()
    np.testing.assert_array_equal(fit(), expected)


class Slotted:
    __slots__ = ("later", "mean")

    def __init__(self) -> None:
        self.mean = tf.Variable(0.0)


def test_variables_in_slots_namespaces_queues_and_seed_generators(notebook) -> None:
    notebook["filter"] = Slotted()
    notebook["space"] = types.SimpleNamespace(w=tf.Variable(1.0))
    notebook["waiting"] = collections.deque([tf.Variable(2.0)])
    notebook["seeds"] = keras.random.SeedGenerator(1)
    assert list(nbfn.session().variables) == ["filter/mean", "space/w", "waiting/0", "seeds/state"]


def test_private_variables_have_no_names_of_tensorflows_bookkeeping(notebook) -> None:
    class Module(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self._w = tf.Variable(1.0)

    notebook["module"] = Module()
    assert list(nbfn.session().variables) == ["module/_w"]


class Late:
    """A proxy whose object cannot be made."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("there are no settings")


def test_objects_that_cannot_be_looked_at_hide_nothing_else(notebook, tmp_path) -> None:
    class Failing(collections.UserDict):  # type: ignore[type-arg]
        def values(self) -> Any:
            raise ValueError("it is closed")

    notebook["closed"] = shelve.open(str(tmp_path / "shelf"))  # noqa: SIM115
    notebook["closed"].close()
    notebook |= {"late": Late(), "failing": Failing(a=1), "held": [Late(), tf.Variable(1.0)]}
    assert list(nbfn.session().variables) == ["held/1"]
    assert nbfn.session().totals.variables >= 1


def test_a_variable_of_unknown_rank_is_shown(notebook) -> None:
    notebook["v"] = tf.Variable([1.0], shape=tf.TensorShape(None))
    assert "[...]" in str(session_outline(nbfn.session().shown))


def test_a_dense_table_comes_back_with_a_snapshot(notebook) -> None:
    notebook["table"] = table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, default_value=-1, empty_key=-2, deleted_key=-3
    )
    keys = tf.constant([1, 2, 3, 5], tf.int64)
    table.insert(keys[:3], keys[:3] * 10)
    table.remove(keys[1:2])
    session = nbfn.session()
    snapshot = session.snapshot()
    table.insert(keys[3:], keys[3:])
    assert sorted(snapshot["table"].keys.numpy().ravel()) == [1, 3]
    for _ in range(2):
        session.restore(snapshot)
        assert table.lookup(keys).numpy().tolist() == [10, -1, 30, -1]
        assert table.size() == 2
        table.insert(keys[3:], keys[3:])


@pytest.mark.parametrize("asked", ["step", "wieght", "model/kernel"])
def test_a_name_that_leads_nowhere_is_answered_with_those_that_do(notebook, asked) -> None:
    with raises(nbfn.NbfnError):
        nbfn.session()["v"]
    notebook["weight"], notebook["bias"] = tf.Variable(1.0), tf.Variable(2.0)
    notebook["model"] = {"hidden": {"kernel": tf.Variable(3.0)}}
    notebook["predict"] = nbfn.function(lambda x: x)
    with raises(nbfn.NbfnError):
        nbfn.session()[asked]


def normalization() -> tuple[keras.Model, np.ndarray]:
    layer, data = keras.layers.Normalization(), np.arange(6.0, dtype=np.float32).reshape(3, 2)
    layer.adapt(data)
    return keras.Sequential([keras.Input((2,)), layer]), data


def test_what_layers_derive_from_their_variables_comes_back(notebook, tmp_path) -> None:
    notebook["model"], data = normalization()
    before = notebook["model"](data).numpy().tolist()
    snapshot = nbfn.session().snapshot()
    nbfn.save(tmp_path / "run")
    notebook["model"].layers[0].adapt(data + 100.0)
    nbfn.session().restore(snapshot)
    assert notebook["model"](data).numpy().tolist() == before
    notebook["model"].layers[0].adapt(data + 100.0)
    nbfn.restore(tmp_path / "run")
    assert notebook["model"](data).numpy().tolist() == before


@pytest.mark.parametrize("bad", [None, [1], "abc", {1: tf.ones([])}])
def test_what_is_no_snapshot_is_refused(notebook, bad: Any) -> None:
    notebook["v"] = tf.Variable(1.0)
    with raises(TypeError):
        nbfn.session().restore(bad)
    with raises(RestoreError):
        nbfn.session().restore({"v": None})
    assert float(notebook["v"]) == 1.0


def test_static_methods_are_functions_of_the_session(notebook, tmp_path) -> None:
    class Model(tf.Module):
        @staticmethod
        @nbfn.function
        def double(x: Any) -> Any:
            return x * 2.0

    notebook["m"] = model = Model()
    model.double(tf.ones([2]))
    assert set(nbfn.session().functions) == {"m.double"}
    exported = nbfn.export(tmp_path / "model", model, verify=False)
    assert set(exported.signatures) == {"m_double"}


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="a classmethod does not bind what it holds as a tf.function"
)
def test_class_methods_are_functions_of_the_session(notebook, tmp_path) -> None:
    class Model(tf.Module):
        @classmethod
        @nbfn.function
        def triple(cls, x: Any) -> Any:
            return x * 3.0

    notebook["Model"] = Model
    notebook["m"] = model = Model()
    model.triple(tf.ones([2]))
    assert set(nbfn.session().functions) == {"Model.triple"}
    assert "Model.triple" in repr(Model.triple)
    exported = nbfn.export(tmp_path / "model", model, verify=False)
    assert set(exported.signatures) == {"Model_triple"}


@pytest.mark.parametrize("path", [3, None])
def test_a_path_is_a_text(notebook, path: Any) -> None:
    notebook["v"] = tf.Variable(1.0)
    here = nbfn.session()
    for asked in (here.__getitem__, here.statistics, here.tabulate):
        with raises(SessionKeyError):
            asked(path)


def test_it_is_not_iterated_by_numbers(notebook) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(nbfn.session())


def test_an_attribute_that_is_an_item_is_answered_with_the_item(notebook) -> None:
    notebook["model"] = tf.Variable(1.0)
    with raises(AttributeError):
        _ = nbfn.session().model
    with raises(AttributeError):
        _ = nbfn.session().other
    assert not hasattr(nbfn.session(), "_repr_latex_")
