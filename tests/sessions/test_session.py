"""The session names what the notebook names."""

from __future__ import annotations

import gc
import weakref

import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.session import RestoreError


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
    assert session.devices == ("/device:CPU:0",)


def test_a_wrong_name_gets_a_hint(model) -> None:
    with pytest.raises(
        nbfn.NbfnError, match="no variable `model/kernel`; did you mean model/hidden"
    ):
        nbfn.session()["model/kernel"]


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
    with pytest.raises(RestoreError, match="`other` is int32"):
        session.restore(snapshot)
    assert model.hidden.kernel.numpy().tolist() == [7.0, 7.0]
