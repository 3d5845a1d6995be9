"""What a user sees of an error: the lines of the cell, what to do, and no machinery."""

from __future__ import annotations

import re
import sys

import pytest
from IPython.core.compilerop import code_name

MACHINERY = (
    "site-packages",
    *("nbfn/functions", "nbfn/notebook", "nbfn/_tensorflow"),
    "autograph/impl",
    "__outputs__",
    "run_cell_magic",
    "in user code",
)


@pytest.fixture
def fails(run, refused):
    """Runs a failing cell; returns what the user sees, in which no machinery may be."""
    run("import numpy as np\nx = tf.ones([2]); w = tf.ones([3, 3]); v = tf.Variable(1.0)")

    def fails_(cell: str) -> str:
        text = refused(cell)
        assert [word for word in MACHINERY if word in text] == []
        return text

    return fails_


@pytest.mark.parametrize(
    ("magic", "message"),
    [
        ("%%tf_function", "In[0] and In[1] has different ndims: [2] vs. [3,3]"),
        ("%%tf_function --whole", "ValueError: Shape must be rank 2 but is rank 1"),
        ("%%tf_function --whole --no-autograph", "ValueError: Shape must be rank 2 but is rank 1"),
    ],
)
def test_a_failing_body_shows_its_line(fails, magic: str, message: str) -> None:
    text = fails(magic + "\n\na = 1\nb = x @ w\n")
    assert "line 4\n" in text
    assert "----> 4 b = x @ w" in text
    assert message in text or "must be at least rank 2" in text  # since TensorFlow 2.22
    assert "line 4: `x` is float32[2], `w` is float32[3, 3]" in text


def test_what_ends_a_line_for_str_and_not_for_python_moves_no_line(fails) -> None:
    text = fails("%%tf_function\nc = 'a\u2028b\x0cc\x85'\nb = x @ w\n")
    assert "----> 3 b = x @ w" in text


def test_a_failing_function_shows_the_call_and_its_own_lines(fails, run) -> None:
    run("%%tf_function\ndef f(x):\n    return g(x)\ndef g(x):\n    return x @ w\n")
    text = fails("# a comment\nf(tf.ones([2, 2]))")
    for line in (
        "----> 2 f(tf.ones([2, 2]))",
        "----> 3     return g(x)",
        "----> 5     return x @ w",
    ):
        assert line in text
    assert "`x` is float32[2, 2], `w` is float32[3, 3]" in text


def test_a_failing_run_shows_the_line_that_made_the_operation(fails, run) -> None:
    run("%%tf_function\ndef f(x, n):\n    y = x * 2\n    return tf.reshape(y, [2, n])\n")
    text = fails("f(x, tf.constant(3))")
    assert "----> 1 f(x, tf.constant(3))" in text
    assert "----> 4     return tf.reshape(y, [2, n])" in text
    assert "InvalidArgumentError: Input to reshape is a tensor with 2 values" in text
    assert "Detected at node" not in text


def test_an_error_of_a_segment_that_has_written_points_at_its_own_line_alone(fails, run) -> None:
    cell = "%%tf_function\nv.assign_add(1.0)\ntf.debugging.check_numerics(1.0 / (3.0 - v), 'low')\n"
    run(cell)
    text = fails(cell)
    assert re.findall(r"-> (\d+)", text) == ["3"]


def test_an_error_of_python_has_its_own_name(fails) -> None:
    text = fails("%%tf_function\ny = 1 / 0")
    assert "ZeroDivisionError: division by zero" in text
    assert "StagingError" not in text


