"""``%%tf_function``: a cell of definitions, and a cell that runs."""

from __future__ import annotations

import pytest
import tensorflow as tf

from nbfn.functions import TracedFunction
from nbfn.functions.segments.cell import TracedCell


def test_a_cell_of_definitions_makes_traced_functions(run, shell) -> None:
    ran = run("%%tf_function\ndef f(x):\n    return x + 1\n\ndef g(x):\n    return f(x) * 2\n")
    assert isinstance(shell.user_ns["f"], TracedFunction)
    assert isinstance(shell.user_ns["g"], TracedFunction)
    assert run("g(tf.constant(1))").result.numpy() == 4
    assert "f(x)\n  not called yet" in ran.text
    assert [shell.user_ns[name].site.line for name in "fg"] == [2, 5]


def test_classes_imports_and_constants_beside_definitions_stay_as_they_are(run, shell) -> None:
    run(
        "%%tf_function\nimport math\nRATE = 2\nclass A:\n    k = 2\n"
        "def f(x):\n    return x * A.k * RATE\n"
    )
    assert isinstance(shell.user_ns["A"], type)
    assert run("f(tf.constant(3))").result.numpy() == 12
    assert isinstance(shell.user_ns["f"], TracedFunction)


def test_generators_and_context_managers_beside_definitions_stay_as_they_are(run, shell) -> None:
    run(
        "%%tf_function\nfrom contextlib import contextmanager\nlog = []\n"
        "def rows(n):\n    for i in range(n):\n        yield float(i)\n"
        "@contextmanager\ndef section(name):\n    log.append(name)\n    yield name\n"
        "def f(x):\n    return 2 * x\n"
    )
    assert run("with section('a') as name:\n    y = [f(x) for x in rows(2)]\nname").result == "a"
    assert [float(each) for each in shell.user_ns["y"]] == [0.0, 2.0]
    assert isinstance(shell.user_ns["f"], TracedFunction)


def test_a_body_runs_at_once_and_leaves_its_names(run, shell) -> None:
    run("x = tf.constant([1.0, 2.0])\nk = 3")
    ran = run("%%tf_function scale\ny = x * k\ntf.reduce_sum(y)")
    assert ran.result.numpy() == 9.0
    assert shell.user_ns["y"].numpy().tolist() == [3.0, 6.0]
    scale = shell.user_ns["scale"]
    assert isinstance(scale, TracedFunction)
    assert scale.parameters == "(x, k)"
    assert (scale.calls, len(scale.traces)) == (0, 1), "the first run is Python's"
    assert "1  x: float32[2], k: int 3  0     first run" in ran.text
    assert float(run("scale(x + 1.0, 3)['result']").result) == 15.0
    assert shell.user_ns["y"].numpy().tolist() == [3.0, 6.0], "a call writes no names"


def test_a_body_with_python_in_it_is_a_cell_that_can_be_called(run, shell, always_traced) -> None:
    run("x = tf.constant([1.0, 2.0])")
    for runs in (1, 2):
        ran = run("%%tf_function steps\ny = x * 2\nprint('now')\nz = y + 1\nz")
        assert ran.stdout.startswith("now\n")
        steps = shell.user_ns["steps"]
        assert (steps.runs, steps.hits) == (runs, 2 * runs - 2)
    assert isinstance(steps, TracedCell)
    assert steps.lines == {2: "graph", 3: "prints", 4: "graph", 5: "graph"}
    run("x = x + 10.0")
    assert run("steps()").result.numpy().tolist() == [23.0, 25.0]
    assert shell.user_ns["z"].numpy().tolist() == [23.0, 25.0], "a call runs the cell again"


def test_a_semicolon_silences_the_value(run) -> None:
    run("x = tf.constant(2)")
    assert "Out" not in run("%%tf_function\nx * 2;").text


def test_variables_and_modules_are_captured_by_reference(run, shell) -> None:
    run("v = tf.Variable(2.0)\nmodule = tf.Module()\nmodule.w = v\nx = tf.constant(3.0)")
    for total in (3.0, 4.0):
        run("%%tf_function step\nv.assign_add(1.0)\ny = module.w * x")
        assert shell.user_ns["y"].numpy() == 3.0 * total
    step = shell.user_ns["step"]
    assert step.parameters == "(x)"
    assert [capture.name for capture in step.captures] == ["v"]
    run("y = step(x)")
    assert shell.user_ns["v"].numpy() == 5.0


def test_a_name_read_and_written_is_input_and_output(run, shell) -> None:
    run("total = tf.constant(1)")
    for expected in (2, 3):
        run("%%tf_function add\ntotal += 1")
        assert shell.user_ns["total"].numpy() == expected
    assert (shell.user_ns["add"].calls, shell.user_ns["add"].hits) == (1, 1)


