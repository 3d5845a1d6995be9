"""A SavedModel, nbfn's or another's, is a session: called, looked into, trained, exported again."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from IPython.core.formatters import DisplayFormatter

import nbfn
from nbfn.notebook.formatters import register_formatters
from nbfn.sessions.load import LoadError, SavedCallError
from nbfn.views.bundle import bundle_of
from tests.harness.messages import raises
from tests.programs import killed_exports

X = tf.constant([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]])


@pytest.fixture(scope="module")
def notebook_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layer, a table, and a method, exported by nbfn from names of a notebook."""
    path = tmp_path_factory.mktemp("nbfn") / "model"

    main = ModuleType("__main__")
    model = tf.Module()
    model.hidden = tf.Module()
    model.hidden.kernel = tf.Variable([[1.0], [2.0], [3.0]])
    words = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    main.__dict__.update(
        tf=tf,
        nbfn=nbfn,
        model=model,
        bias=tf.Variable([0.5]),
        words=words,
    )
    code = (
        "class Counter(tf.Module):\n"
        "    def __init__(self):\n"
        "        self.total = tf.Variable(0.0)\n"
        "    @nbfn.function(autograph=False)\n"
        "    def add(self, by): return self.total.assign_add(by)\n"
        "counter = Counter()\n"
        "@nbfn.function(input_signature=[tf.TensorSpec([None, 3])])\n"
        "def predict(x): return {'y': x @ model.hidden.kernel + bias}\n"
        "@nbfn.function(autograph=False)\n"
        "def look(w, twice=False): return words.lookup(w) * (2 if twice else 1)\n"
        "look(tf.constant(['a'])); look(tf.constant(['a']), True)\n"
        "counter.add(tf.constant(1.0))\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", main)
        exec(code, main.__dict__)
        nbfn.export(path, verify=False)
    return path


def expected(x: tf.Tensor) -> np.ndarray:
    return (x @ [[1.0], [2.0], [3.0]] + 0.5).numpy()


def test_variables_have_the_names_of_the_notebook(notebook_model) -> None:
    loaded = nbfn.load(notebook_model)
    assert isinstance(loaded, nbfn.LoadedSession)
    assert sorted(loaded.variables) == ["bias", "counter/total", "model/hidden/kernel"]
    assert loaded["model/hidden/kernel"].numpy().tolist() == [[1.0], [2.0], [3.0]]
    assert loaded.state["model"]["hidden"]["kernel"] is loaded["model/hidden/kernel"]
    assert loaded["counter/total"].numpy() == 1.0
    assert loaded.nbytes == 20


def test_functions_are_called_and_seen(notebook_model) -> None:
    loaded = nbfn.load(notebook_model)
    assert sorted(loaded.functions) == ["counter.add", "look", "predict"]
    assert sorted(loaded.signatures) == ["counter_add", "look", "look_twice_True", "predict"]
    predict = loaded["predict"]
    np.testing.assert_allclose(predict(X)["y"], expected(X))
    np.testing.assert_allclose(predict(x=X[:1])["y"], expected(X[:1]))
    assert (predict.calls, predict.hits, predict.retraces) == (2, 2, ())
    assert [trace.signature for trace in predict.traces] == ["x: float32[None, 3]"]
    assert predict.traces[0].cause.sentence == "saved in the model"
    assert [each.name for each in predict.captures] == ["model/hidden/kernel", "bias"]
    assert predict.explain(X).trace is predict.traces[0]
    assert nbfn.watch(predict) is predict


def test_python_values_choose_a_graph_and_tables_answer(notebook_model) -> None:
    loaded = nbfn.load(notebook_model)
    assert list(loaded.tables) == ["words"]
    look = loaded["look"]
    assert look.parameters == "(w, twice=False)"
    assert look(tf.constant(["b"])).numpy().tolist() == [2]
    assert look(tf.constant(["b"]), twice=True).numpy().tolist() == [4]
    assert len(look.traces) == 2


def test_a_call_that_no_graph_serves_is_reported_in_a_line(notebook_model) -> None:
    loaded = nbfn.load(notebook_model)
    with raises(SavedCallError):
        loaded["predict"](tf.ones([2, 5]))
    with raises(SavedCallError):
        loaded["look"](tf.constant(["a", "b"]))
    np.testing.assert_allclose(loaded["predict"](X)["y"], expected(X))


