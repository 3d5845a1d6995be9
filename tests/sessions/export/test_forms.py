"""What can be exported, in which form; and what is refused at once, with what to do instead."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn import nn
from nbfn.sessions.export.resources import ExportError
from tests.harness.messages import raises, warns

keras = pytest.importorskip("keras")
number = tf.constant


class Pair(NamedTuple):
    first: Any
    second: Any


class Scaled(tf.experimental.ExtensionType):
    value: tf.Tensor
    factor: int
    rows: tf.RaggedTensor


class Net(nn.Module):
    def setup(self):
        self.hidden = nn.Dense(3)

    def __call__(self, x):
        return self.hidden(x)

    @nbfn.function
    def score(self, x):
        return tf.nn.softmax(self(x))


@pytest.fixture
def exported(notebook, tmp_path):
    """Exports some functions, and loads the model."""

    def export(*functions: Any, **options: Any) -> Any:
        made = nbfn.export(tmp_path / "model", *functions, overwrite=True, **options)
        assert {each.status for each in (*made.verified, *made.verified_traces)} <= {"equal"}
        assert made.verified
        return made, tf.saved_model.load(str(tmp_path / "model"))

    return export


def test_a_plain_function_watched_or_not(exported, notebook) -> None:
    weight = tf.Variable(2.0)

    @tf.function
    def double(x):
        return x * weight

    double(number(1.0))
    notebook["double"] = double
    for each in (double, nbfn.watch(double)):
        _, loaded = exported(each)
        assert loaded.signatures["double"](x=number(3.0))["output_0"].numpy() == 6.0
        assert loaded.double(number(3.0)).numpy() == 6.0


def test_a_keras_model_as_it_infers(exported, notebook) -> None:
    notebook["net"] = model = keras.Sequential(
        [keras.layers.Input([3]), keras.layers.Dense(2), keras.layers.Dropout(0.9)]
    )
    made, loaded = exported(model)
    assert made.signatures == {"net": "(inputs: float32[None, 3]) -> (output_0: float32[None, 2])"}
    x = np.ones([5, 3], np.float32)
    served = loaded.signatures["net"](inputs=number(x))["output_0"]
    np.testing.assert_allclose(served, model(x), rtol=1e-5)


def test_a_keras_model_with_several_inputs(exported, notebook) -> None:
    left, right = keras.Input([2], name="left"), keras.Input([2], name="right")
    notebook["both"] = keras.Model([left, right], keras.layers.Subtract()([left, right]))
    made, loaded = exported(notebook["both"])
    assert made.signatures["both"].startswith("(left: float32[None, 2], right: float32[None, 2])")
    served = loaded.signatures["both"](left=tf.ones([1, 2]), right=tf.zeros([1, 2]))
    assert served["output_0"].numpy().tolist() == [[1.0, 1.0]]


def test_a_keras_model_with_a_dictionary_of_inputs(exported, notebook) -> None:
    inputs = {name: keras.Input([2], name=name) for name in ("zeta", "age")}
    notebook["net"] = keras.Model(inputs, keras.layers.Subtract()([inputs["zeta"], inputs["age"]]))
    _, loaded = exported(notebook["net"])
    served = loaded.signatures["net"](zeta=tf.constant([[3.0, 4.0]]), age=tf.constant([[1.0, 1.0]]))
    assert served["output_0"].numpy().tolist() == [[2.0, 3.0]]


def test_after_fit_a_session_exports_what_the_user_has_made(exported, notebook) -> None:
    notebook["net"] = net = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    net.compile("sgd", "mse")
    net.fit(tf.ones([4, 3]), tf.ones([4, 2]), verbose=0)
    _, loaded = exported(None)
    assert list(loaded.signatures) == ["net"]
    notebook["serve"] = serve = nbfn.function(lambda x: net(x) * 2.0)
    serve(tf.ones([1, 3]))
    _, loaded = exported(None)
    assert list(loaded.signatures) == ["serve"]


def test_a_keras_model_that_names_no_inputs(exported, notebook) -> None:
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, x, training=False):
            return self.dense(x)

    notebook["own"] = Own()
    with raises(ExportError):
        exported(notebook["own"])
    made, _ = exported(notebook["own"], signatures={"serve": [tf.TensorSpec([None, 3])]})
    assert list(made.signatures) == ["serve"]


def test_a_bound_module(exported, notebook) -> None:
    net = Net()
    notebook["net"] = net = net.bind(net.init(nn.key(0), tf.zeros([1, 2])))
    with raises(ExportError):
        exported(net)
    net.score(tf.zeros([2, 2]))
    made, loaded = exported(net)
    assert list(made.signatures) == ["net_score"]
    assert loaded.net_score(tf.zeros([2, 2])).shape == [2, 3]
    made, _ = exported(net, signatures={"call": tf.TensorSpec([None, 2])})
    assert made.signatures["call"].startswith("(x: float32[None, 2])")


def test_structures_of_all_sorts(exported, notebook) -> None:
    @nbfn.function
    def f(values, pair, *, scale, k=3, missing=None):
        total = values["b"] + pair.first * scale + k
        return {"total": total, "parts": [values["a"], None, 3], "pair": pair}

    f({"b": number(1.0), "a": number(2.0)}, Pair(number(3.0), number(4.0)), scale=number(7.0))
    made, loaded = exported(f)
    assert list(made.signatures) == ["f"]
    served = loaded.signatures["f"](
        values_a=number(2.0),
        values_b=number(1.0),
        pair_first=number(3.0),
        pair_second=number(4.0),
        scale=number(7.0),
    )
    assert {name: float(value) for name, value in served.items()} == {
        "total": 25.0,
        "parts_0": 2.0,
        "parts_2": 3.0,
        "pair_first": 3.0,
        "pair_second": 4.0,
    }


def test_ragged_and_sparse_tensors_by_their_parts(exported, notebook) -> None:
    f = nbfn.function(lambda r, s: {"twice": r * 2.0, "some": tf.sparse.map_values(tf.abs, s)})
    f(tf.ragged.constant([[1.0], [2.0, 3.0]]), tf.sparse.from_dense([[1, 0], [0, -2]]))
    _, loaded = exported(f, signatures={"f": f})
    served = loaded.signatures["f"](
        r_values=number([1.0, 2.0]),
        r_row_splits=number([0, 1, 2], tf.int64),
        s_indices=number([[0, 1], [1, 1]], tf.int64),
        s_values=number([-3, 4]),
        s_dense_shape=number([2, 2], tf.int64),
    )
    assert set(served) == {
        *("twice_values", "twice_row_splits"),
        *("some_indices", "some_values", "some_dense_shape"),
    }
    assert served["twice_values"].numpy().tolist() == [2.0, 4.0]
    assert served["some_values"].numpy().tolist() == [3, 4]


def test_an_extension_type_by_its_fields(exported, notebook) -> None:
    notebook["f"] = f = nbfn.function(lambda s, x: Scaled(s.value * s.factor + x, s.factor, s.rows))
    f(Scaled(number(9.0), 4, tf.ragged.constant([[1], [2, 3]])), number(1.0))
    made, loaded = exported(f)
    assert "it takes a value of type Scaled" in made.left_out[0]
    served = loaded.signatures["f"](
        s_value=number(2.0),
        s_rows_values=number([1, 2, 3]),
        s_rows_row_splits=number([0, 1, 3], tf.int64),
        x=number(1.0),
    )
    assert served["output_0_value"].numpy() == 9.0


def test_preprocessing_with_a_vocabulary_file(exported, notebook, tmp_path) -> None:
    (tmp_path / "words.txt").write_text("the\ncat\n")
    notebook["words"] = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            str(tmp_path / "words.txt"),
            *(tf.string, tf.lookup.TextFileIndex.WHOLE_LINE),
            *(tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER),
        ),
        -1,
    )
    encode = nbfn.function(
        lambda text: notebook["words"].lookup(tf.strings.split(text).to_tensor())
    )
    list(tf.data.Dataset.from_tensors(["the cat", "sat"]).map(encode))
    notebook["encode"] = encode
    _, loaded = exported(encode)
    (tmp_path / "words.txt").unlink()
    served = loaded.signatures["encode"](text=number(["cat the", "dog"]))["output_0"]
    assert served.numpy().tolist() == [[1, 0], [-1, -1]]


def test_half_precision_and_names_with_underscores(exported, notebook) -> None:
    f = nbfn.function(lambda self_, X: self_ + X)  # noqa: N803
    f(tf.ones([2], tf.bfloat16), tf.ones([2], tf.bfloat16))
    made, _ = exported(f, signatures={"f": f})
    assert made.signatures["f"].startswith("(X: bfloat16[2], self_: bfloat16[2])")


def test_names_that_tensorflow_does_not_take(exported, notebook, tmp_path) -> None:
    @nbfn.function
    def größe(breite, höhe, β):
        return {"fläche": breite * höhe, "z": β}

    größe(number(2.0), number(3.0), number(1.0))
    made, loaded = exported(größe)
    assert made.signatures["größe"].startswith("(breite: float32[], h_he: float32[], value: ")
    served = loaded.signatures["größe"](breite=number(5.0), h_he=number(2.0), value=number(0.0))
    assert {name: float(value) for name, value in served.items()} == {"fl_che": 10.0, "z": 0.0}
    session = nbfn.load(made.path)
    assert float(session["größe"](number(5.0), number(2.0), number(0.0))["fläche"]) == 10.0


@pytest.mark.parametrize("name", ["<lambda>", "_step"])
def test_functions_without_a_public_name_are_loaded(notebook, tmp_path, name: str) -> None:
    f = nbfn.function(lambda x: x * 2.0)
    f.python_function.__name__ = f.recorder.name = name
    f(number(2.0))
    nbfn.export(tmp_path / "m", f)
    (loaded,) = nbfn.load(tmp_path / "m").functions.values()
    assert loaded.name == name.strip("<>_")
    assert float(loaded(number(3.0))) == 6.0


def test_variables_that_a_function_makes(exported, notebook) -> None:
    held = []

    @nbfn.function
    def count(x):
        if not held:
            held.append(tf.Variable(3.0))
        held[0].assign_add(1.0)
        return x * held[0]

    count(number(1.0))
    _, loaded = exported(count)
    assert loaded.count(number(2.0)).numpy() == 10.0
    assert held[0].numpy() == 4.0


def dataset_argument(x):
    f = nbfn.function(lambda data: data.reduce(x, lambda a, b: a + b))
    f(tf.data.Dataset.range(3))
    return f


def captured_dataset(x):
    data = tf.data.Dataset.range(3)
    f = nbfn.function(lambda x: data.reduce(x, lambda a, b: a + b))
    f(x)
    f.data = data
    return f


def iterator_argument(x):
    f = nbfn.function(lambda batches: next(batches))
    f(iter(tf.data.Dataset.from_tensors(x)))
    return f


def python_at_run_time(x):
    f = nbfn.function(lambda x: tf.py_function(lambda a: a + 1, [x], tf.int64))
    f(x)
    return f


def variable_argument(x):
    f = nbfn.function(lambda v, x: v + x)
    f(tf.Variable(x), x)
    return f


def object_that_is_gone(x):
    f = nbfn.function(lambda o, x: x + o.n)
    f(type("Options", (), {"n": 3})(), x)
    return f


def concrete_function(x):
    return tf.function(lambda x: x).get_concrete_function(x)


def returned_dataset(x):
    f = nbfn.function(tf.data.Dataset.from_tensors)
    f(x)
    return f


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(dataset_argument, id="dataset argument"),
        pytest.param(iterator_argument, id="iterator argument"),
        pytest.param(captured_dataset, id="captured dataset"),
        pytest.param(python_at_run_time, id="Python"),
        pytest.param(variable_argument, id="variable argument"),
        pytest.param(object_that_is_gone, id="object that is gone"),
        pytest.param(returned_dataset, id="returned dataset"),
        pytest.param(lambda _: 3, id="number"),
        pytest.param(
            lambda _: tf.function(lambda x: x).get_concrete_function(3), id="concrete function"
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
def test_what_has_no_form_is_refused_at_once(notebook, tmp_path, make) -> None:
    made = make(number(1, tf.int64))
    if isinstance(made, nbfn.TracedFunction):
        assert any(each.is_fatal for each in nbfn.preflight(made))
    with raises(ExportError):
        nbfn.export(tmp_path / "model", made)
    assert list(tmp_path.iterdir()) == []


def test_the_path_comes_first(notebook, tmp_path) -> None:
    with raises(ExportError):
        nbfn.export(nbfn.function(lambda x: x), tmp_path / "model")


def test_preflight_says_it_all_beforehand(notebook, monkeypatch) -> None:
    notebook["python"] = python_at_run_time(number(1, tf.int64))
    notebook["never"] = nbfn.function(lambda x: x)
    notebook["noise"] = nbfn.function(lambda x: x + tf.random.normal([]))
    notebook["noise"](1.0)
    notebook["large"] = nbfn.function(lambda x: x + tf.constant(np.arange(2_600_000.0)))
    with warns(nbfn.NbfnWarning):
        notebook["large"](number(1.0, tf.float64))
    notebook["there"] = nbfn.function(on_gpu)
    with pytest.warns(nbfn.NbfnWarning, match="GPU:0"):  # it lists the devices of the machine
        notebook["there"](number(1.0))
    found = nbfn.preflight()
    said = {each.function: (each.is_fatal, each.what.split("(")[0].strip()) for each in found}
    assert said == {
        "python": (True, "calls Python while it runs"),
        "noise": (False, "draws random numbers from hidden state"),
        "large": (False, "holds a constant of 21 MB"),
        "there": (False, "places operations on /device:GPU:0"),
    }
    assert found[0].is_fatal
    assert "1 obstacle, 3 remarks" in repr(found)
    (never,) = nbfn.preflight(notebook["never"])
    assert "call it once" in never.remedy
    assert not nbfn.preflight(nbfn.function(lambda x: x, input_signature=[tf.TensorSpec([])]))


def test_preflight_notes_what_no_call_has_read_again(notebook) -> None:
    settings = {"rate": 2.0}
    f = notebook["f"] = nbfn.function(lambda x: x * settings["rate"])
    f(number(1.0))
    settings["rate"] = 5.0
    (note,) = nbfn.preflight(f)
    assert "changed since" in note.what
    f(number(1.0))
    assert not nbfn.preflight(f)


def on_gpu(x):
    with tf.device("GPU:0"):
        return x + 1