def test_multi_line_strings_keep_their_text(run, shell) -> None:
    run("%%tf_function\ntext = '''a\n  b\n'''\nk = 2\nother = f'''{k}\n c'''\n")
    assert shell.user_ns["text"] == "a\n  b\n"
    assert shell.user_ns["other"] == "2\n c"


def test_a_last_expression_over_several_lines(run) -> None:
    run("x = tf.constant(2)")
    assert run("%%tf_function\nü = 1\n(x\n  + ü\n)").result.numpy() == 3


def test_another_value_of_a_default_is_another_function(run, shell) -> None:
    run("n = 2")
    definition = "%%tf_function\ndef f(x, n=n):\n    return x * n\n"
    run(definition)
    assert run("f(tf.constant(1))").result.numpy() == 2
    run("n = 5")
    run(definition)
    assert run("f(tf.constant(1))").result.numpy() == 5


def test_options_reach_the_function_and_changing_them_remakes_it(run, shell) -> None:
    run("%%tf_function --jit --max-traces 3 --no-autograph\ndef f(x):\n    return x + 1\n")
    f = shell.user_ns["f"]
    assert f.options["jit_compile"] is True
    assert (f.options["autograph"], f.options["max_traces"]) == (False, 3)
    run("%%tf_function\ndef f(x):\n    return x + 1\n")
    assert shell.user_ns["f"] is not f


def test_define_does_not_run(run, shell) -> None:
    run("x = tf.constant(2)")
    run("%%tf_function double --define\ny = x * 2")
    assert "y" not in shell.user_ns
    assert shell.user_ns["double"].calls == 0


def test_the_remedy_of_a_cell_works_when_pasted(run, shell, always_traced) -> None:
    for length in (2, 3):
        run(f"x = tf.ones([{length}])")
        text = run("%%tf_function total\ny = tf.reduce_sum(x)").text
        unnamed = run("%%tf_function\nz = tf.reduce_sum(x)").text
    assert "retraced: `x`: shape was [2], is [3]" in text
    remedy = shell.user_ns["total"].retraces[0].remedy
    assert f"{remedy.sentence}: {remedy.code}" in text
    for length in (4, 5, 6, 7):
        run(f"x = tf.ones([{length}])")
        run(f"{remedy.code}\ny = tf.reduce_sum(x)")
    total = shell.user_ns["total"]
    assert (len(total.traces), total.hits) == (2, 2)
    assert "%%tf_function --relax" in unnamed


def test_the_remedy_of_a_method_names_the_instance(run, shell) -> None:
    run(
        "import nbfn\nclass Model(tf.Module):\n    @nbfn.function\n    def step(self, x):\n"
        "        return x\nmodel = Model()"
    )
    run("model.step(tf.ones([1])); model.step(tf.ones([2]))")
    assert run("model.step.retraces[0].remedy.code").result == "model.step.relax()"


def test_it_composes_with_other_cell_magics(run, shell) -> None:
    run("x = tf.constant(2)")
    run("%%capture out\n%%tf_function\ny = x * 3")
    assert shell.user_ns["y"].numpy() == 6
    run("%%time\n%%tf_function\nz = x * 4")
    assert shell.user_ns["z"].numpy() == 8


# What a cell leaves behind ------------------------------------------------------------------


def test_functions_that_a_body_defines_can_be_called(run) -> None:
    run("x = tf.constant(2)")
    for _ in range(2):
        run("%%tf_function\nN = tf.shape(x)\ndef triple(z): return z * 3\n")
        assert run("triple(2)").result == 6


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("RATE = 1.0", "RATE = 5.0"),
        ("def RATE_(): return 1.0\nRATE = 1.0", "def RATE_(): return 5.0\nRATE = 5.0"),
        ("class C: pass\nc = C()\nc.r = 1.0\nRATE = 1.0", "c.r = 5.0\nRATE = 5.0"),
    ],
)
@pytest.mark.parametrize("form", ["def f(x):\n    return x * RATE", "y = x * rate()"])
def test_a_changed_global_is_not_stale_when_the_cell_is_run_again(
    run, shell, first: str, then: str, form: str
) -> None:
    run("x = tf.constant(2.0)\ndef rate(): return RATE")
    for code, expected in ((first, 2.0), (then, 10.0)):
        run(code)
        for _ in range(2):
            run("%%tf_function\n" + form)
        result = run("f(x)").result if form.startswith("def") else shell.user_ns["y"]
        assert result.numpy() == expected


def test_eager_functions_have_eager_cells(run, shell) -> None:
    run("x = tf.constant(2)")
    tf.config.run_functions_eagerly(True)
    try:
        for _ in range(2):
            assert run("%%tf_function plus\nx + 1").result.numpy() == 3
    finally:
        tf.config.run_functions_eagerly(False)
    assert shell.user_ns["plus"].traces == ()


def test_unrelated_unnamed_cells_are_first_runs(run) -> None:
    run("x = tf.constant(2)")
    for code in ("x + 1", "x + 2"):
        assert "0     first run" in run("%%tf_function\n" + code).text