def test_what_is_said_before_such_a_call(tmp_path) -> None:
    f = nbfn.function(lambda x: x * 2)
    f(tf.ones([3]))
    nbfn.export(tmp_path / "model", f, verify=False)
    loaded = nbfn.load(tmp_path / "model")["lambda"]
    remedy = loaded.explain(tf.ones([2, 2])).remedy
    assert "what it was saved for" in remedy.sentence
    assert remedy.code is None
    assert loaded.explain(tf.ones([3])).trace is loaded.traces[0]


def test_ragged_and_sparse_arguments_are_told_like_tensors(tmp_path) -> None:
    @nbfn.function
    def total(values):
        return tf.reduce_sum(values, 1)

    total(tf.ragged.constant([[1.0], [2.0, 3.0]]))
    nbfn.export(tmp_path / "model", total, verify=False)
    loaded = nbfn.load(tmp_path / "model")
    with raises(SavedCallError):
        loaded["total"](tf.ragged.constant([[1.0]]))
    with raises(SavedCallError):
        loaded["total"](tf.sparse.from_dense([[1.0]]))


def test_it_is_trained_and_exported_again(notebook_model, tmp_path) -> None:
    loaded = nbfn.load(notebook_model)
    predict, weights = loaded["predict"], [loaded["model/hidden/kernel"], loaded["bias"]]
    before, wanted = loaded.snapshot(), tf.constant([[1.0], [-1.0]])

    @nbfn.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((predict(X)["y"] - wanted) ** 2)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.05 * gradient)
        return loss

    losses = [float(step()) for _ in range(60)]
    assert losses[-1] < losses[0] / 100
    result = predict(X)["y"]
    written = nbfn.export(tmp_path / "again", predict)
    assert [each.status for each in written.verified] == ["equal"]
    assert written.variables == ("model/hidden/kernel", "bias")
    again = nbfn.load(tmp_path / "again")
    np.testing.assert_allclose(again["predict"](X)["y"], result, rtol=1e-6)
    np.testing.assert_array_equal(again["bias"], loaded["bias"])
    loaded.restore(before)
    np.testing.assert_allclose(predict(X)["y"], expected(X))


def test_everything_is_exported_again_tables_too(notebook_model, tmp_path) -> None:
    loaded = nbfn.load(notebook_model)
    written = nbfn.export(tmp_path / "again", loaded)
    assert {each.status for each in written.verified} == {"equal"}
    assert set(written.variables) == set(loaded.variables)
    again = nbfn.load(tmp_path / "again")
    assert again["look"](tf.constant(["b"]), True).numpy().tolist() == [4]
    assert again["counter.add"](tf.constant(2.0)).numpy() == 3.0
    assert again["counter/total"].numpy() == 3.0


def test_a_notebook_names_what_is_in_it(notebook_model, monkeypatch) -> None:
    loaded, bias = nbfn.load(notebook_model), tf.Variable([9.0])
    session = nbfn.Session({"bias": bias, "loaded": loaded})
    main = ModuleType("__main__")
    main.__dict__.update(bias=bias, loaded=loaded)
    monkeypatch.setitem(sys.modules, "__main__", main)
    names = ["loaded/model/hidden/kernel", "loaded/bias", "loaded/counter/total"]
    assert sorted(session.variables) == sorted(["bias", *names])
    assert session["loaded/bias"] is loaded["bias"]
    assert [each.name for each in loaded["predict"].captures] == names[:2]
    assert [each.name for each in loaded["look"].captures][:1] == ["loaded/words"]
    assert session.used_by("loaded/bias") == ("loaded['predict']",)
    assert list(session.unused) == ["bias"]
    before = session.snapshot()
    loaded["bias"].assign([7.0])
    session.restore(before)
    assert loaded["bias"].numpy() == 0.5


def test_it_shows_what_is_in_it(notebook_model) -> None:
    loaded = nbfn.load(notebook_model)
    lines = repr(loaded).splitlines()
    head = f"<nbfn session loaded from {notebook_model}: 3 functions, 3 variables (20 B)>"
    assert lines[0] == head
    assert "  predict(x: float32[None, 3])" in lines
    assert "  look(w: string[1], twice: True)" in lines
    bundle = bundle_of(loaded)
    for text in bundle.values():
        assert "model/hidden/kernel" in text
        assert "x: float32[None, 3]" in text
        assert "3 functions, 3 variables (20 B)" in text
    assert "<table>" in bundle["text/html"]
    formatter = DisplayFormatter()
    register_formatters(SimpleNamespace(display_formatter=formatter))  # type: ignore[arg-type]
    assert formatter.format(loaded)[0]["text/html"] == bundle["text/html"]