@pytest.mark.parametrize(
    ("options", "code", "note"),
    [
        ("--no-autograph", "if x[0] > 1: y = 1", "line 3: Python needs the value of a tensor here"),
        (
            "",
            "y = x if w[0, 0] and (z := x[0] > 1) else w",
            "AutoGraph does not convert `:=` (line 3)",
        ),
        (
            "",
            "y = x if x[0] > 2 else (w if x[0] > 1 else w * x)",
            "AutoGraph does not convert a conditional in another (line 3)",
        ),
        (
            "",
            "for i in tf.range(3):\n        y = i\n    else:\n        y = x",
            "AutoGraph does not convert `else` of a loop (line 3)",
        ),
        ("", "y = x.numpy()", "line 3: a tensor has no value while the function is traced"),
        ("", "y = x.mean()", "NumPy arrays have `.mean`, tensors have not"),
        ("", "y = np.sin(x)", "line 3: NumPy needs values"),
        ("", "if x[0] > 1: y = 1\n    x = y", "line 3: the value of a tensor decides which"),
        (
            "",
            "s = 0\n    for i in tf.range(3):\n        s += tf.cast(i, tf.float32)",
            "line 5: `s` starts as the integer 0 (line 3), and a loop keeps its dtype. Start with "
            "0.0",
        ),
        ("", "model.fit(w, w, verbose=0)", "line 3: `fit` of a Keras model makes traced functions"),
        ("", "y = decides(x)", "Keras calls layers without AutoGraph"),
    ],
)
def test_common_errors_say_what_to_do(fails, run, options: str, code: str, note: str) -> None:
    run(
        "model = tf.keras.Sequential([tf.keras.layers.Dense(3)]); model.compile('sgd', 'mse')\n"
        "class Decides(tf.keras.layers.Layer):\n    def call(self, x):\n"
        "        return x if tf.reduce_sum(x) > 0 else -x\ndecides = Decides()"
    )
    run(f"%%tf_function {options}\ndef f(x):\n    {code}\n    return 1")
    assert note in fails("f(x)")


@pytest.mark.parametrize(
    ("cell", "note"),
    [
        (
            "fs = nbfn.function(lambda x: 1 if x > 0 else 2), nbfn.function(lambda x: 3)\n"
            "fs[0](tf.constant(1))",
            "line 1: AutoGraph cannot tell lambdas on one line apart",
        ),
        (
            "@nbfn.function\ndef f(n):\n  out = []\n  for i in tf.range(n):\n"
            "    out.append(i)\n  return tf.stack(out)\nf(tf.constant(3))",
            "line 5: `out` is a Python list, which this TensorFlow loop fills once, while it is "
            "traced. Use out = tf.TensorArray(",
        ),
        (
            "@nbfn.function\ndef f(n):\n  out = []\n  for i in tf.range(n):\n"
            "    out.append(i)\n  return out\nf(tf.constant(3))",
            "line 5: `out` is a Python list, which this TensorFlow loop fills once, while it is "
            "traced. Use out = tf.TensorArray(",
        ),
        (
            "@nbfn.function\ndef f(x):\n  return tf.reduce_sum(x) / tf.shape(x)[0]\nf(x)",
            "line 3: sizes are int32. Write tf.cast(tf.shape(x)[0], x.dtype)",
        ),
        (
            "@nbfn.function(input_signature=[tf.TensorSpec([None, 2])])\ndef f(x):\n"
            "  n = x.shape[0]\n  return tf.reshape(x, [n * 2])\nf(tf.ones([3, 2]))",
            "`x.shape[0]` is not known while the function is traced. Write tf.shape(x)[0] in place",
        ),
        (
            "@nbfn.function(input_signature=[tf.TensorSpec([None, 2])])\ndef f(x):\n"
            "  return tf.zeros(x.shape) + x\nf(tf.ones([3, 2]))",
            "line 3: `x.shape` is not known while the function is traced. Write tf.shape(x) in",
        ),
        (
            "@nbfn.function\ndef f(r):\n  return tf.random.normal([2], seed=3 + r)\n"
            "f(tf.constant(1))",
            "line 3: a seed is a Python number here, and a tensor has no value while",
        ),
        (
            "@nbfn.function\ndef f(x, by):\n  return x * by\nf(x, np.float64(0.5))",
            "line 3: `by` is a float64 tensor, which is what a NumPy number becomes. Pass "
            "float(by), or write tf.cast(by, tf.float32)",
        ),
        (
            "@nbfn.function\ndef f(x):\n  with tf.compat.v1.Session() as s:\n"
            "    return s.run(x)\nf(x)",
            "line 4: a Session of TensorFlow 1 cannot run the graph of a function",
        ),
        (
            "big = np.broadcast_to(np.float32(1), [540_000_000])\n@nbfn.function\ndef f(x):\n"
            "  return tf.reduce_sum(big) * x\nf(x)",
            "line 4: `big` would be a constant of the graph, which holds 2 GB at most. Keep it in "
            "a tf.Variable: big = tf.Variable(big)",
        ),
        (
            "@nbfn.function\ndef f(x):\n  return np.sum(x)\nf(x)",
            "line 3: NumPy needs values, and a tensor has none while the function is traced. Use "
            "tf.reduce_sum,",
        ),
        (
            "@nbfn.function\ndef f(x):\n  return np.hypot(x, 2)\nf(x)",
            "Use tf.experimental.numpy.hypot,",
        ),
        (
            "@nbfn.function\ndef f(n):\n  x = tf.ones([1, 2])\n  for _ in tf.range(n):\n"
            "    x = tf.concat([x, x], 0)\n  return x\nf(tf.constant(3))",
            "tf.autograph.experimental.set_loop_options(shape_invariants=[(x, "
            "tf.TensorShape([None, 2]))])",
        ),
        (
            "@nbfn.function\ndef f(n):\n  if n > 0: x = tf.constant(1)\n"
            "  else: x = tf.constant(1.)\n  return x\nf(tf.constant(3))",
            "line 3: the value of a tensor decides this, so `x` must keep one dtype. Where it is "
            "float32, use tf.cast(..., tf.int32)",
        ),
        (
            "def plain(x):\n  u = tf.Variable(1.)\n  return x * u\nf = nbfn.function(plain)\n"
            "f(tf.ones([]))",
            "Create it above the function, and use it in the function by its name",
        ),
    ],
)
def test_hints_name_what_to_write(refused, run, cell: str, note: str) -> None:
    run("import nbfn\nimport numpy as np\nx = tf.ones([2])")
    assert note in refused(cell)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_tensor_as_a_seed_beside_any_global_seed(refused, run, seed: int) -> None:
    run(f"import nbfn\ntf.random.set_seed({seed})")
    cell = (
        "@nbfn.function\ndef f(r):\n  return tf.random.normal([2], seed=3 + r)\nf(tf.constant(1))"
    )
    assert "line 3: a seed is a Python number here" in refused(cell)


