"""What is said under a cell of the ways in which it differs from an eager one."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import textwrap

import pytest

from nbfn.notebook.remarks.code_walk import findings_in
from nbfn.notebook.remarks.sources import source_of
from tests.notebook.ordinary_cells import CELLS
from tests.notebook.ordinary_cells import SETUP as ORDINARY

SETUP = """
import logging, os, pathlib, queue, random, subprocess, sys, time, io, itertools
import numpy as np
x = tf.constant([1.0, 2.0])
n = 3
"""


@pytest.fixture
def said(run, tmp_path, monkeypatch):
    """Runs a cell; gives what is said under it."""
    monkeypatch.chdir(tmp_path)
    run(SETUP)

    def said_(cell: str) -> list[str]:
        text = run(f"%%tf_function t\n{cell}").text
        _, found, rest = text.partition("This cell differs from an eager one:")
        return [line.strip() for line in rest.strip().split("\n")] if found else []

    return said_


# Effects in the cell itself -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setup", "call"),
    [
        ("rng = np.random.default_rng(0)", "rng.normal()"),
        ("rng = np.random.RandomState(0)", "rng.rand()"),
        ("rng = random.Random(0)", "rng.random()"),
        ("", "np.random.default_rng()"),
        ("", "random.seed(1)"),
        ("", "tf.random.set_seed(1)"),
        ("it = iter([1, 2, 3])", "next(it)"),
        ("numbers = itertools.count()", "next(numbers)"),
        ("it = iter([1, 2, 3])", "list(it)"),
        ("", "display(3)"),
        ("", "sys.stdout.write('')"),
        ("log = logging.getLogger('quiet')", "log.info('x')"),
        ("file = open('a.txt', 'w')", "file.write('x')"),
        ("", "open('b.txt', 'w')"),
        ("text = io.StringIO()", "text.write('x')"),
        ("", "os.makedirs('c')"),
        ("", "pathlib.Path('d').touch()"),
        ("folder = pathlib.Path('.')", "(folder / 'e').write_text('x')"),
        ("import shutil; open('f', 'w').close()", "shutil.copy('f', 'g')"),
        ("", "subprocess.run(['true'])"),
        ("", "os.environ.setdefault('NBFN_TEST', 'x')"),
        ("", "tf.get_logger().debug('x')"),
        ("from absl import logging as absl_logging", "absl_logging.debug('x')"),
        ("import keras", "keras.utils.set_random_seed(1)"),
        ("import keras; model = keras.Sequential([keras.Input([2])])", "model.summary()"),
        ("", "time.sleep(0)"),
        ("", "time.time()"),
        ("from datetime import datetime", "datetime.now()"),
        ("waiting = queue.Queue()", "waiting.put(1)"),
        ("from time import perf_counter as clock", "clock()"),
        ("from functools import partial; say = print", "say('')"),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_effect_of_python_is_named(said, run, setup: str, call: str) -> None:
    run(setup or "pass")
    shown = call[: call.rindex("(")] + "(…)"
    first = said(f"y = x * 2\n{call};")
    assert len(first) == 1
    assert first[0].startswith(f"line 3: `{shown}` ran because the cell was traced; ")
    second = said(f"y = x * 2\n{call};")
    assert second[0].startswith(f"line 3: `{shown}` did not run, because a trace was there; ")


def test_what_goes_on_in_python_is_named_as_an_assignment_or_a_loop(said, run, monkeypatch) -> None:
    monkeypatch.setenv("NBFN_TEST", "before")
    assert said("os.environ['NBFN_TEST'] = 'x'\ny = x")[0].startswith(
        "line 2: `os.environ['NBFN_TEST'] = …` ran"
    )
    run("numbers = (i for i in range(5))")
    assert "line 3: `for … in numbers` ran" in said("y = x\nfor i in numbers:\n    y = y + i")[0]


def test_an_effect_that_may_not_have_run_is_not_said_to_have_run(said, run) -> None:
    run("def odd(): return n % 2 == 1")
    cell = "if odd():\n    print('odd')\ny = x"
    assert "line 3: `print(…)` runs only while the cell is traced" in said(cell)[0]
    assert "line 3: `print(…)` did not run, because" in said(cell)[0]


def test_ways_that_python_does_not_take_are_left_out(said, run) -> None:
    run("class Options: debug = False\noptions = Options(); log = None")
    cell = (
        "if options.debug: print('a')\nif n > 5 and n != 2: print('b')\n"
        "if log is not None: print('c')\nprint('d') if not n else None\n"
        "options.debug and print('e')\ny = x"
    )
    assert said(cell) == []
    run("options.debug = True")
    assert "lines 2 and 6: `print(…)` ran" in said(cell)[0]


def test_a_value_that_a_loop_changes_decides_nothing(said) -> None:
    cell = "i = 0\nwhile i < 3:\n    i += 1\n    if i == 2:\n        print(i)\ny = x"
    assert "line 6: `print(…)` runs only while" in said(cell)[0]


def test_generators_that_the_cell_seeds_give_the_same_each_time(said) -> None:
    assert said("rng = np.random.default_rng(7)\ny = x * rng.normal()") == []


def test_names_that_the_cell_imports_or_hides_are_told_apart(said) -> None:
    assert "line 3: `rnd.random(…)`" in said("import random as rnd\ny = x * rnd.random()")[0]
    assert "line 3: `sleep(…)`" in said("from time import sleep\nsleep(0)\ny = x")[0]
    assert said("print = len\nprint([1])\ny = x") == []


# Effects in the user's functions --------------------------------------------------------------


def test_an_effect_in_a_function_of_the_notebook(said, run) -> None:
    run("def log(a):\n    b = a\n    print('log', end='')\n    return b")
    cell = "y = x * 2\ny = log(y)"
    for ran in ("ran because the cell was traced", "did not run, because a trace was there"):
        found = said(cell)
        assert len(found) == 1
        assert found[0].startswith("line 3: `print(…)` in `log` (In [")
        assert f", line 3) {ran}; tf.print writes" in found[0]


def test_effects_are_found_through_other_functions(said, run) -> None:
    run("def draw(a):\n    return a * random.random()\n\ndef twice(a):\n    return draw(a) * 2")
    assert "line 2: `random.random(…)` in `draw` (In [" in said("y = twice(x)")[0]


@pytest.mark.parametrize(
    ("setup", "cell", "inside"),
    [
        (
            "class A:\n    def go(self, a):\n        return self.say(a)\n"
            "    def say(self, a):\n        print('')\n        return a\na = A()",
            "y = a.go(x)",
            "`print(…)` in `say`",
        ),
        (
            "class A:\n    def __call__(self, a):\n        print('')\n        return a\na = A()",
            "y = a(x)",
            "`print(…)` in `__call__`",
        ),
        (
            "class A:\n    def __init__(self):\n        print('')",
            "a = A()\ny = x",
            "`print(…)` in `__init__`",
        ),
        (
            "class A:\n    @property\n    def p(self):\n        print('')\n        return 1\n"
            "a = A()",
            "y = x * a.p",
            "`print(…)` in `p`",
        ),
        (
            "class A:\n    @staticmethod\n    def s(a):\n        print('')\n        return a",
            "y = A.s(x)",
            "`print(…)` in `s`",
        ),
        (
            "class A:\n    @classmethod\n    def c(cls, a):\n        cls.d()\n        return a\n"
            "    @classmethod\n    def d(cls):\n        print('')",
            "y = A.c(x)",
            "`print(…)` in `d`",
        ),
        (
            "class T:\n    def __enter__(self): pass\n"
            "    def __exit__(self, *a):\n        print('')",
            "with T():\n    y = x",
            "`print(…)` in `__exit__`",
        ),
        (
            "from contextlib import contextmanager\n@contextmanager\ndef timed():\n    yield\n"
            "    print('')",
            "with timed():\n    y = x",
            "`print(…)` in `timed`",
        ),
        (
            "def aug(a, rng):\n    return a * rng.normal()\nrng = np.random.default_rng(0)",
            "y = aug(x, rng)",
            "`rng.normal(…)` in `aug`",
        ),
        (
            "def apply(f, a):\n    return f(a)\ndef say(a):\n    print('')\n    return a",
            "y = apply(say, x)",
            "`print(…)` in `say`",
        ),
        (
            "from functools import partial\ndef say(t, a):\n    print(t)\n    return a\n"
            "p = partial(say, '')",
            "y = p(x)",
            "`print(…)` in `say`",
        ),
        (
            "def say(a):\n    print('')\n    return a",
            "y = tf.map_fn(say, x)",
            "`print(…)` in `say`",
        ),
        (
            "def say(a, loud=False):\n    if loud: print('')\n    return a",
            "y = say(x, loud=True)",
            "`print(…)` in `say`",
        ),
        ("say = lambda a: print('') or a", "y = say(x)", "`print(…)` in `<lambda>`"),
        (
            "import keras\nclass L(keras.layers.Layer):\n    def call(self, a):\n"
            "        print('')\n        return a\n"
            "m = keras.Sequential([L()])\nx = tf.ones([1, 2])\nm(x)",
            "y = m(x)",
            "`print(…)` in `call`",
        ),
        (
            "from nbfn import nn\nclass N(nn.Module):\n    @nn.compact\n"
            "    def __call__(self, a):\n        print('')\n        return nn.Dense(2)(a)\n"
            "x = tf.ones([1, 2])\nm = N().bind(N().init(nn.key(0), x))",
            "y = m(x)",
            "`print(…)` in `__call__`",
        ),
        (
            "def make():\n    rng = np.random.default_rng(0)\n    def draw(a):\n"
            "        return a * rng.normal()\n    return draw\ndraw = make()",
            "y = draw(x)",
            "`rng.normal(…)` in `draw`",
        ),
        (
            "def fact(k):\n    print('')\n    return 1 if k < 2 else k * fact(k - 1)",
            "y = x * fact(3)",
            "`print(…)` in `fact`",
        ),
    ],
)
def test_an_effect_in_code_that_the_cell_calls(said, run, setup, cell, inside) -> None:
    run(setup)
    found = said(cell)
    assert len(found) == 1
    assert found[0].startswith(f"line 2: {inside} (In [")
    assert "ran because the cell was traced" in found[0] or "runs only" in found[0]


def test_an_effect_in_a_module_of_the_users(said, run, tmp_path, monkeypatch) -> None:
    (tmp_path / "nbfn_test_noise.py").write_text(
        "import random\n\ndef noisy(a):\n    return a * random.random()\n\n"
        "def deep(a):\n    return noisy(a) + 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    run("import nbfn_test_noise\nfrom nbfn_test_noise import deep")
    expected = "line 2: `random.random(…)` in `noisy` (nbfn_test_noise.py, line 4) ran"
    assert said("y = deep(x)")[0].startswith(expected)
    assert said("y = nbfn_test_noise.deep(x) + 1")[0].startswith(expected)
    del sys.modules["nbfn_test_noise"]


def test_code_without_a_source_is_left_alone(said, run, shell) -> None:
    run("exec('def hidden(a):\\n    print(1)\\n    return a')")
    assert said("y = hidden(x)") == []
    run("def log(a):\n    print('')\n    return a")
    file = shell.user_ns["log"].__code__.co_filename
    del linecache.cache[file]
    assert said("y = log(x) + 1") == []
    other = "def other(a):\n    print('')\n    return a\n"
    linecache.cache[file] = (len(other), None, other.splitlines(keepends=True), file)
    source_of.cache_clear()
    assert said("y = log(x) + 2") == []


@pytest.mark.parametrize(
    ("setup", "cell"),
    [
        ("@tf.function\ndef f(a):\n    print('')\n    return a", "y = f(x)"),
        ("def log(a):\n    print('')\n    return a", "y = tf.py_function(log, [x], tf.float32)"),
        (
            "",
            "def log(a):\n    print('')\n    return a\ny = tf.numpy_function(log, [x], tf.float32)",
        ),
        ("def f(a, verbose=False):\n    if verbose: print('')\n    return a", "y = f(x)"),
        ("def f(a):\n    tf.print('', end='')\n    return a", "y = f(x)"),
    ],
)
def test_what_happens_at_each_call_is_not_said(said, run, setup: str, cell: str) -> None:
    run(setup or "pass")
    assert said(cell) == []


def test_the_users_code_is_not_run_to_tell(said, run, shell) -> None:
    run(
        "ran = []\nclass Odd:\n    def __getattr__(self, name):\n        ran.append(name)\n"
        "        raise AttributeError(name)\n    def __eq__(self, other):\n"
        "        ran.append('eq')\n        return True\n    def __hash__(self):\n"
        "        ran.append('hash')\n        return 1\n    def __bool__(self):\n"
        "        ran.append('bool')\n        return True\n    def __call__(self, a):\n"
        "        return a\nodd = Odd()"
    )
    from nbfn.notebook.remarks.remarks import remarks_on  # needs a shell

    body = ast.parse("y = odd(x)\nz = odd.f\nif odd == 1: y = 1\nif odd: y = str(odd)\nodd[0]").body
    remarks_on(body, shell.user_ns)
    assert shell.user_ns["ran"] == []


@pytest.mark.parametrize(
    "members",
    [
        "__module__ = None",
        "@property\n    def __class__(self): raise RuntimeError",
        "@property\n    def __dict__(self): raise RuntimeError",
        "def __getattribute__(self, name): raise RuntimeError",
        "def __getattr__(self, name): raise RuntimeError",
        "def __eq__(self, other): raise RuntimeError\n    __hash__ = None",
    ],
)
def test_an_odd_object_hides_no_other_effect(run, shell, members: str) -> None:
    run(f"{SETUP}class Odd:\n    def go(self): pass\n    {members}\nodd = Odd()")
    code = "odd.go()\nodd.a.b\nodd == 1\nfor i in odd: pass\nf'{odd}'\nodd % 2\nprint(odd)"
    found = findings_in(ast.parse(code).body, shell.user_ns)
    assert [(each.what, each.line) for each in found] == [("print(…)", 7)]


# Many -----------------------------------------------------------------------------------------


def test_the_same_on_several_lines_is_said_once(said) -> None:
    found = said("print('')\ny = x\nprint('')\nprint('')")
    assert len(found) == 1
    assert found[0].startswith("lines 2, 4 and 5: `print(…)` ran")


def test_many_effects_are_named_together(said) -> None:
    cell = (
        "print('')\nlogging.info('')\nsys.stdout.write('')\na = random.random()\n"
        "b = np.random.rand()\nc = random.gauss(0, 1)\ntime.sleep(0)\ny = x * np.random.normal()"
    )
    found = said(cell)
    assert len(found) == 3
    assert found[0].startswith(
        "lines 2, 3 and 4: `print(…)`, `logging.info(…)` and `sys.stdout.write(…)` ran"
    )


# Texts, numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "f'{x}'",
        "f'{x[0]:}'",
        "str(x)",
        "repr(x * 2)",
        "'%s' % x",
        "'%s %d' % (x, n)",
        "'{}'.format(x)",
        "f'{tf.reduce_sum(x)}'",
        "f'{v}'",
        "format(x)",
        "f'{n} {-x!r}'",
    ],
)
def test_the_text_of_a_tensor_is_named(said, run, text: str) -> None:
    run("v = tf.Variable(1.0)")
    for _ in range(2):
        found = said(f"y = x\nt1 = {text}")
        assert len(found) == 1
        assert found[0].startswith("line 3: the text of `")


def test_a_text_that_goes_into_a_graph_operation_is_named(said) -> None:
    assert (
        "line 2: the text of `x`" in said("tf.print(f'{x}', output_stream='file:///dev/null')")[0]
    )


def test_a_text_that_is_part_of_an_effect_is_not_said_twice(said, run) -> None:
    run("def log(a):\n    print(f'{a}')\n    return a")
    assert len(said("print(f'{x}', '%s' % x)\ny = x")) == 1
    assert len(said("y = log(x)")) == 1


def test_a_text_that_is_left_is_found_whatever_made_it(said, run) -> None:
    run("def square(a): return a * a\ntitles = []\ndef named(a): return f'is {a}'")
    assert said("y = x\ns = f'{square(x)}'")[0].startswith("line 3: `s` holds the text of a tensor")
    assert said("y = square(x)\ntitles.append(named(y))")[0].startswith("line 3: ")
    assert "line 2: the text of `a` in `named` (In [" in said("named(x)")[0]
    assert said("f'{square(x)}'")[0].startswith("the value of the last line holds the text")


def test_the_text_of_a_tensor_that_an_object_holds_is_of_its_value(said, run, shell) -> None:
    run("class Held: pass\nheld = Held(); held.t = tf.constant(5)\nk = tf.constant(6)")
    run("def text(): return f'{k}'")
    assert said("t1 = f'{held.t} {held.t.dtype}'\nt2 = text()\ny = x") == []
    assert (shell.user_ns["t1"], shell.user_ns["t2"]) == ("5 <dtype: 'int32'>", "6")


def test_the_text_of_what_is_no_input_is_of_its_value(said, run, shell) -> None:
    run("k = tf.constant(6)")
    text = run("%%tf_function u --inputs x\nt1 = f'{k}'\ny = x").text
    assert shell.user_ns["t1"] == "6"
    assert "differs" not in text


def test_texts_of_python_values_are_ordinary(said) -> None:
    assert (
        said("t1 = f'{n} {x.shape} {x.dtype} {len(x.shape)}'\nt2 = str(n) + '%d' % n\ny = x") == []
    )
    assert said("t3 = 'Tensor(1)'\nt4 = '<tf.Tensor: x>'\ny = x") == []


def test_a_number_that_becomes_a_tensor_is_named(said) -> None:
    for _ in range(2):
        found = said("total = tf.reduce_sum(x)\nz = float(total)\nk = int(x[0])")
        assert [each[:7] for each in found] == ["line 3:", "line 4:"]
        assert "`float(…)` of a tensor gives tensors here" in found[0]
    assert said("for i in range(x.shape[0]):\n    y = x * i\nr = float(n)") == []


@pytest.mark.parametrize(
    ("cell", "said_of"),
    [
        ("if tf.reduce_sum(x) > 1:\n    w = 'big'\nelse:\n    w = 'small'", "line 3: `w` a str"),
        ("w = 1\nif tf.reduce_sum(x) > 1:\n    w = 2", "line 2: `w` an int"),
        ("w = 0\nfor i in tf.range(3):\n    w += n", "line 2: `w` an int"),
        ("w = 0.5\nif tf.reduce_sum(x) > 1:\n    w = w * 2", "line 2: `w` a float"),
        ("w = False\nif tf.reduce_sum(x) > 1:\n    w = True", "line 2: `w` a bool"),
    ],
)
def test_a_constant_that_tensorflow_decides_is_named(said, cell: str, said_of: str) -> None:
    line, kind = said_of.split("` ")
    for _ in range(2):
        assert said(cell) == [
            f"{line}` is a tensor because TensorFlow decides its value; an eager cell leaves {kind}"
        ]


def test_constants_that_python_decides_stay_plain(said) -> None:
    assert said("if n > 1:\n    lab = 'big'\nelse:\n    lab = 'small'\nk = 1\nk += n\ny = x") == []
    assert said("w = tf.constant(1)\nif tf.reduce_sum(x) > 1:\n    w = 2") == []


def test_a_tensor_of_the_notebook_stays_one(said, run) -> None:
    run("w = tf.constant(1)")
    assert said("if tf.reduce_sum(x) > 100:\n    w = 2") == []


# Ordinary cells -------------------------------------------------------------------------------


def test_of_ordinary_cells_nothing_is_said(run) -> None:
    run(ORDINARY)
    wrong = {}
    for cell in CELLS:
        for _ in range(2):
            text = run(f"%%tf_function\n{cell}").text
            if "differs" in text:
                wrong[cell] = textwrap.dedent(text[text.index("differs") :])
    assert wrong == {}
    assert len(CELLS) > 50


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("rows = (i * x for i in range(3))", "`rows` (generator)"),
        ("part = tf.Module()", "`part` (Module)"),
        ("pair = [x, (i for i in range(3))]", "`pair` (generator)"),
        ("(i * x for i in range(3))", "the value of the last line (generator)"),
    ],
)
def test_what_only_a_trace_makes_is_said(run, cell: str, what: str) -> None:
    run("x = tf.constant(1.0)")
    text = run(f"%%tf_function\n{cell}").text
    assert f"{what} is made while the cell is traced; later runs leave the same one" in text


@pytest.mark.parametrize(
    "cell",
    [
        "it = iter([x, x])",
        "also = rows",
        "f = lambda z: z + x",
        "m = mean",
        "b = Box(); b.m = mean",
    ],
)
def test_what_is_made_again_or_was_there_is_not_said(run, cell: str) -> None:
    run(
        "x = tf.constant(1.0); rows = (i for i in range(3)); mean = tf.keras.metrics.Mean()\n"
        "class Box: pass"
    )
    assert "later runs" not in run(f"%%tf_function\n{cell}").text


def test_sentences_stand_in_the_order_of_the_lines(run) -> None:
    run("x = tf.constant(2.0)")
    cell = (
        "if x > 1:\n    label = 'big'\nelse:\n    label = 'small'\nprint(1)\n"
        "note = f'{tf.reduce_sum(x)}'\nnumber = int(x)"
    )
    said = run(f"%%tf_function\n{cell}").text.partition("differs from an eager one:")[2]
    lines = [int(each) for each in re.findall(r"line (\d+):", said)]
    assert len(lines) >= 4
    assert lines == sorted(lines)


CAUGHT = """%%tf_function
if n > 0:
    try:
        raise ValueError
    except ValueError as e:
        z = x + 1
else:
    z = x"""


def test_a_name_of_an_exception_that_stays_is_named(run) -> None:
    run("x = tf.ones([2]); n = 3; e = 'before'")
    assert "line 5: `e` stays as it was" in run(CAUGHT).text
    run("del e")
    assert "differs" not in run(CAUGHT).text
    assert run("'e' in globals()").result is False


@pytest.mark.parametrize(
    ("start", "count", "is_said"),
    [("None", "(s.n or 0) + 1", True), ("0", "s.n + 1", False), ("None", "int(x.shape[0])", False)],
)
def test_what_a_run_of_two_traces_computes_twice_is_named(
    run, start: str, count: str, is_said: bool
) -> None:
    run(
        "x = tf.ones([2])\n"
        f"class Made:\n    def __init__(s): s.w, s.n = None, {start}\n"
        f"    def __call__(s, x):\n        s.n = {count}\n"
        "        if s.w is None: s.w = tf.Variable(1.0)\n        return x * s.w * s.n\n"
        "made = Made()"
    )
    ran = run("%%tf_function\ny = made(x)")
    assert ("`made.n` was changed by a run that made variables" in ran.text) is is_said
