"""The line magics say what their plain Python twins return."""

from __future__ import annotations

import pytest

from nbfn.sessions.session import Session

SETUP = (
    "x = tf.ones([2, 3]); v = tf.Variable(tf.ones([3, 4])); class_ = object()\n"
    "class Model(tf.Module):\n    @nbfn.function\n    def step(self, x): return x\nmodel = Model()"
)


@pytest.fixture
def f(run):
    run("import nbfn\n" + SETUP)
    run("%%tf_function\ndef f(x, n=2):\n    return x @ v * n\n")
    run("f(x); f(x, 3); model.step(x)")


def test_session(f, run) -> None:
    assert isinstance(run("%tf_session").result, Session)


def test_traces(f, run) -> None:
    text = run("%tf_traces f").text
    assert "f(x, n=2)\n  retraced: `n`: Python value was 2, is 3" in text
    assert "float32[2, 3]" in text
    every = run("%tf_traces").text
    assert "f(x, n=2)" in every
    assert "Model.step" in every
    assert "Model.step" in run("%tf_traces model.step").text


def test_captures(f, run) -> None:
    assert "v     [3, 4]  float32" in run("%tf_captures f").text


def test_placement_is_a_real_call(f, run) -> None:
    text = run("%tf_placement f(x, n=3)").text
    assert "MatMul" in text
    assert "CPU:0" in text


def test_graph(f, run, tmp_path, refused) -> None:
    assert "MatMul" in run("%tf_graph f").text
    file = tmp_path / "graph.pbtxt"
    assert "f, trace 1 (" in run(f"%tf_graph f -t 1 --save {file}").text
    assert 'op: "MatMul"' in file.read_text()
    assert "matmul" in run("%tf_graph f --op 'MatMul'").text
    assert refused("%tf_graph f --op nothing").strip() == (
        "UsageError: no operation of trace 2 matches `nothing`"
    )
    assert refused(f"%tf_graph f --save {file}").startswith("UsageError: --save: [Errno 17]")


def test_export(f, run, tmp_path, refused) -> None:
    path = tmp_path / "model"
    result = run(f"%tf_export {path} f --no-verify").result
    assert list(result.signatures) == ["f"]
    assert (path / "saved_model.pb").exists()
    text = refused(f"%tf_export {path} f")
    assert text.startswith("UsageError: ")
    assert "give --overwrite" in text
    run(f"%tf_export {path} f --no-verify --overwrite")
    (path / "mine.txt").write_text("mine")
    text = refused(f"%tf_export {path} f --no-verify --overwrite").strip()
    assert text.startswith(f"UsageError: `{path}` holds `mine.txt`, which is no part of a Saved")
    assert "\n" not in text
    assert (path / "mine.txt").read_text() == "mine"
    assert "time_limit is -1.0" in refused(f"%tf_export {tmp_path / 'other'} f --time-limit -1")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%tf_traces nothing", "the notebook has no `nothing`"),
        ("%tf_traces x", "`x` is a EagerTensor, no traced function"),
        ("%tf_traces f()", "`f()` calls something; give a name"),
        ("%tf_traces 1+", "`1+` is no name"),
        ("%tf_placement f", "`f` is no call; write it as f(…)"),
        ("%tf_placement f(nothing)", "name 'nothing' is not defined"),
        ("%tf_graph f -t 9", "`f` has no trace 9; it has 1, 2"),
        ("%tf_graph f --trace two", "argument -t/--trace: invalid int value: 'two'"),
        ("%tf_session now", "unrecognized arguments: now"),
    ],
)
def test_misuse_is_one_line(f, refused, line: str, message: str) -> None:
    text = refused(line).strip()
    assert text.startswith("UsageError: " + message)
    assert "\n" not in text


def test_without_functions(refused) -> None:
    assert "has no traced function yet" in refused("%tf_traces")


@pytest.mark.parametrize(
    "name",
    ["session", "traces", "explain", "captures", "placement", "graph", "stance", "watch", "export"],
)
def test_each_has_help_with_its_python_twin(shell, name: str) -> None:
    text = shell.find_line_magic(f"tf_{name}").__doc__
    assert f"%tf_{name}" in text
    assert "Python: ``" in text or "in Python: ``" in text