@pytest.mark.parametrize(
    ("cell", "note"),
    [
        (
            "handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[])\n"
            "tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)",
            "line 2: a variable that the trace captured was deleted",
        ),
        ("x @ w", "line 1: `x` is float32[2], `w` is float32[3, 3]"),
        (
            "layer = tf.keras.layers.Dense(2)\nx @ layer(w)",
            "line 2: `x` is float32[2], `w` is float32[3, 3]",
        ),
    ],
)
def test_common_errors_of_plain_cells_say_what_to_do(fails, cell: str, note: str) -> None:
    assert note in fails(cell)


def test_a_mistyped_attribute_of_a_tensor_is_not_taken_for_one_of_numpy(fails, run) -> None:
    run("%%tf_function\ndef f(x):\n    return x.shpe")
    assert "NumPy" not in fails("f(x)")


def test_an_integer_outside_of_a_function_is_not_the_start_of_a_loop(fails, run) -> None:
    run("import nbfn\nn = 2\n@nbfn.function\ndef f(x):\n    return x * n")
    run("n = tf.Variable(n)")
    assert "`n` is int32[]. Use tf.cast on one of them" in fails("f(tf.ones([2]))")


def test_a_variable_that_is_created_on_each_call(fails) -> None:
    text = fails("%%tf_function --whole\nz = tf.Variable(1.0)")
    assert "--whole: line 2 makes a Variable" in text
    assert "--local-state" in text


def test_the_place_of_a_variable_is_the_line_of_the_cell(run, fails) -> None:
    run("import nbfn\n@nbfn.function\ndef f():\n    v = tf.Variable(1.0)\n    return v")
    assert re.search(r"`Variable` at In \[\d+\], line 4, but this is not its first", fails("f()"))


def test_a_recursion_shows_its_line_once(run, fails) -> None:
    run("import nbfn\n@nbfn.function\ndef f(n):\n    return f(n - 1) if n > 0 else n")
    text = fails("f(tf.constant(3))")
    assert "EndlessTraceError: `f` calls itself while it is traced for (n: int32[])" in text
    assert text.count("return f(n - 1)") < 12


def test_a_leaked_tensor_is_found_in_the_notebook(fails, run) -> None:
    run("%%tf_function\ndef h(x):\n    leak.append(x * 2)\n    return x\n")
    run("leak = []; h(x)")
    text = fails("leak[0] + 1")
    assert "and is kept in `leak`. It has a value only while" in text
    assert "line 3, in h" in text