# Models of others --------------------------------------------------------------------------


def test_a_keras_export(tmp_path) -> None:
    layers = [
        keras.Input((3,)),
        keras.layers.Dense(4, name="hid"),
        keras.layers.Dense(1, name="out"),
    ]
    model = keras.Sequential(layers, name="net")
    model.export(tmp_path / "keras", verbose=0)
    loaded = nbfn.load(tmp_path / "keras")
    names = ["net/hid/kernel", "net/hid/bias", "net/out/kernel", "net/out/bias"]
    assert list(loaded.variables) == names
    serve = loaded["serve"]
    np.testing.assert_allclose(serve(X), model(X), rtol=1e-5)
    assert [c.name for c in serve.captures][:2] == names[:2]
    np.testing.assert_allclose(loaded["serving_default"](X)["output_0"], model(X), rtol=1e-5)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(serve(X) ** 2)
    gradient = tape.gradient(loss, loaded["net/hid/kernel"])
    loaded["net/hid/kernel"].assign_sub(0.01 * gradient)
    assert tf.reduce_sum(serve(X) ** 2) < loss
    assert nbfn.export(tmp_path / "again", serve).verified[0].status == "equal"
    again = nbfn.load(tmp_path / "again")
    assert sorted(again.variables) == sorted(loaded.variables)
    np.testing.assert_allclose(again["serve"](X), serve(X), rtol=1e-6)


