"""Nothing is baked into a SavedModel silently: Python values are names, sizes that varied open."""

from __future__ import annotations

import linecache

import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.export.resources import ExportError
from tests.harness.messages import raises, warns


def run(notebook, code: str) -> None:
    notebook.update(tf=tf, nbfn=nbfn)
    exec(code, notebook)


def exported(function, path) -> dict[str, str]:
    made = nbfn.export(path / "model", function, verify=False)
    loaded = tf.saved_model.load(str(path / "model"))
    assert set(loaded.signatures) == set(made.signatures)
    return dict(made.signatures)


def test_python_values_are_signatures_of_their_own(notebook, tmp_path) -> None:
    run(
        notebook,
        "@nbfn.function\ndef train(x, step=1, mode='pos'):\n"
        "    return x * float(step) if mode == 'pos' else -x\n"
        "train(tf.ones([2])); train(tf.ones([2]), 5); train(tf.ones([2]), -3, 'neg')",
    )
    found = exported(notebook["train"], tmp_path)
    assert list(found) == ["train", "train_step_5", "train_step_minus_3_mode_neg"]
    loaded = tf.saved_model.load(str(tmp_path / "model")).signatures
    x = tf.constant([1.0, 2.0])
    assert loaded["train"](x=x)["output_0"].numpy().tolist() == [1.0, 2.0]
    assert loaded["train_step_5"](x=x)["output_0"].numpy().tolist() == [5.0, 10.0]
    negative = loaded["train_step_minus_3_mode_neg"]
    assert negative(x=x)["output_0"].numpy().tolist() == [-1.0, -2.0]


def test_sizes_that_varied_are_open_and_the_others_reported(notebook, tmp_path) -> None:
    run(
        notebook,
        "@nbfn.function\ndef f(x, w): return x @ w\n"
        "[f(tf.ones([n, 8]), tf.ones([8, 2])) for n in (32, 32, 5)]",
    )
    f = notebook["f"]
    made = nbfn.export(tmp_path / "model", f, verify=False)
    assert made.signatures["f"].startswith("(x: float32[None, 8], w: float32[8, 2]) ->")
    assert made.fixed == ("`w` of `f` is always [8, 2]",)
    assert "fixed size: `w` of `f` is always [8, 2]" in repr(made)
    served = tf.saved_model.load(str(tmp_path / "model")).signatures["f"]
    assert served(x=tf.ones([1, 8]), w=tf.ones([8, 2]))["output_0"].shape == (1, 2)


def test_sizes_that_the_code_needs_are_reported_with_what_to_write(notebook, tmp_path) -> None:
    code = (
        "@nbfn.function\ndef flat(x):\n"
        "    return tf.reshape(x, [x.shape[0], -1]) * x.shape[-1] / len(x)\n"
        "values = [flat(tf.ones([n, 2, 2])) for n in (4, 6)]"
    )
    linecache.cache["a_cell"] = (len(code), None, code.splitlines(keepends=True), "a_cell")
    notebook.update(tf=tf, nbfn=nbfn)
    exec(compile(code, "a_cell", "exec"), notebook)
    (problem,) = nbfn.preflight(notebook["flat"])
    reported = (
        "Write tf.shape(x)[0] in place of `x.shape[0]` and tf.cast(tf.shape(x)[0], x.dtype) in "
        "place of `len(x)`, which is not known while the function is traced"
    )
    assert problem.remedy == reported
    with warns(nbfn.NbfnWarning):
        made = nbfn.export(tmp_path / "fixed", notebook["flat"], verify=False)
    assert len(made.signatures) == 2
    assert made.fixed == ()  # calls did vary
    for new, old in (
        ("tf.shape(x)[0]", "x.shape[0]"),
        ("tf.cast(tf.shape(x)[0], x.dtype)", "len(x)"),
    ):
        code = code.replace(old, new)
    values = notebook["values"]
    exec(compile(code, "another_cell", "exec"), notebook)
    assert nbfn.preflight(notebook["flat"]) == ()
    made = nbfn.export(tmp_path / "open", notebook["flat"], verify=False)
    assert list(made.signatures) == ["flat"]
    served = tf.saved_model.load(str(tmp_path / "open")).signatures["flat"]
    assert (served(x=tf.ones([4, 2, 2]))["output_0"] == values[0]).numpy().all()
    assert served(x=tf.ones([1, 2, 2]))["output_0"].shape == [1, 4]


