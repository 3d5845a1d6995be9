"""Looking inside of graphs from cells: lines are the cell's, values are below the error."""

from __future__ import annotations

import pytest

import nbfn
from nbfn import package

CELL = """%%tf_function

def step(x):
    shifted = x - 1.0
    return tf.math.log(shifted)
"""


@pytest.fixture
def step(run):
    run("import nbfn; x = tf.constant([2.0, 1.0])")
    run(CELL)


def test_numerics_names_the_line_of_the_cell(step, run) -> None:
    for _ in range(2):
        text = run("%tf_numerics step(x)").text
        assert "`step`: infinity in 1 operation" in text
        assert "line 5  `tf.math.log(shifted)`" in text
        assert "In [" in text
        assert "-inf (1 of 2 values, the first at [1])" in text
        assert "0 in `shifted` (float32[2], 0 to 1)" in text
    assert "NbfnError" not in run("step(x)").text


def test_a_result_that_is_not_finite_leads_to_numerics(step, run) -> None:
    line = "the result has NaN or infinity: find where it comes from: %tf_numerics step(x)"
    for _ in range(2):
        assert line in run("step(x)").text
    run("watched = nbfn.watch(tf.function(lambda x: 1.0 / x))")
    assert "find where it comes from: %tf_numerics watched(x - 1.0)" in run("watched(x - 1.0)").text
    assert "Warning" not in run("step.traces[0].graph.get_tensor_by_name('Identity:0')").text
    for code in (
        "step(x + 1.0)",
        "y = step(x)",
        "step(x);",
        "tf.math.log(x - 1.0)",
        "step(x).numpy()",
    ):
        assert "NaN or infinity" not in run(code).text
    run("pair = nbfn.function(lambda x: {'a': x, 'b': 1.0 / (x - x)})")
    assert "%tf_numerics pair(x)" in run("pair(x)").text
    run("""
class Holder:
    reads = 0
    @property
    def step(self):
        Holder.reads += 1
        return step
""")
    run("Holder().step(x + 1.0)")
    assert run("Holder.reads").result == 1  # the attribute is read again only where it is needed
    run("find = lambda: step")
    assert "NaN or infinity" not in run("find()(x)").text  # a call that cannot be repeated by name


def test_an_error_while_a_function_is_traced_has_no_values(run, refused, recwarn) -> None:
    run("import nbfn\nx = tf.ones([2])")
    for decorator in ("@nbfn.function", "@tf.function"):
        text = refused(
            f"{decorator}\ndef f(x):\n    with tf.compat.v1.Session() as s:\n"
            "        return s.run(x)\nf(x)"
        )
        assert "was given" not in text
    assert not [each for each in recwarn if issubclass(each.category, nbfn.NbfnWarning)]


def test_lines_and_values(step, run) -> None:
    assert "return tf.math.log(shifted)" in run("%tf_lines step(x)").text
    assert "line 4: `shifted` float32[2]: 1, 0" in run("step.values(x, 'shifted')").text


def test_a_cell_that_stops_at_nan(step, run, refused) -> None:
    cell = "%%tf_function --stance check_numerics\ntotal = 0.0\nfor i in range(3):\n    total += {}"
    text = refused(cell.format("1.0 / tf.reduce_sum(x - 1.5)"))
    assert "NumericsError" in text
    assert "line 4, `1.0 / tf.reduce_sum(x - 1.5)`: inf" in text
    text = refused(cell.format("step(x)"))
    assert "line 5, `tf.math.log(shifted)`: -inf" in text
    assert run(cell.format("tf.reduce_sum(x)") + "\nfloat(total)").result == 9.0


def test_the_stance_of_the_notebook(step, run, refused) -> None:
    run("%tf_stance check_numerics")
    try:
        assert "NumericsError" in refused("step(x)")
        assert "NumericsError" in refused("tf.math.log(x - 1.0)")
    finally:
        run("%tf_stance default")
    run("step(x); tf.math.log(x - 1.0)")


def test_an_error_has_the_values_below_it(step, run, refused) -> None:
    run("%%tf_function\ndef pick(x, i):\n    doubled = x * 2.0\n    return tf.gather(doubled, i)")
    for _ in range(2):
        text = refused("pick(x, tf.constant([0, 7]))")
        assert (
            "`tf.gather(doubled, i)` was given `doubled` float32[2]: 4, 2, `i` int32[2]: 0, 7"
            in text
        )
        assert "line 4: " in text
        assert "nbfn.postmortem() opens the debugger there" in text
    assert "InvalidArgumentError" in text
    shown = run("nbfn.postmortem(debug=False)").text
    assert "line 4, `tf.gather(doubled, i)` failed: indices[1] = 7 is not in [0, 2)" in shown


def test_a_segment_has_them_too(step, run, refused) -> None:
    cell = "%%tf_function --whole\ny = tf.reshape(x, [n, 2])\nz = y * 2.0"
    run("n = tf.constant(1)")
    run(cell)
    run("n = tf.constant(3)")
    text = refused(cell)
    assert "`tf.reshape(x, [n, 2])` was given `x` float32[2]: 2, 1" in text


def test_errors_have_the_address_of_their_explanation(
    step, run, refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A checkout that is not installed has no metadata, and so no address.
    monkeypatch.setattr(package, "documentation", lambda: "https://docs.example")
    run("%%tf_function\ndef take(x, i):\n    return tf.gather(x, i)")
    for _ in range(2):
        assert "See https://" in (text := refused("take(x, tf.constant(5))"))
        assert text.count("guide/inside.html") == 1
    assert "guide/inside.html" in refused('with nbfn.stance("check_numerics"):\n    step(x)')
    run("step(x)")
    text = refused('with nbfn.stance("fail_on_retrace"):\n    step(tf.ones([3]))')
    assert "causes.html#shape" in text
    assert "See https://" not in refused("1 / 0")