class Inner(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scales = [tf.Variable(2.0), tf.Variable(3.0)]

    @tf.function
    def scale(self, x, first=True):
        return x * self.scales[0 if first else 1]


class Outer(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.offset = tf.Variable([1.0, 1.0], trainable=False)
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([7], [0.5]), 0.0)

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def __call__(self, x):
        return self.inner.scale(x, False) + self.offset + self.table.lookup(tf.constant(7))


def test_a_module_of_plain_tensorflow(tmp_path) -> None:
    outer = Outer()
    outer.inner.scale(tf.constant(1.0))
    tf.saved_model.save(outer, str(tmp_path / "plain"))
    loaded = nbfn.load(tmp_path / "plain")
    assert sorted(loaded.variables) == ["inner/scales/0", "inner/scales/1", "offset"]
    assert list(loaded.tables) == ["table"]
    assert sorted(loaded.functions) == ["call", "inner.scale", "serving_default"]
    assert loaded["call"](tf.ones([2])).numpy().tolist() == [4.5, 4.5]
    assert loaded["inner.scale"](tf.constant(5.0)).numpy() == 10.0
    loaded["inner/scales/1"].assign(10.0)
    assert loaded["call"](tf.ones([2])).numpy().tolist() == [11.5, 11.5]
    assert {c.name for c in loaded["call"].captures} >= {"inner/scales/1", "offset", "table"}
    assert not loaded["offset"].trainable
    nbfn.export(tmp_path / "again", loaded["call"], verify=False)
    assert nbfn.load(tmp_path / "again")["call"](tf.ones([2])).numpy().tolist() == [11.5, 11.5]


def save_as_tensorflow_1_did(path: Path, *tags: list[str]) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        scale = v1.get_variable("layer/scale", initializer=2.0, use_resource=True)
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": x * scale})
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(session, tags[0], {"serve it": signature})
        for more in tags[1:]:
            builder.add_meta_graph(more, {"serve it": signature})
        builder.save()


def test_a_model_of_tensorflow_1(tmp_path) -> None:
    save_as_tensorflow_1_did(tmp_path / "v1", ["serve"])
    loaded = nbfn.load(tmp_path / "v1")
    assert (list(loaded.variables), list(loaded.tables)) == (["layer/scale"], [])
    assert list(loaded.functions) == list(loaded.signatures) == ["serve it"]
    serve = loaded["serve it"]
    assert serve(tf.constant([2.0]))["y"].numpy().tolist() == [4.0]
    assert [c.name for c in serve.captures] == ["layer/scale"]
    loaded["layer/scale"].assign(3.0)
    nbfn.export(tmp_path / "again", serve, verify=False)
    assert nbfn.load(tmp_path / "again")["serve_it"](tf.constant([2.0]))["y"].numpy() == [6.0]


def test_wrapped_code_of_tensorflow_1_exported_by_nbfn(tmp_path) -> None:
    v1 = tf.compat.v1

    def scaled(x, by):
        return {"y": x * by * v1.get_variable("w", initializer=2.0)}

    wrapped = nbfn.wrap_function(scaled, [tf.TensorSpec([None]), tf.TensorSpec([])])
    written = nbfn.export(tmp_path / "model", wrapped)
    signature = "(by: float32[], x: float32[None]) -> (y: float32[None])"
    assert list(written.signatures.values()) == [signature]
    assert [each.status for each in written.verified] == ["equal"]
    loaded = nbfn.load(tmp_path / "model")
    (function,) = loaded.functions.values()
    assert function.parameters == "(x, by)"
    x = tf.constant([1.0, 3.0])
    assert function(x, by=tf.constant(2.0))["y"].numpy().tolist() == [4.0, 12.0]
    loaded.variables["w"].assign(3.0)
    assert function(x, tf.constant(1.0))["y"].numpy().tolist() == [3.0, 9.0]


def test_tags_choose_one_of_several_graphs(tmp_path) -> None:
    save_as_tensorflow_1_did(tmp_path / "v1", ["train"], ["serve", "gpu"])
    with raises(LoadError):
        nbfn.load(tmp_path / "v1")
    loaded = nbfn.load(tmp_path / "v1", tags=["train"])
    assert loaded["serve it"](tf.constant([2.0]))["y"].numpy().tolist() == [4.0]


# Bad input ---------------------------------------------------------------------------------


def nothing(path: Path) -> None:
    """There is no such folder."""


def a_file(path: Path) -> None:
    path.write_text("mine")


def an_empty_folder(path: Path) -> None:
    path.mkdir()


def another_folder(path: Path) -> None:
    path.mkdir()
    (path / "notes.txt").write_text("mine")


def versions(path: Path) -> None:
    for number in (1, 2):
        (path / str(number)).mkdir(parents=True)
        (path / str(number) / "saved_model.pb").write_bytes(b"")


def no_protobuf(path: Path) -> None:
    path.mkdir()
    (path / "saved_model.pb").write_bytes(b"\xff\xff\xff")


def an_unknown_operation(path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(tf.math.cosh, input_signature=[tf.TensorSpec([])])
    tf.saved_model.save(module, str(path))
    file = path / "saved_model.pb"
    file.write_bytes(file.read_bytes().replace(b"Cosh", b"Mine"))


def no_variables(path: Path) -> None:
    module = tf.Module()
    module.v = tf.Variable(1.0)
    tf.saved_model.save(module, str(path))
    (path / "variables" / "variables.index").unlink()


@pytest.mark.parametrize(
    "make",
    [
        nothing,
        a_file,
        an_empty_folder,
        another_folder,
        versions,
        no_protobuf,
        an_unknown_operation,
        no_variables,
    ],
)
def test_what_cannot_be_loaded_is_reported_in_a_line(tmp_path, make) -> None:
    make(tmp_path / "model")
    with raises(LoadError) as error:
        nbfn.load(tmp_path / "model")
    assert "\n" not in str(error.value)


def test_a_keras_file_is_for_keras(tmp_path) -> None:
    (tmp_path / "model.keras").write_bytes(b"")
    with raises(LoadError):
        nbfn.load(tmp_path / "model.keras")


def test_an_export_waits_until_the_model_is_loaded(notebook_model, tmp_path, monkeypatch) -> None:
    path = tmp_path / "model"
    nbfn.export(path, nbfn.load(notebook_model)["predict"], verify=False)
    plain_load = tf.saved_model.load

    def load_slowly(*args: Any, **kwargs: Any) -> Any:
        exporting.append(pool.submit(killed_exports.export, path, "new"))
        with pytest.raises(TimeoutError):
            exporting[0].result(0.3)
        return plain_load(*args, **kwargs)

    exporting: list[Any] = []
    monkeypatch.setattr(tf.saved_model, "load", load_slowly)
    with ThreadPoolExecutor() as pool:
        loaded = nbfn.load(path)
    np.testing.assert_allclose(loaded["predict"](X)["y"], expected(X))
    exporting[0].result(60)
    assert killed_exports.texts(path) == ["new"]
