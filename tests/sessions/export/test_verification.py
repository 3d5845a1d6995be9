"""A verification finds whatever is not as in the notebook, and says what it has compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.export.inputs import inputs_of
from nbfn.sessions.export.verifier import VerificationError
from tests.harness.messages import raises

saved_model_pb2 = pytest.importorskip("tensorflow.core.protobuf.saved_model_pb2")

Tamper = Callable[[Path], None]


@pytest.fixture
def model(notebook, tmp_path) -> Any:
    """A function with a variable, constants, a vocabulary file, and a table that changes."""
    words = tmp_path / "words.txt"
    words.write_text("the\ncat\nsat\n")
    notebook["weight"] = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    notebook["ids"] = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            str(words), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, -1
        ),
        num_oov_buckets=1,
    )
    notebook["seen"] = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    notebook["seen"].insert([1, 2], [10, 20])
    choices = tf.constant([5.0, 6.0, 7.0, 8.0])

    @nbfn.function
    def predict(text, k=0):
        ids = notebook["ids"].lookup(text)
        known = notebook["seen"].lookup(ids)
        return tf.cast(known, tf.float32)[:, None] @ notebook["weight"][:1] + choices[3] * (k + 1)

    predict(tf.constant(["cat", "dog"]))
    predict(tf.constant(["cat", "dog"]), 2)
    return predict


def edited(edit: Callable[[Any], None]) -> Tamper:
    """Changes the definitions of a SavedModel, and makes its fingerprint fit."""

    def tamper(folder: Path) -> None:
        path = folder / "saved_model.pb"
        proto = saved_model_pb2.SavedModel.FromString(path.read_bytes())
        edit(proto.meta_graphs[0])
        path.write_bytes(proto.SerializeToString())
        fingerprinting = pytest.importorskip(
            "tensorflow.python.saved_model.pywrap_saved_model"
        ).fingerprinting
        definition = fingerprinting.CreateFingerprintDef(str(folder))
        (folder / "fingerprint.pb").write_bytes(definition)

    return tamper


def constants(meta: Any, function: str) -> list[Any]:
    """The float constants of functions whose name has a part."""
    return [
        node.attr["value"].tensor
        for each in meta.graph_def.library.function
        if function in each.signature.name
        for node in each.node_def
        if node.op == "Const" and node.attr["value"].tensor.dtype == tf.float32.as_datatype_enum
    ]


def another_constant(meta: Any) -> None:
    tensor = constants(meta, "inference_predict")[0]
    array = tf.make_ndarray(tensor).copy()
    array.ravel()[-1] += 1
    tensor.CopyFrom(tf.make_tensor_proto(array))


def a_constant_of_the_second_trace(meta: Any) -> None:
    names = sorted(
        each.signature.name
        for each in meta.graph_def.library.function
        if "inference_predict" in each.signature.name
    )
    tensor = constants(meta, names[-1])[-1]
    tensor.CopyFrom(tf.make_tensor_proto(tf.make_ndarray(tensor) + 1))


def another_operation(meta: Any) -> None:
    for each in meta.graph_def.library.function:
        for node in each.node_def:
            if node.op == "AddV2" and "inference_predict" in each.signature.name:
                node.op = "Sub"


def another_vocabulary(folder: Path) -> None:
    (folder / "assets" / "words.txt").write_text("the\ndog\nsat\n")


def tampered(tamper: Tamper, monkeypatch: pytest.MonkeyPatch) -> None:
    save = tf.saved_model.save

    def save_and_tamper(root, folder, signatures):
        save(root, folder, signatures=signatures)
        tamper(Path(folder))

    monkeypatch.setattr(tf.saved_model, "save", save_and_tamper)


def differently(change: Callable[[Any], None], back: Callable[[Any], None]) -> Callable[..., None]:
    def patch(notebook, monkeypatch):
        save = tf.saved_model.save

        def save_something_else(root, folder, signatures):
            change(notebook)
            save(root, folder, signatures=signatures)
            back(notebook)

        monkeypatch.setattr(tf.saved_model, "save", save_something_else)

    return patch


def test_it_says_what_it_compared(model, tmp_path) -> None:
    made = nbfn.export(tmp_path / "model", model)
    assert [each.signature for each in made.verified] == ["predict", "predict_k_2"]
    assert [each.signature for each in made.verified_traces] == [
        "predict (trace 1)",
        "predict (trace 2)",
    ]
    assert {each.status for each in (*made.verified, *made.verified_traces)} == {"equal"}
    assert made.verified[0].detail.startswith("with the inputs of a real call and drawn inputs; ")
    assert made.compared == "2 graphs and 1 asset, 1 variable, 2 tables"


def test_a_trace_made_before_the_first_call_keeps_its_inputs() -> None:
    double = nbfn.function(lambda x: 2 * x)
    double.get_concrete_function(tf.TensorSpec([3]))
    assert double.traces[0].sample is None
    double(tf.constant([1.0, 2.0, 5.0]))
    double(tf.zeros([3]))
    (kept,) = double.traces[0].sample
    assert kept.tolist() == [1.0, 2.0, 5.0]


def test_a_function_made_elsewhere_is_verified_with_the_inputs_of_a_call(tmp_path) -> None:
    plain = tf.function(lambda x, k=2: x * k)
    observed = nbfn.watch(plain)
    plain(tf.constant([3.0, 7.0]))
    plain(tf.constant([3.0, 8.0]), k=3)
    assert [each.sample[0].tolist() for each in observed.traces] == [[3.0, 7.0], [3.0, 8.0]]
    made = nbfn.export(tmp_path / "model", plain)
    assert {each.detail.split(" and ")[0] for each in made.verified} == {
        "with the inputs of a real call"
    }


def test_a_trace_made_for_the_export_is_verified_with_inputs_of_real_calls(tmp_path) -> None:
    @nbfn.function
    def double(x):
        return 2 * x

    double(tf.ones([4]))
    double(tf.ones([7]))
    made = nbfn.export(tmp_path / "model", double)
    assert made.signatures["double"].startswith("(x: float32[None])")
    assert made.verified[0].detail.startswith(
        "with the inputs of a real call and drawn inputs of sizes 2, 1, 3; largest difference 0"
    )


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (edited(another_constant), "`mul/y`"),
        (edited(a_constant_of_the_second_trace), "`mul/y`"),
        (edited(another_operation), "`.*Lookup/Add`"),
        (another_vocabulary, "`words.txt`"),
    ],
)
def test_a_file_that_was_changed(model, tmp_path, monkeypatch, tamper, named) -> None:
    tampered(tamper, monkeypatch)
    with pytest.raises(VerificationError, match=named):
        nbfn.export(tmp_path / "model", model)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["weight", "seen"])
def test_a_value_that_was_changed(model, notebook, tmp_path, monkeypatch, name) -> None:
    more = tf.constant([99], tf.int64)
    changes = {
        "weight": lambda notebook: notebook["weight"][1, 1].assign(9.0),  # no output depends on it
        "seen": lambda notebook: notebook["seen"].insert(
            tf.constant([99], tf.int64), tf.constant([99], tf.int64)
        ),
    }
    back = {
        "weight": lambda notebook: notebook["weight"][1, 1].assign(4.0),
        "seen": lambda notebook: notebook["seen"].remove(more),
    }
    differently(changes[name], back[name])(notebook, monkeypatch)
    with raises(VerificationError):
        nbfn.export(tmp_path / "model", model)


@pytest.mark.parametrize("file", ["saved_model.pb", "variables/variables.index", "data", "assets"])
def test_a_bit_of_a_file(model, tmp_path, monkeypatch, file) -> None:
    chosen = random.Random(file)

    def flip(folder: Path) -> None:
        paths = {
            "data": folder / "variables" / "variables.data-00000-of-00001",
            "assets": folder / "assets" / "words.txt",
        }
        path = paths.get(file, folder / file)
        content = bytearray(path.read_bytes())
        content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
        path.write_bytes(content)

    tampered(flip, monkeypatch)
    for _ in range(3):
        with pytest.raises(VerificationError):
            nbfn.export(tmp_path / "model", model)
    assert not (tmp_path / "model").exists()


def test_random_operations_do_not_hide_a_variable(notebook, tmp_path, monkeypatch) -> None:
    notebook["weight"] = tf.Variable([1.0])
    f = nbfn.function(lambda x: x * notebook["weight"] + tf.random.uniform([1]))
    f(tf.ones([1]))
    differently(
        lambda notebook: notebook["weight"].assign([2.0]),
        lambda notebook: notebook["weight"].assign([1.0]),
    )(notebook, monkeypatch)
    with raises(VerificationError):
        nbfn.export(tmp_path / "model", f)


def test_inputs_of_the_real_call_are_copied_and_never_written(notebook, tmp_path) -> None:
    secret = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)
    f = nbfn.function(tf.linalg.cholesky)
    f(secret)
    secret[:] = 0.0
    (sample,) = f.traces[0].sample
    assert sample.tolist() == [[4.0, 1.0], [1.0, 3.0]]
    (result,) = nbfn.export(tmp_path / "model", f).verified
    assert result.status == "equal"
    written = b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert sample.tobytes() not in written


def test_no_large_input_is_kept() -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.zeros([300_000]))
    f(np.zeros([250_001], np.float32))
    f(tf.zeros([250_000]))
    assert [trace.sample is not None for trace in f.traces] == [False, False, True]


def test_the_largest_integers_are_drawn() -> None:
    for dtype, value in ((np.uint64, 2**64 - 1), (np.int64, 2**63 - 1), (np.uint8, 255)):
        sample = np.array([value], dtype)
        drawn = inputs_of([tf.TensorSpec([1], dtype)], (sample,))["drawn inputs"]
        np.testing.assert_array_equal(drawn[0], sample, strict=True)


def test_integers_and_strings_are_drawn_from_what_was_seen(notebook, tmp_path) -> None:
    seen: list[Any] = []

    @nbfn.function(
        input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.string)]
    )
    def f(numbers, words):
        tf.debugging.assert_greater_equal(numbers, 100)
        tf.debugging.assert_less_equal(numbers, 200)
        seen.append(words)
        return numbers, words

    f(tf.constant([100, 200]), tf.constant(["a", "b"]))
    (result,) = nbfn.export(tmp_path / "model", f).verified
    assert "sizes 2, 1, 3" in result.detail
    assert "not with" not in result.detail
