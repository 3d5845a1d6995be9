"""What ``%%tf_function`` refuses, in one line or by IPython's own report; what a failure leaves."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%tf_function --zip\nx = 1", "UsageError: unrecognized arguments: --zip"),
        ("%%tf_function --max-traces 0\nx = 1", "UsageError: --max-traces is 0"),
        ("%%tf_function 3d\nx = 1", "UsageError: `3d` is no name for a function"),
        ("%%tf_function g\ndef f(x): pass", "UsageError: the cell defines f, but no `g`"),
        ("%%tf_function\n# nothing", "UsageError: the cell holds no code to trace"),
        ("%%tf_function\nx = 1\n!ls", "UsageError: line 3: magics and shell commands"),
        ("%%tf_function\n%time 1", "UsageError: line 2: magics and shell commands"),
        ("%%tf_function\nx = 1\nawait x", "UsageError: line 3: a traced cell cannot await"),
        ("%%tf_function print\nx = 1", "UsageError: `print` is no name for a function"),
        ("%%tf_function class\nx = 1", "UsageError: `class` is no name for a function"),
        ("%%tf_function x\nx = 1", "UsageError: the cell uses the name `x` itself"),
        ("%%tf_function\nglobal x\nx = 1", "UsageError: line 2: a traced cell shares"),
        ("%%tf_function\nfrom math import *", "UsageError: line 2: do `import *` in a cell"),
        ("%%tf_function\nasync def f(): pass", "UsageError: line 2: an async function"),
        ("%%tf_function\n__outputs__ = 1", "UsageError: line 2: nbfn uses the name"),
        ("%%tf_function\n\n@property\ndef f(x): pass", "UsageError: `f` is decorated into a prop"),
    ],
)
def test_misuse_is_one_line(refused, cell: str, message: str) -> None:
    text = refused(cell).strip()
    assert text.startswith(message)
    assert "\n" not in text


def test_an_empty_cell_is_one_line(refused) -> None:
    assert "UsageError" in refused("%%tf_function")


def test_a_syntax_error_is_ipythons_own_report_at_the_right_line(refused) -> None:
    text = refused("%%tf_function\nx = 1\nfoo(\n")
    assert "line 3" in text
    assert "foo(" in text
    assert "SyntaxError" in text
    assert "nbfn" not in text


@pytest.mark.parametrize("code", ["return 5", "break", "if x:\n    return 5"])
def test_what_no_cell_can_hold_is_ipythons_own_report(refused, run, code: str) -> None:
    run("x = 1")
    text = refused("%%tf_function\n" + code)
    assert "SyntaxError" in text
    assert "nbfn" not in text


# Failures ---------------------------------------------------------------------------------


def test_a_failing_trace_leaves_the_notebook_as_it_was(run, shell) -> None:
    run("x = tf.ones([6])\ny = 'before'")
    run("%%tf_function shape\ny = tf.reshape(x, [2, 3])")
    run("y = 'before'\nx = tf.ones([7])")
    before = repr(shell.user_ns["shape"])
    with pytest.raises(ValueError, match="reshape"):
        run("%%tf_function shape\ny = tf.reshape(x, [2, 3])")
    assert shell.user_ns["y"] == "before"
    assert repr(shell.user_ns["shape"]) == before


def test_a_new_cell_that_fails_leaves_the_function_of_that_name(run, shell) -> None:
    run("x = tf.ones([6])")
    run("%%tf_function shape\ny = tf.reshape(x, [2, 3])")
    shape = shell.user_ns["shape"]
    with pytest.raises(ValueError, match="reshape"):
        run("%%tf_function shape\ny = tf.reshape(x, [2, 4])")
    assert shell.user_ns["shape"] is shape


def test_an_error_names_the_line_of_the_cell(shell, refused, run) -> None:
    run("x = tf.ones([2])")
    text = refused("%%tf_function\n\na = 1\nb = x @ tf.ones([3, 3])\n")
    assert "line 4\n" in text
    assert "b = x @ tf.ones([3, 3])" in text


def test_reading_an_unknown_name_is_a_name_error_of_that_line(run) -> None:
    with pytest.raises(NameError, match="no_such_name"):
        run("%%tf_function\ny = no_such_name + 1")


# Data sets that Python would go through ---------------------------------------------------

DATA = """
import functools, itertools
x = tf.constant([1.0, 2.0])
ds = tf.data.Dataset.range(4)
items = []
flag = False
def gather(data): return [q for q in data]
def first(data): return next(iter(data))
def length(data): return len(list(data)) if flag else 4
def each(data):
    for q in data:
        yield q
