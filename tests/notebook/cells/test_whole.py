"""``--whole``: one graph, or a refusal that names every line of Python's."""

from __future__ import annotations

import pytest

from nbfn.functions import TracedFunction

SETUP = """
import numpy as np, random, time
x = tf.constant([1.0, 2.0]); v = tf.Variable(1.0); d = {}; seen = []; n = 3
data = tf.data.Dataset.range(3); it = iter([1, 2, 3])
class Box:
    def __add__(self, z): seen.append(z); return z
box = Box()
def helper(z):
    seen.append(z)
    return z
"""


@pytest.mark.parametrize("options", ["--whole", "-i x", "-o y", '--signature "x: float32[None]"'])
def test_one_graph_from_the_first_run(run, shell, options: str) -> None:
    run(SETUP)
    for calls in (1, 2):
        ran = run(
            f"%%tf_function step {options}\nz = x * 2.0\nif z[0] > 1.0:\n    z = z + v\ny = z"
        )
        step = shell.user_ns["step"]
        assert isinstance(step, TracedFunction)
        assert (step.calls, step.hits, len(step.traces)) == (calls, calls - 1, 1)
        assert shell.user_ns["y"].numpy().tolist() == [3.0, 5.0]
        assert ("z" in shell.user_ns) == (options != "-o y")
    assert step.parameters == "(x)"
    assert "hit: trace 1 served" in ran.text


def test_whole_and_local_state(run, shell) -> None:
    run(SETUP + "del v")
    for _ in range(2):
        run("%%tf_function --local-state\nv = tf.Variable(1.0)\nv.assign_add(1.0)\ny = v + 0.0")
        assert shell.user_ns["y"].numpy() == 2.0
        assert "v" not in shell.user_ns, "a variable of one call is gone after it"


def test_checking_a_whole_cell(run, shell) -> None:
    run(SETUP)
    ran = run("%%tf_function step --whole --check\nv.assign_add(1.0)\ny = x * v")
    assert "`step` does the same eagerly and traced" in ran.stdout
    assert (shell.user_ns["v"].numpy(), shell.user_ns["step"].calls) == (2.0, 1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("print(x)", "prints (tf.print writes at each call)"),
        ("display(x)", "displays (show it outside the function)"),
        ("!ls", "displays"),
        ("box.a = x", "stores into `box`"),
        ("d['a'] = x", "stores into `d`"),
        ("seen.append(x)", "calls seen.append()"),
        ("helper(x)", "`helper` calls seen.append()"),
        ("box + x", "`__add__` calls seen.append()"),
        ("random.random()", "draws from Python's random numbers (tf.random draws at each call)"),
        ("np.random.rand()", "draws from NumPy's random numbers"),
        ("time.time()", "reads the clock (tf.timestamp() gives the time at each call)"),
        ("next(it)", "takes from an iterator"),
        ("for each in data: pass", "loops over a dataset"),
        ("x.numpy()", ".numpy() (use the tensor itself)"),
        ("np.sin(x)", "calls np.sin() of numpy"),
        ("text = f'{x}'", "formats a string"),
        ("text = '%s' % x", "formats a string"),
        ("text = str(x)", "str() of a value"),
        ("made = tf.data.Dataset.range(3)", "calls tf.data.Dataset.range"),
        ("made = tf.keras.layers.Dense(1)", "makes a Dense"),
        ("del n", "deletes a name"),
        ("assert x[0] > 5", "asserts"),
    ],
)
def test_python_is_refused_with_its_line(run, refused, shell, line: str, said: str) -> None:
    run(SETUP)
    text = refused(f"%%tf_function step --whole\ny = tf.sin(x)\n{line}").strip()
    assert text.startswith("UsageError: --whole: line 3 ")
    assert said in text
    assert text.endswith("Without --whole these lines run as Python")
    assert "y" not in shell.user_ns, "nothing has run"


def test_every_line_is_named_in_one_line(run, refused) -> None:
    run(SETUP)
    text = refused("%%tf_function --whole\nprint(x)\ny = x * 2.0\nbox.a = y\nhelper(y)\ny.numpy()")
    assert "\n" not in text.strip()
    for said in ("line 2 prints", "line 4 stores into", "line 5 `helper`", "line 6 calls .numpy()"):
        assert said in text


@pytest.mark.parametrize(
    ("options", "cell", "message"),
    [
        ("-i q", "y = x", "--inputs: the notebook has no `q`"),
        ("-i n", "y = x", "--inputs: the cell does not read `n`"),
        ("-o q", "y = x", "--outputs: the cell does not assign `q`"),
        ("-o 1q", "y = x", "`1q` is not a name"),
        ("--whole", "v = v + 1.0", "--whole: the cell reads and replaces `v`"),
        ("x --whole", "y = x", "the cell uses the name `x` itself; give the function another"),
        ("--whole --device CPU:9", "y = x", "--device: there is no `CPU:9`"),
        ('--signature "x: floaty"', "y = x", "--signature: `x` has the unknown dtype `floaty`"),
    ],
)
def test_misuse_is_one_line(run, refused, options: str, cell: str, message: str) -> None:
    run(SETUP)
    text = refused(f"%%tf_function {options}\n{cell}").strip()
    assert text.startswith(f"UsageError: {message}")
    assert "\n" not in text


def test_a_last_expression_without_a_value_shows_nothing(run) -> None:
    run(SETUP)
    assert run("%%tf_function --whole\ny = x * 2.0\ntf.print(y)").result is None


def test_an_assertion_of_tensorflow_is_part_of_the_graph(run, refused, shell) -> None:
    run(SETUP)
    cell = "%%tf_function --whole\ntf.Assert(x[0] > 0, [x])\ny = x * 2.0"
    run(cell)
    assert shell.user_ns["y"].numpy().tolist() == [2.0, 4.0]
    run("x = -x")
    assert "assertion failed: [-1 -2]" in refused(cell)
