"""What a cell in segments says of itself, and what the magics say of it."""

from __future__ import annotations

import re

import pytest
import tensorflow as tf

from nbfn.functions import TracedFunction

CELL = """%%tf_function step
y = x * w
print('now')
for i in range(2):
    print(i)
    z = y + i"""


@pytest.fixture
def ready(run, always_traced):
    run("import nbfn\nx = tf.constant([1.0, 2.0]); w = tf.Variable([3.0, 4.0])")
    for _ in range(2):
        run(CELL)
    return run


def test_as_text_and_as_html(ready, shell) -> None:
    (shown,) = ready(CELL).displayed
    text, html = shown.data["text/plain"], shown.data["text/html"]
    assert text.startswith("step: 2 of 5 statements in 2 graphs (lines 2, 6)\n")
    assert "Python: each of lines 3 and 5 prints" in text
    assert "x: float32[2]" in text
    assert "w     float32[2]       CPU:0   variable" in text
    assert "2 of 5 statements in 2 graphs" in html
    assert "<script" not in html
    assert "ms" not in text, "what is stored stays the same from run to run"
    assert repr(shell.user_ns["step"]).startswith("<TracedCell step: 2 of 5 statements in 2 gra")


def test_what_it_counts(ready, shell) -> None:
    step = shell.user_ns["step"]
    assert step.lines == {2: "graph", 3: "prints", 4: "a loop", 5: "prints", 6: "graph"}
    assert [each.label for each in step.functions] == ["step:2", "step:6"]
    assert step.calls == step.hits == sum(each.hits for each in step.functions)
    assert len(step.traces) == sum(len(each.traces) for each in step.functions)
    assert [each.name for each in step.captures] == ["w"]
    assert step.speedup is None or step.speedup > 0
    assert all(each > 0 for each in step.seconds)


def test_a_retrace_has_its_cause_and_remedy(ready, shell) -> None:
    ready("x = tf.ones([1, 2])")
    text = ready(CELL).text
    assert "step:2 retraced: `x`: rank was 1 [2], is 2 [1, 2]" in text
    (retrace, *_) = shell.user_ns["step"].retraces
    assert "In [" in str(retrace.site)
    ready("x = tf.ones([3, 2])")
    text = ready(CELL).text
    assert "step:2 retraced: `x`: shape was [1, 2], is [3, 2]" in text
    assert "Let one trace serve every size of `x`" in text


def test_magics_about_a_cell(alone, ready, refused, shell) -> None:
    for magic in ("%tf_traces step", "%tf_traces"):
        text = ready(magic).text
        assert "step:2(x)" in text
        assert "step:6(" in text
    assert "w     float32[2]" in ready("%tf_captures step").text
    session = ready("%tf_session").text
    assert re.search(r"step +3 +3 +3 +0 +2 of 5 statements in 2 graphs \(lines 2, 6\)", session)
    for magic in ("%tf_explain", "%tf_placement"):
        assert refused(f"{magic} step(x)").startswith("UsageError: `step` is a cell that runs in")
    said = refused("%tf_graph step")
    assert said.startswith("UsageError: `step`"), "which of its graphs is meant?"
    assert "step:6" in said


def test_an_export_says_what_to_do(ready, refused, tmp_path) -> None:
    said = refused(f"nbfn.export({str(tmp_path / 'model')!r}, step)")
    assert "ExportError: `step` is a cell that runs as 2 graphs and Python between them" in said
    assert "%%tf_function --whole" in said
    assert "`step.functions[0]`" in said
    assert not (tmp_path / "model").exists()
    one = ready(f"nbfn.export({str(tmp_path / 'one')!r}, step.functions[0], verify=False)").result
    assert len(one.signatures) == 1


def test_a_whole_cell_is_exported(ready, shell, tmp_path) -> None:
    for _ in range(2):
        ready("%%tf_function scale\ny = x * w\nz = tf.reduce_sum(y)")
    assert isinstance(shell.user_ns["scale"], TracedFunction)
    path = str(tmp_path / "model")
    exported = ready(f"nbfn.export({path!r}, scale, verify=False)").result
    assert list(exported.signatures) == ["scale"]
    loaded = tf.saved_model.load(path).signatures["scale"]
    assert float(loaded(x=tf.constant([1.0, 1.0]))["z"]) == 7.0
