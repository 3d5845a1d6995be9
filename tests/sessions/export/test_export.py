"""An export is verified, atomic, and refuses what it cannot do."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.export import export as export_module
from nbfn.sessions.export.export import ExportError
from nbfn.sessions.export.place import RECORD
from nbfn.sessions.export.verification import VerificationError
from tests.harness.messages import raises


@pytest.fixture
def predict(notebook):
    weight = tf.Variable(tf.random.stateless_normal([3, 2], seed=[1, 2]))
    notebook["predict"] = nbfn.function(lambda x: {"scores": x @ weight})
    notebook["predict"](tf.ones([4, 3]))
    notebook["predict"](tf.ones([5, 3]))
    notebook["predict"].relax()
    notebook["weight"] = weight
    return notebook["predict"]


def test_the_loaded_model_computes_the_same_and_its_record_says_what_it_is(
    predict, tmp_path
) -> None:
    written = nbfn.export(tmp_path / "model")
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    x = tf.random.stateless_normal([7, 3], seed=[3, 4])
    np.testing.assert_allclose(
        loaded.signatures["predict"](x=x)["scores"], predict(x)["scores"], rtol=1e-6
    )
    np.testing.assert_allclose(loaded.predict(x)["scores"], predict(x)["scores"], rtol=1e-6)
    assert written.signatures == {"predict": "(x: float32[None, 3]) -> (scores: float32[None, 2])"}
    assert written.variables == ("weight",)
    assert [(each.signature, each.status) for each in written.verified] == [("predict", "equal")]
    assert written.nbytes > 0
    record = json.loads((tmp_path / "model" / RECORD).read_text())
    assert record["tensorflow"] == tf.__version__
    assert record["variables"] == ["weight"]
    assert record["verification"][0]["status"] == "equal"
    assert record["functions"]["predict"]["parameters"] == "(x)"


def test_exporting_runs_no_python_of_the_users_and_leaves_the_traces(notebook, tmp_path) -> None:
    ran = []
    notebook["f"] = nbfn.function(lambda x: ran.append(1) or x + 1)
    notebook["f"](tf.ones([2]))
    before = repr(notebook["f"]), notebook["f"].traces
    nbfn.export(tmp_path / "model", verify=False)
    assert ran == [1]
    assert (repr(notebook["f"]), notebook["f"].traces) == before


def test_a_training_step_is_verified_and_changes_no_variable(notebook, tmp_path) -> None:
    weight = tf.Variable([1.0, 2.0])

    @nbfn.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weight * x)
        weight.assign_sub(tape.gradient(loss, weight))
        return loss

    train_step(tf.ones([2]))
    before = weight.numpy()
    written = nbfn.export(tmp_path / "model", train_step)
    assert written.verified[0].status == "equal"
    np.testing.assert_array_equal(weight.numpy(), before)
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.nbfn_variables[0].numpy(), before)


def test_a_table_that_no_name_leads_to_is_refused(notebook, tmp_path) -> None:
    def make():
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [5]), 0)
        return table.lookup, table

    lookup, table = make()
    holder = iter([table])
    f = nbfn.function(lambda words, look=lambda w: lookup(w): look(words))
    f(tf.constant(["a"]))
    del table
    with raises(ExportError):
        nbfn.export(tmp_path / "model", f)
    assert list(tmp_path.iterdir()) == []
    del holder


def test_random_numbers_are_compared_by_shape(notebook, tmp_path) -> None:
    f = nbfn.function(lambda x: x + tf.random.uniform([2]))
    f(tf.ones([2]))
    (result,) = nbfn.export(tmp_path / "model", f).verified
    assert result.status == "shapes"
    assert "RandomUniform" in result.detail


def test_inputs_that_do_not_suit_are_said_to_be_skipped(notebook, tmp_path) -> None:
    @nbfn.function
    def f(x):
        tf.debugging.assert_greater(x, 10)
        return x

    f(tf.constant([11]))
    (result,) = nbfn.export(tmp_path / "model", f).verified
    assert result.status == "equal"
    assert "not with drawn inputs, which do not suit it" not in result.detail
    never_called = nbfn.function(f.python_function, input_signature=[tf.TensorSpec([], tf.int32)])
    (result,) = nbfn.export(tmp_path / "other", never_called).verified
    assert result.status == "skipped"
    assert "do not suit it: assertion failed: " in result.detail
    with raises(VerificationError):
        nbfn.export(tmp_path / "strict", never_called, strict=True)
    assert not (tmp_path / "strict").exists()


def test_a_table_that_changes_is_compared_and_is_as_before(notebook, tmp_path) -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)

    @nbfn.function
    def insert(keys):
        table.insert(keys, tf.ones_like(keys, tf.int64))

    insert(tf.constant(["mine"]))
    notebook["table"] = table
    (result,) = nbfn.export(tmp_path / "model", insert).verified
    assert result.status == "equal"
    assert table.export()[0].numpy().tolist() == [b"mine"]


def test_a_function_named_signatures(notebook, tmp_path) -> None:
    @nbfn.function
    def signatures(x):
        return x

    signatures(tf.constant(1))
    nbfn.export(tmp_path / "model", signatures, verify=False)
    assert "signatures" in tf.saved_model.load(str(tmp_path / "model")).signatures


def test_strings_and_half_precision(notebook, tmp_path) -> None:
    f = nbfn.function(lambda s, h: (tf.strings.upper(s), h * 2, tf.cast(h, tf.bfloat16)))
    f(tf.constant(["ä"]), tf.ones([3], tf.float16))
    assert nbfn.export(tmp_path / "model", f).verified[0].status == "equal"


def test_a_single_text_is_an_input_an_output_and_a_variable(notebook, tmp_path) -> None:
    seen = notebook["seen"] = tf.Variable("")

    @nbfn.function
    def shout(text):
        seen.assign(tf.strings.join([text, "\0"]))
        return tf.strings.upper(text)

    shout(tf.constant("a"))
    assert nbfn.export(tmp_path / "model", shout).verified[0].status == "equal"


def test_an_input_signature_is_enough(notebook, tmp_path) -> None:
    f = nbfn.function(lambda x: x * 2, input_signature=[tf.TensorSpec([None], name="x")])
    written = nbfn.export(tmp_path / "model", f, verify=False)
    assert list(written.signatures.values()) == ["(x: float32[None]) -> (output_0: float32[None])"]


# Bad input ---------------------------------------------------------------------------------


def test_nothing_to_export(notebook, tmp_path) -> None:
    notebook["f"] = nbfn.function(lambda x: x)
    with raises(ExportError):
        nbfn.export(tmp_path / "model")
    with raises(ExportError):
        nbfn.export(tmp_path / "model", [])
    with raises(ExportError):
        nbfn.export(tmp_path / "model", notebook["f"])
    with raises(ExportError):
        nbfn.export(tmp_path / "model", ["f"])
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_differs_is_not_written(predict, tmp_path, monkeypatch) -> None:
    path = tmp_path / "model"
    nbfn.export(path, verify=False)
    before = (path / RECORD).read_text()
    save = tf.saved_model.save

    def save_something_else(root, folder, signatures):
        root.nbfn_variables[0].assign_add(tf.ones([3, 2]))
        save(root, folder, signatures=signatures)
        root.nbfn_variables[0].assign_sub(tf.ones([3, 2]))

    monkeypatch.setattr(export_module.tf.saved_model, "save", save_something_else)
    with raises(VerificationError):
        nbfn.export(path, overwrite=True)
    assert (path / RECORD).read_text() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_what_has_changed_since_the_trace_is_exported_as_it_is_now(notebook, tmp_path) -> None:
    notebook["rate"] = 2.0
    exec("def scaled(x): return x * rate", notebook)
    notebook["scaled"] = nbfn.function(notebook["scaled"], autograph=False)
    notebook["scaled"](tf.ones([2]))
    notebook["scaled"](tf.ones([3]))
    notebook["rate"] = 3.0
    nbfn.export(tmp_path / "model", notebook["scaled"], verify=False)
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert loaded.scaled(tf.ones([2])).numpy().tolist() == [3.0, 3.0]
    assert loaded.scaled(tf.ones([3])).numpy().tolist() == [3.0, 3.0, 3.0]
    assert [t.cause.code for t in notebook["scaled"].traces] == ["stale", "stale", "export"]


def test_a_function_that_draws_from_a_generator_is_verified(notebook, tmp_path) -> None:
    generator = tf.random.Generator.from_seed(1)
    notebook["draw"] = nbfn.function(lambda x: x + generator.normal([3]))
    notebook["draw"](tf.ones(3))
    before = generator.state.numpy().tolist()
    written = nbfn.export(tmp_path / "model")
    assert [each.status for each in written.verified] == ["equal"]
    assert generator.state.numpy().tolist() == before


def test_the_verification_leaves_a_dense_table_as_it_was(notebook, tmp_path) -> None:
    table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, default_value=-1, empty_key=-2, deleted_key=-3
    )
    keys = tf.constant([1, 2, 3], tf.int64)
    table.insert(keys, keys * 10)

    @nbfn.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def add(k):
        table.insert(k + 50, k * 10)
        return table.lookup(k)

    notebook["add"] = add
    assert [each.status for each in nbfn.export(tmp_path / "model").verified] == ["equal"]
    assert table.size() == 3
    assert table.lookup(keys).numpy().tolist() == [10, 20, 30]


def test_names_keep_their_underscores_and_are_found_after_loading(notebook, tmp_path) -> None:
    class Module(tf.Module):
        @nbfn.function
        def __call__(self, x):
            return x + 2

        @nbfn.function(input_signature=[tf.TensorSpec([None])])
        def third(self, x):
            return x

    notebook["f_"] = nbfn.function(lambda x: x)
    notebook["net"] = Module()
    notebook["f_"](tf.ones(2))
    notebook["net"](tf.ones(2))
    chosen = [notebook["f_"], notebook["net"]]
    written = nbfn.export(tmp_path / "model", chosen)
    assert list(written.signatures) == ["f_", "net___call__", "net_third"]
    notebook["net"].third(tf.ones(2))  # a trace does not change the name
    again = nbfn.export(tmp_path / "model", chosen, overwrite=True)
    assert list(again.signatures) == list(written.signatures)
    loaded = nbfn.load(tmp_path / "model")
    assert set(loaded.functions) == {"f_", "net.__call__", "net.third"}
    assert loaded["net.__call__"](tf.ones(2)).numpy().tolist() == [3, 3]


def test_functions_whose_names_differ_in_a_dot_are_both_saved(notebook, tmp_path) -> None:
    class Module(tf.Module):
        @nbfn.function
        def predict(self, x):
            return x + 1

    notebook["a"] = Module()
    notebook["a_predict"] = nbfn.function(lambda x: x + 100)
    notebook["a"].predict(tf.ones(2))
    notebook["a_predict"](tf.ones(2))
    both = {"one": notebook["a"].predict, "two": notebook["a_predict"]}
    nbfn.export(tmp_path / "model", list(both.values()), signatures=both)
    loaded = nbfn.load(tmp_path / "model")
    assert loaded["a.predict"](tf.ones(2)).numpy().tolist() == [2, 2]
    assert loaded["a_predict"](tf.ones(2)).numpy().tolist() == [101, 101]


def test_a_second_name_exports_nothing_twice(predict, notebook, tmp_path) -> None:
    notebook["another"] = predict
    assert list(nbfn.export(tmp_path / "model").signatures) == ["predict"]


def test_another_file_system_is_refused(predict) -> None:
    with raises(ExportError):
        nbfn.export("gs://bucket/model", predict)


def test_parameters_that_differ_in_case_are_inputs_of_their_own(notebook, tmp_path) -> None:
    notebook["solve"] = nbfn.function(lambda X, x: X - x)  # noqa: N803
    notebook["solve"](tf.constant(3.0), tf.constant(1.0))
    written = nbfn.export(tmp_path / "model")
    assert written.signatures == {
        "solve": "(X: float32[], x_2: float32[]) -> (output_0: float32[])"
    }
    assert nbfn.load(tmp_path / "model").functions["solve"](5.0, 1.0).numpy() == 4


def test_a_dict_with_numbers_as_keys_leaves_the_signature(notebook, tmp_path) -> None:
    notebook["add"] = nbfn.function(lambda d: {3: d[1] + d[2]})
    notebook["add"]({1: tf.constant(1.0), 2: tf.constant(2.0)})
    written = nbfn.export(tmp_path / "model")
    assert written.verified[0].status == "equal"
    assert "keys are not strings" in written.left_out[0]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"signatures": ["serve"]}, id="signatures"),
        pytest.param({"time_limit": "1"}, id="time_limit"),
        pytest.param({"keep_process": "60"}, id="keep_process"),
    ],
)
def test_options_of_another_kind_are_refused(predict, tmp_path, options) -> None:
    with raises(ExportError):
        nbfn.export(tmp_path / "model", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: tf.random.uniform_candidate_sampler([[1]], 1, 5, False, 100)[0],
        lambda x: tf.random.log_uniform_candidate_sampler([[1]], 1, 5, False, 100)[0],
        lambda x: tf.nn.fractional_max_pool(x, [1.0, 1.5, 1.5, 1.0], True)[0],
        lambda x: tf.image.sample_distorted_bounding_box([9, 9, 3], [[[0.0, 0, 1, 1]]])[0],
    ],
)
def test_operations_that_draw_are_known(notebook, tmp_path, draw) -> None:
    f = nbfn.function(draw)
    f(tf.random.normal([1, 9, 9, 1]))
    assert nbfn.export(tmp_path / "model", f).verified[0].status == "shapes"