def test_advice_is_for_the_function_that_failed(fails, run) -> None:
    run(
        "%%tf_function --no-autograph\ndef g(x):\n    return (y := x) + y\n"
        "def f(x):\n    return x if x[0] > 1 else -x"
    )
    text = fails("f(x)")
    assert "Leave AutoGraph on" in text
    assert ":=" not in text.replace("return (y := x) + y", "")


def test_lines_are_those_of_the_text_that_ran_after_an_edit_is_undone(
    fails, run, shell, monkeypatch, always_traced
) -> None:
    # As in a kernel, whose file names depend on the text only.
    monkeypatch.setattr(shell.compile, "get_code_name", lambda raw, *_: code_name(raw))
    run("x = tf.constant([1.0, 2.0]); n = tf.constant(2)")
    cell = "%%tf_function step\nv.assign_add(1.0)\ny = tf.reshape(x, [n])"
    for edited in (cell, cell.replace("v.a", "#\nv.a"), cell.replace("1.0", "2.0"), cell, cell):
        run(edited)
    run("n = tf.constant(3)")
    assert "----> 3 y = tf.reshape(x, [n])" in fails(cell)


def test_the_whole_traceback_stays_reachable(run, refused, shell) -> None:
    run("x = tf.ones([2])")
    refused("%%tf_function\ny = x @ x")
    assert "site-packages/tensorflow" in refused("%tb\n1 / 0") + str(sys.last_traceback.tb_frame)
    frames = []
    traceback = sys.last_value.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    assert frames


def test_errors_without_tensorflow_are_shown_as_ever(refused) -> None:
    text = refused("def f():\n    return 1 / 0\nf()")
    assert "----> 2     return 1 / 0" in text
    assert "ZeroDivisionError" in text


def test_another_extensions_handler_stays(shell) -> None:
    shell.run_cell("%unload_ext nbfn").raise_error()
    assert shell.custom_exceptions == ()
    shell.set_custom_exc((KeyError,), lambda *_, **__: None)
    shell.run_cell("%load_ext nbfn").raise_error()
    assert shell.custom_exceptions == (KeyError,)
    shell.run_cell("%unload_ext nbfn").raise_error()
    assert shell.custom_exceptions == (KeyError,)
    shell.custom_exceptions = ()


@pytest.mark.parametrize(
    ("define", "call", "lines"),
    [
        (
            "",
            "%%tf_function --jit --whole\ny = tf.strings.as_string(x)",
            ["2 y = tf.strings.as_string(x)"],
        ),
        (
            "%%tf_function --jit\ndef f(x):\n    return tf.strings.as_string(x)",
            "f(x)",
            ["1 f(x)", "3     return tf.strings.as_string(x)"],
        ),
        (
            "import nbfn\n@nbfn.function(jit_compile=True)\ndef f(x):\n"
            "    return tf.strings.as_string(x)\n@nbfn.function\ndef g(x):\n    return f(x)",
            "g(x)",
            ["1 g(x)", "7     return f(x)", "4     return tf.strings.as_string(x)"],
        ),
    ],
    ids=["body", "function", "nested"],
)
def test_what_xla_cannot_compile(fails, run, define: str, call: str, lines: list[str]) -> None:
    if define:
        run(define)
    for _ in range(2):  # the second call is a hit
        text = fails(call)
        assert [line[6:] for line in text.splitlines() if line.startswith("---->")] == lines
        assert "InvalidArgumentError: Detected unsupported operations" in text
        assert "XLA has no AsString; do it outside of what is compiled" in text
        assert "AsString (No registered 'AsString' OpKernel for XLA_CPU_JIT" in text
        assert "TF_DUMP_GRAPH_PREFIX" not in text
        assert "_XlaMustCompile" not in text


def test_a_session_in_a_function_says_what_happened(refused, run) -> None:
    run("import nbfn\nx = tf.ones([2])")
    text = refused(
        "@nbfn.function\ndef f(x):\n    with tf.compat.v1.Session() as s:\n"
        "        return s.run(x)\nf(x)"
    )
    assert "You must feed a value for placeholder tensor 'x'" in text


def test_errors_in_sessions_of_tensorflow_1_say_what_happened(refused) -> None:
    text = refused(
        "with tf.Graph().as_default():\n"
        "    x = tf.compat.v1.placeholder(tf.float32, [None], name='x'); y = x * 2\n"
        "    with tf.compat.v1.Session() as session:\n"
        "        session.run(y)"
    )
    assert "You must feed a value for placeholder tensor 'x'" in text
