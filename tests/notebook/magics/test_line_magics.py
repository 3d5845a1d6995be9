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
    assert "odel.step(x)" in every
    assert "odel.step(x)" in run("%tf_traces model.step").text


def test_a_function_is_listed_once_whatever_it_is_called(run) -> None:
    run("@tf.function\ndef plain(x): return x + 1\nalias = plain; _ = plain(1.0)")
    run("import nbfn\n@nbfn.function\ndef made(x): return x + 1\nagain = made; _ = made(1.0)")
    for magic in ("%tf_traces", "%tf_captures"):
        text = run(magic).text
        assert text.count("plain(x)") == text.count("made(x)") == 1


def test_captures(f, run) -> None:
    assert "v     float32[3, 4]" in run("%tf_captures f").text


def test_placement_is_a_real_call(f, run) -> None:
    text = run("%tf_placement f(x, n=3)").text
    assert "MatMul" in text
    assert "CPU:0" in text


def test_graph(f, run, tmp_path, refused) -> None:
    assert "MatMul" in run("%tf_graph f").text
    file = tmp_path / "graph.pbtxt"
    assert "f, trace 1 (" in run(f"%tf_graph f -t 1 --save {file}").text
    assert 'op: "MatMul"' in file.read_text()
    run(f"%tf_graph f --save {tmp_path / 'graph.json'}")
    assert '"label": "MatMul"' in (tmp_path / "graph.json").read_text()
    assert "matmul" in run("%tf_graph f --op 'MatMul'").text
    assert refused("%tf_graph f --op nothing").strip() == (
        "UsageError: no operation of trace 2 matches `nothing`"
    )
    assert refused(f"%tf_graph f --save {file}").startswith("UsageError: --save: [Errno 17]")


def test_the_graph_of_a_call_is_that_of_the_trace_that_would_serve_it(f, run, refused) -> None:
    for call, number in (("f(x)", 1), ("f(x, n=3)", 2)):
        assert run(f"%tf_graph {call}").text.startswith(f"f, trace {number} (")
    assert run("%tf_graph f(x, n=3) --trace 1").text.startswith("f, trace 1 (")
    assert refused("%tf_graph f(x, n=4)").startswith(
        "UsageError: no trace serves f(x, n=4): it would retrace: `n`: Python value was"
    )


@pytest.mark.parametrize("magic", ["tf_explain", "tf_graph --time", "tf_numerics", "tf_placement"])
def test_a_call_may_have_arguments_that_look_like_options(f, run, magic) -> None:
    run("f(x, -3)")
    assert run(f"%{magic} f(x, -3)").text


def test_times_are_those_of_a_real_call(f, run, refused) -> None:
    run("count = tf.Variable(0)")
    run("%%tf_function\ndef counting(x, n=2):\n    count.assign_add(1)\n    return tf.sin(x) * n\n")
    text = run("%tf_graph --time counting(x, n=3)").text
    assert text.startswith("counting(x, n=3)\n")
    assert "slowest operations:" in text
    (sine,) = (line for line in text.splitlines() if " Sin " in line)
    assert sine.endswith(" In [5], line 4")
    assert run("int(count)").result == 1
    assert run("%tf_graph counting(x, n=3) --time").text.startswith("counting(x, n=3)\n")
    assert "<times: 3 operations" in run("counting.run(x, metadata=True).times").text
    assert refused("%tf_graph --time counting").strip() == (
        "UsageError: `counting` is not a call; write it as counting(x, n=2)"
    )