def test_a_trace_that_serves_all_sizes_is_taken_and_no_python_runs(notebook, tmp_path) -> None:
    run(notebook, "ran = []\n@nbfn.function\ndef f(x):\n    ran.append(1)\n    return x + 1\n")
    f, ran = notebook["f"], notebook["ran"]
    f(tf.ones([2]))
    f.graph_function(tf.TensorSpec([None], tf.float32))
    f(tf.ones([3, 3]))
    before = len(ran)
    found = exported(f, tmp_path)
    assert list(found) == ["f_x_float32_None", "f_x_float32_3_3"]
    assert len(ran) == before


def test_code_that_needs_its_sizes_has_a_signature_for_each(notebook, tmp_path) -> None:
    run(
        notebook,
        "@nbfn.function\ndef f(x): return tf.reshape(x, [x.shape[0], -1])\n"
        "f(tf.ones([2, 3])); f(tf.ones([4, 3]))",
    )
    f = notebook["f"]
    with pytest.warns(nbfn.NbfnWarning, match="Failed to convert"):
        assert list(exported(f, tmp_path)) == ["f_x_float32_2_3", "f_x_float32_4_3"]


def test_dtypes_are_signatures_of_their_own(notebook, tmp_path) -> None:
    run(
        notebook,
        "@nbfn.function\ndef f(x): return x + x\nf(tf.ones([3])); f(tf.ones([2], tf.int32))",
    )
    assert list(exported(notebook["f"], tmp_path)) == ["f_x_float32", "f_x_int32"]


def test_a_model_without_inputs_is_refused_unless_asked_for(notebook, tmp_path) -> None:
    run(
        notebook,
        "@nbfn.function\ndef total(xs): return tf.add_n(list(map(tf.constant, xs)))\n"
        "total([1., 2., 3.])",
    )
    total = notebook["total"]
    with raises(ExportError):
        nbfn.export(tmp_path / "model", total, verify=False)
    assert not (tmp_path / "model").exists()
    asked = {"total": total.traces[-1]}
    made = nbfn.export(tmp_path / "model", total, signatures=asked, verify=False)
    assert list(made.signatures) == ["total"]


def test_a_trace_without_inputs_beside_others_is_left_out_and_reported(notebook, tmp_path) -> None:
    run(notebook, "@nbfn.function\ndef total(xs): return tf.reduce_sum(tf.convert_to_tensor(xs))")
    run(notebook, "total([1., 2.]); total(tf.constant([1., 2.]))")
    with warns(nbfn.NbfnWarning):
        found = exported(notebook["total"], tmp_path)
    assert list(found) == ["total"]


@pytest.mark.parametrize("name", ["", 3])
def test_a_signature_has_a_name(notebook, tmp_path, name) -> None:
    f = nbfn.function(lambda x: x * 2.0)
    with raises(ExportError):
        nbfn.export(tmp_path / "model", signatures={name: f})


def test_two_signatures_of_one_name_are_refused(notebook, tmp_path) -> None:
    run(notebook, "@nbfn.function\ndef f(x, n=1): return x\n@nbfn.function\ndef f_n_2(x): return x")
    run(notebook, "f(tf.ones([1])); f(tf.ones([1]), 2); f_n_2(tf.ones([1]))")
    with raises(ExportError):
        nbfn.export(tmp_path / "model", notebook["f"], notebook["f_n_2"], verify=False)


def test_a_function_without_parameters_needs_no_input(notebook, tmp_path) -> None:
    run(notebook, "@nbfn.function\ndef version(): return tf.constant(3)\nversion()")
    assert list(exported(notebook["version"], tmp_path)) == ["version"]


def test_one_function_and_several_without_a_list(notebook, tmp_path) -> None:
    run(
        notebook, "f = nbfn.function(lambda x: x)\ng = nbfn.function(lambda x: x)\nx = tf.ones([2])"
    )
    run(notebook, "f(x); g(x)")
    f, g = (notebook[name] for name in "fg")
    assert list(nbfn.export(tmp_path / "a", f, g, verify=False).signatures) == ["f", "g"]
    with raises(ExportError):
        nbfn.export(tmp_path / "b", f, 3)


def test_a_signature_of_several_traces_must_be_one(notebook, tmp_path) -> None:
    run(notebook, "@nbfn.function\ndef f(x, n): return x\nf(tf.ones([1]), 2); f(tf.ones([1]), 3)")
    f = notebook["f"]
    with raises(ExportError):
        nbfn.export(tmp_path / "m", f, signatures={"serve": f}, verify=False)