def early(data):
    if tf.executing_eagerly():
        return list(data)
    if not tf.executing_eagerly():
        return 4
    return list(data)
"""


@pytest.mark.parametrize(
    "code",
    [
        "list(ds)",
        "tuple(ds.take(2))",
        "[q for q in ds]",
        "{i: q for i, q in enumerate(ds)}",
        "sum(q for q in ds)",
        "sorted(ds)",
        "max(ds)",
        "items.extend(ds)",
        "[*ds]",
        "print(*ds)",
        "list(zip(ds, ds))",
        "list(iter(ds))",
        "functools.reduce(max, ds)",
        "list(map(str, ds.map(lambda q: q + 1)))",
        "list(each(ds))",
        "[q for q in each(ds)]",
        "list(itertools.chain(ds, ds))",
    ],
)
def test_a_data_set_that_python_goes_through_is_refused(refused, run, shell, code: str) -> None:
    run(DATA)
    text = refused(f"%%tf_function\ny = x * 2\nz = {code}").strip()
    assert text.startswith(f"UsageError: line 3: `{code}` goes through a data set in Python")
    assert "write a `for` statement" in text
    assert "\n" not in text
    assert "y" not in shell.user_ns


def test_a_data_set_that_the_cell_makes_is_refused(refused, run) -> None:
    run(DATA)
    cell = "%%tf_function\nmade = tf.data.Dataset.from_tensor_slices(x).batch(1)\nz = list(made)"
    assert "UsageError: line 3: `list(made)` goes through" in refused(cell)
    assert "UsageError: line 2: `a, b = …` goes through" in refused("%%tf_function\na, b = ds")
    text = refused("%%tf_function --define\nmade = ds.repeat()\nfor i in range(2):\n    list(made)")
    assert "UsageError: line 4: `list(made)` goes through" in text


def test_a_helper_that_goes_through_a_data_set_is_refused_with_its_line(refused, run) -> None:
    run(DATA)
    text = refused("%%tf_function\nz = gather(ds)")
    assert "UsageError: line 2: `[q for q in data]` in `gather` (In [" in text
    assert ", line 6) goes through a data set" in text


@pytest.mark.parametrize(
    "code",
    [
        "z = next(iter(ds))",
        "z = first(ds)",
        "z = length(ds)",
        "z = early(ds)",
        "z = next(each(ds))",
        "z = next(q for q in ds)",
        "z = len(ds)",
        "z = [q for q, _ in zip(range(2), ds)]",
        "z = list(itertools.islice(ds, 2))",
        "z = ds.reduce(tf.constant(0, tf.int64), lambda a, b: a + b)",
        "z = tf.constant(0, tf.int64)\nfor i, q in enumerate(ds):\n    z += q",
        "if tf.executing_eagerly():\n    z = list(ds)\nelse:\n    z = 1",
        "if flag:\n    z = list(ds)\nz = 1",
        "ds = [1, 2]\nz = list(ds)",
        "z = flag and list(ds)",
        "def later(): return list(ds)\nz = 1",
        "z = [q for q in gather([1, 2])]",
    ],
)
def test_what_ends_is_not_refused(run, shell, code: str) -> None:
    run(DATA)
    for _ in range(2):
        run(f"%%tf_function\n{code}")
        assert "z" in shell.user_ns


@pytest.mark.parametrize(
    "over", ["each(ds)", "(q + 1 for q in ds)", "itertools.chain(ds, ds)", "track(ds)"]
)
def test_a_loop_that_autograph_leaves_to_python_is_refused(refused, run, over: str) -> None:
    run(DATA + "from rich.progress import track")
    text = refused(f"%%tf_function\nz = 0\nfor q in {over}:\n    z += q")
    assert "UsageError: line 3: `for … in " in text
    assert "write a `for` statement" in text


def test_a_loop_over_a_data_set_needs_autograph(refused, run, shell) -> None:
    run(DATA)
    loop = "z = tf.constant(0, tf.int64)\nfor q in ds:\n    z += q"
    text = refused(f"%%tf_function --no-autograph\n{loop}")
    assert "UsageError: line 3: `for … in ds` goes through" in text
    assert "leave the option out" in text
    run(f"%%tf_function\n{loop}")
    assert int(shell.user_ns["z"]) == 6


def test_an_eager_run_may_go_through_a_data_set(run, shell) -> None:
    run(DATA)
    run("%%tf_function --stance eager\nz = len(list(ds))")
    assert shell.user_ns["z"] == 4
    run("import nbfn")
    run(
        "with nbfn.stance('eager'):\n"
        "    get_ipython().run_cell_magic('tf_function', '', 'u = list(ds)')"
    )
    assert len(shell.user_ns["u"]) == 4


# Names that are not there -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("y = 1\ndel nothing", 3),
        ("k = 1\ndel k\ndel k", 4),
        ("y = 1\ndel a\ndel a", 4),
        ("del print", 2),
        ("del a, nothing", 2),
    ],
)
def test_taking_away_an_unknown_name_is_a_name_error_of_that_line(
    run, refused, shell, code: str, line: int
) -> None:
    run("a = 1")
    text = refused(f"%%tf_function\n{code}")
    assert f"line {line}" in text
    assert f"----> {line} del" in text
    assert "NameError: name '" in text
    assert "nbfn" not in text
    assert shell.user_ns["a"] == 1
    assert "y" not in shell.user_ns


@pytest.mark.parametrize(
    "code",
    [
        "k = 1\ndel k",
        "del a",
        "if a:\n    k = 1\ndel k",
        "make()\ndel made",
        "for k in [1]: pass\ndel k",
    ],
)
def test_names_that_are_there_are_taken_away(run, shell, code: str) -> None:
    run("a = 1\ndef make():\n    global made\n    made = 1")
    run(f"%%tf_function\nz = 2\n{code}")
    assert not {"k", "made"} & shell.user_ns.keys()


# Options by the names that the magic has for them -----------------------------------------


def test_errors_of_a_cell_name_the_magics_options(run, refused) -> None:
    run("k = 2.0; n = 3; x = tf.constant(1.0)\ndef scaled(a): return a * k")
    stale = "%%tf_function stale --on-stale raise\ny = scaled(x)"
    limited = "%%tf_function limited --max-traces 1 --on-limit raise\ny = x * n"
    made = "%%tf_function made\nv = tf.Variable(1.0)\ny = x * n"
    for cell in (stale, limited):
        run(cell)
    run("k = 3.0; n = 4")
    assert "use --on-stale retrace" in refused(stale)
    text = refused(limited)
    assert "--max-traces is 1" in text
    assert "or raise --max-traces" in text
    text = refused(made)
    assert "use --local-state" in text
    assert "local_state" not in text


def test_an_error_of_another_function_names_its_own_options(run, refused) -> None:
    run(
        "import nbfn\nk = 2.0; x = tf.constant(1.0)\n"
        "@nbfn.function(on_stale='raise')\ndef f(a):\n    return a * k"
    )
    run("f(x); k = 3.0")
    text = refused("%%tf_function\ny = f(x)")
    assert 'use on_stale="retrace"' in text
    assert "--on-stale" not in text


def test_an_error_of_a_cells_function_says_what_its_line_says(run, refused) -> None:
    run("k = 2.0; x = tf.constant(1.0)")
    run(
        "%%tf_function --on-stale raise --max-traces 1 --on-limit raise\n"
        "def f(a):\n    return a * k"
    )
    run("f(x)")
    assert "`f` was made by %%tf_function, on whose line this is `--max-traces`" in refused("f(1)")
    run("k = 3.0")
    assert "on whose line this is `--on-stale retrace`" in refused("f(x)")


def test_formatting_a_tensor_says_what_to_use(run, refused) -> None:
    run("x = tf.constant(1.0)")
    text = refused("%%tf_function\ny = x * 2\ns = f'{y:.2f}'")
    assert "line 3: a tensor has no value while it is traced. tf.strings.format" in text
