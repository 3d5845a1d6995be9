"""What a body takes and leaves, construct by construct, and the options that say it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import nbfn

SETUP = "import numpy as np\nx = tf.constant([1.0, 2.0]); n = 3; k = 2\na = np.array([1.0, 3.0])"


@pytest.mark.parametrize(
    ("code", "parameters"),
    [
        ("y = x * n", "(x, n)"),
        ("x += n", "(x, n)"),
        ("y, *rest = x, n", "(x, n)"),
        ("ys = [x * i for i in range(n)]", "(n, x)"),
        ("y = (m := n) * x", "(n, x)"),
        ("n = 5; y = x * n", "(x)"),
        ("def f(z): return z * n\ny = f(x)", "(n, x)"),
        ("class K:\n    size = n\ny = x * K.size", "(n, x)"),
        ("if n > 2:\n    y = x\nelse:\n    y = x * k", "(n, x, k)"),
        ("import math\ny = x * math.floor(2.5)", "(x)"),
        ("y = tf.abs(x)", "(x)"),
        ("y = a.mean() * x", "(x)"),
        ("y = np.mean(a) * x", "(x)"),
        ("y = a * x", "(a, x)"),
        ("y = a[0] * x", "(a, x)"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_inputs(run, shell, code: str, parameters: str) -> None:
    run(SETUP)
    run("%%tf_function cell --define\n" + code)
    assert shell.user_ns["cell"].parameters == parameters


def test_names_that_are_builtins(run, shell) -> None:
    run(SETUP)
    run("%%tf_function\nsum = sum([n, k])\nmax = x\nz = min(n, k)")
    assert (shell.user_ns["sum"], shell.user_ns["z"]) == (5, 2)
    assert isinstance(shell.user_ns["max"], tf.Tensor)


@pytest.mark.parametrize(
    ("n", "gone"), [(3, True), (1, False)], ids=["taken away", "left where it was"]
)
@pytest.mark.parametrize(
    "code",
    [
        "if n > 2:\n    del old",
        "try:\n    y = 1 / max(3 - n, 0)\nexcept ZeroDivisionError as old:\n    y = 0",
    ],
)
def test_names_that_are_taken_away_on_one_way(run, shell, code, n: int, gone: bool) -> None:
    run(f"old = 'value'; n = {n}")
    run("%%tf_function\n" + code)
    assert ("old" not in shell.user_ns) is gone


def test_arrays_keep_their_methods(run, shell) -> None:
    run(SETUP)
    cell = "%%tf_function\nb = a.mean()\ny = x * b"
    run(cell)
    assert shell.user_ns["b"] == 2.0
    assert isinstance(shell.user_ns["b"], np.floating)
    run("a[0] = 5.0")
    run(cell)
    assert shell.user_ns["y"].numpy().tolist() == [4.0, 8.0]


def test_the_value_of_an_assignment_is_displayed(run, shell) -> None:
    run("v = tf.Variable(1.0)")
    for expected in (3.0, 5.0):
        ran = run("%%tf_function\nu = v.assign_add(1)\nv.assign_add(1)")
        assert ran.result.numpy() == expected
        assert shell.user_ns["u"].numpy() == expected


def test_called_by_hand_it_returns_its_outputs_by_name(run, shell) -> None:
    run(SETUP + "\nv = tf.Variable(1.0)")
    run("%%tf_function cell\ny = x * n\nparts = {'p': [y, y + 1]}\nname = 'text'\ny + 2")
    by_hand = run("cell(x, 2)").result
    assert by_hand["y"].numpy().tolist() == [2.0, 4.0]
    assert by_hand["parts"]["p"][1].numpy().tolist() == [3.0, 5.0]
    assert by_hand["result"].numpy().tolist() == [4.0, 6.0]
    assert by_hand.keys() == {"y", "parts", "result"}
    run("%%tf_function value\nx * n")
    assert run("value(x, 2)").result.numpy().tolist() == [2.0, 4.0]
    run("%%tf_function step\nv.assign_add(1.0)")
    assert run("step()").result.numpy() == 3.0


# Options --------------------------------------------------------------------------------------


def test_inputs_and_outputs_can_be_said(run, shell) -> None:
    run(SETUP)
    run("%%tf_function cell -i x -o y\nt = x * n\ny = t + k")
    assert shell.user_ns["cell"].parameters == "(x)"
    assert "t" not in shell.user_ns
    assert shell.user_ns["y"].numpy().tolist() == [5.0, 8.0]
    run("n = 4")
    run("%%tf_function cell -i x -o y\nt = x * n\ny = t + k")
    assert shell.user_ns["y"].numpy().tolist() == [6.0, 10.0]


@pytest.mark.parametrize(
    "signature",
    ["x: float32[None], n: int32", "[tf.TensorSpec([None]), tf.TensorSpec([], tf.int32)]"],
)
def test_a_signature_makes_one_trace_serve(run, shell, signature: str) -> None:
    cell = f'%%tf_function cell --signature "{signature}"\ny = x * tf.cast(n, tf.float32)'
    for size, n in ((2, 3), (4, 5)):
        run(f"x = tf.ones([{size}]); n = tf.constant({n})")
        run(cell)
        assert shell.user_ns["y"].numpy().tolist() == [float(n)] * size
    assert len(shell.user_ns["cell"].traces) == 1
    run('%%tf_function --signature "q: float32[?, 2]"\ndef f(q):\n    return q')
    assert run("f(tf.ones([7, 2]))").result.shape == (7, 2)


def test_relax_lets_traces_cover_sizes(run, shell) -> None:
    for size in (1, 2, 3, 4):
        run(f"x = tf.ones([{size}])")
        run("%%tf_function cell --relax\ny = x + 1")
    assert len(shell.user_ns["cell"].traces) == 2


def test_a_strategy(run, shell) -> None:
    run(SETUP + "\nstrategy = tf.distribute.OneDeviceStrategy('CPU:0')")
    run(
        "%%tf_function --strategy strategy\nreplicas = tf.distribute.get_strategy()"
        ".num_replicas_in_sync\ny = x * replicas"
    )
    assert shell.user_ns["y"].numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-i q", "--inputs: the notebook has no `q`"),
        ("-i k", "--inputs: the cell does not read `k`"),
        ("-i x", "--inputs: the cell reads and then changes `n`; add it"),
        ("-o q", "--outputs: the cell does not assign `q`"),
        ("-o 3", "`3` is no name"),
        ("--strategy x", "--strategy: `x` is no tf.distribute strategy"),
        ('--signature "x: float33"', "--signature: `x` has the unknown dtype `float33`"),
        ('--signature "x float32"', "--signature: cannot read `x float32`"),
        ('--signature "x: float32[two]"', "--signature: `x` has the shape [two]"),
        ('--signature "x: float32"', "--signature names `x`; the parameters are `x`, `n`"),
        ('--signature "[1 / 0]"', "--signature: ZeroDivisionError"),
        ('--signature "[x]"', "--signature has 1 entries; the parameters are `x`, `n`"),
        ("--stance slow", "argument --stance: invalid choice: 'slow'"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, refused, line: str, message: str) -> None:
    run(SETUP)
    text = refused(f"%%tf_function {line}\nn = x * n").strip()
    assert text.startswith("UsageError: " + message)
    assert "\n" not in text


@pytest.mark.parametrize("option", ["-i x", "-o y", "--device CPU:0", "--check"])
def test_options_for_bodies_are_refused_for_definitions(refused, option: str) -> None:
    text = refused(f"%%tf_function {option}\ndef f(x):\n    return x")
    assert "is for a cell that runs; " in text
    assert len(text.strip().split("\n")) == 1


def test_a_strategy_that_is_not_there_is_refused_before_definitions_run(refused, shell) -> None:
    text = refused("%%tf_function --strategy s\ndef f(x):\n    return x")
    assert text.strip() == (
        "UsageError: --strategy: `s` is no tf.distribute strategy of the notebook"
    )
    assert "f" not in shell.user_ns


def test_a_stance_of_definitions_is_theirs(run, shell) -> None:
    run(SETUP)
    definition = "%%tf_function{}\ndef f(x):\n    return x"
    run(definition.format(" --stance fail_on_retrace"))
    f = shell.user_ns["f"]
    run("f(x)")
    with pytest.raises(nbfn.NbfnError, match="would retrace"):
        run("f(tf.ones([7]))")
    run(definition.format(" --stance fail_on_retrace"))
    assert shell.user_ns["f"] is f
    run(definition.format(""))
    assert shell.user_ns["f"].stance is None


# What differs is said -------------------------------------------------------------------------


def test_python_effects_are_named_by_line(run) -> None:
    run(SETUP + "\nimport random, time")
    cell = "%%tf_function cell\n\ny = x * 2\nprint('traced')\nr = random.random()"
    first = run(cell).text
    assert "line 4: `print(…)` ran because the cell was traced; tf.print" in first
    assert "line 5: `random.random(…)` ran" in first
    second = run(cell).text
    assert "line 4: `print(…)` did not run, because a trace was there" in second


def test_arrays_and_tapes_are_named(run) -> None:
    run(SETUP + "\nv = tf.Variable(1.0)")
    said = run("%%tf_function\nwith tf.GradientTape() as tape:\n    y = v * 2\nz = a * 2").text
    assert "`a`: a NumPy array is a tensor in a traced cell" in said
    assert "`tape` ended with the trace" in said
    assert "differs" not in run("%%tf_function\ny = x * 2").text