def test_export(f, run, tmp_path, refused) -> None:
    path = tmp_path / "model"
    result = run(f"%tf_export {path} f --no-verify").result
    assert list(result.signatures) == ["f", "f_n_3"]
    assert (path / "saved_model.pb").exists()
    text = refused(f"%tf_export {path} f")
    assert text.startswith("UsageError: ")
    assert "give --overwrite to replace it" in text
    assert "overwrite=True" not in text
    run(f"%tf_export {path} f --no-verify --overwrite")
    (path / "mine.txt").write_text("mine")
    text = refused(f"%tf_export {path} f --no-verify --overwrite").strip()
    assert text.startswith(f"UsageError: `{path}` holds `mine.txt`, which is not part of a Saved")
    assert "\n" not in text
    assert (path / "mine.txt").read_text() == "mine"
    assert "time_limit is -1.0" in refused(f"%tf_export {tmp_path / 'other'} f --time-limit -1")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%tf_traces nothing", "the notebook has no `nothing`"),
        ("%tf_traces x", "`x` is of type EagerTensor, not a traced function; define it in a cell"),
        ("%tf_traces f()", "`f()` contains a call; give a name"),
        ("%tf_traces 1+", "`1+` is not a name"),
        ("%tf_placement f", "`f` is not a call; write it as f(x, n=2)"),
        ("%tf_explain x", "`x` is of type EagerTensor, not a traced function"),
        ("%tf_explain f(x, 1, 2)", "`f`: too many positional arguments"),
        ("%tf_export", "the following arguments are required: path"),
        ("%tf_export f", "`f` is a function; write the folder first: %tf_export FOLDER f"),
        ("%tf_graph f --sve 3", "there is no --sve; did you mean --save?"),
        ("%tf_graph f --name 3", "unrecognized arguments: --name"),
        ("%tf_placement f(nothing)", "name 'nothing' is not defined"),
        ("%tf_graph f -t 9", "`f` has no trace 9; it has traces 1 and 2"),
        ("%tf_graph f --trace two", "argument -t/--trace: invalid int value: 'two'"),
        ("%tf_graph --time f(x) --op a", "--time shows the call; it takes no other option"),
        ("%tf_session now", "the session has no `now`"),
    ],
)
def test_misuse_is_one_line(f, refused, line: str, message: str) -> None:
    text = refused(line).strip()
    assert text.startswith("UsageError: " + message)
    assert "\n" not in text


WATCHED = """import nbfn
@tf.function
def plain(x, n=2): return x * n
class Plain(tf.Module):
    def __init__(self): self.v = tf.Variable(2.)
    @tf.function
    def step(self, x): return x * self.v
    @tf.function
    def other(self, x): return x + self.v
m = Plain(); m.step(tf.ones([])); plain(tf.ones([2])); plain(tf.ones([3]))
"""


def test_what_nbfn_did_not_make_is_watched_and_answers_in_every_magic(run, refused) -> None:
    run(WATCHED)
    assert "retraced: `x`: shape was [2], is [3]" in run("%tf_traces plain").text
    assert "Plain.step(x)" in run("%tf_traces m").text
    assert "Plain.other(x)" in run("%tf_traces").text
    assert "plain(x, n=2)" in run("%tf_traces").text
    assert "would retrace: `x`: shape was" in run("%tf_explain plain(tf.ones([4]))").text
    assert "would retrace: `x`: rank was" in run("%tf_explain m.step(tf.ones([4]))").text
    assert "retrace 1 (" in run("%tf_explain plain").text
    assert "`m.other` has not retraced" in refused("%tf_explain m.other")
    assert "m/v   float32[]" in run("%tf_captures m").text
    assert "CPU:0: 2 operations" in run("%tf_placement plain(tf.ones([2]))").text
    assert "Mul" in run("%tf_graph m.step").text
    assert refused("%tf_graph m").strip() == (
        "UsageError: `m` has several functions; name one of them: m.step, m.other"
    )
    assert {"plain", "Plain.step", "Plain.other"} <= run("%tf_session").result.watched.keys()
    assert "plain(x, n=2)" in run("nbfn.watch(plain)").text


def test_without_functions(refused, monkeypatch) -> None:
    monkeypatch.setattr(Session, "watched", {})  # those of other tests may still be alive
    assert "has no traced function yet" in refused("%tf_traces")


@pytest.mark.parametrize(
    "name",
    ["session", "traces", "explain", "captures", "placement", "graph", "stance", "watch", "export"],
)
def test_each_has_help_with_its_python_twin(shell, name: str) -> None:
    text = shell.find_line_magic(f"tf_{name}").__doc__
    assert f"%tf_{name}" in text
    assert "Python: ``" in text or "in Python: ``" in text
