"""Python's constructs in a traced cell: each leaves what an eager cell leaves, or is explained."""

# ruff: noqa: E501 - each cell is one string

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

SETUP = (
    "import contextlib\n"
    "x = tf.constant([1.0, -2.0, 3.0]); y = tf.constant(2.0); t = tf.constant(5); n = 3; L = [1, 2]\n"
    "v = tf.Variable(1.0); o = tf.constant(True); ds = tf.data.Dataset.range(4)"
)
SAME = [
    "z = (h := x / 2) + 1",
    "if (s := tf.reduce_sum(x)) > 1:\n    z = s * 2\nelse:\n    z = s",
    "i = tf.constant(0)\nwhile (q := i * 2) < 10:\n    i += 1\nz = q",
    "ys = [w := k * x for k in range(2)]",
    "ys = [w for k in L if (w := k * 2) > 2]",
    "h2 = (h := x[0]) + 1\nif tf.reduce_sum(x) > 0:\n    z = h\nelse:\n    z = -h",
    "z = tf.add(h := x, h)",
    "match n:\n    case 3:\n        z = x\n    case _:\n        z = -x",
    "match t:\n    case 5:\n        z = x\n    case _:\n        z = -x",
    "match n:\n    case 3:\n        z = x\n    case _:\n        z = -x\nif y > 1:\n    z = z * 2",
    "with tf.name_scope('a') as sc:\n    z = x\n    if y > 1:\n        z = z * 2",
    "import contextlib\n@contextlib.contextmanager\ndef pair():\n    yield 1, 2\nwith pair() as (a, b):\n    z = x * a * b",
    "first, *rest = [x, y, t]\nz = [*rest, first]",
    "z = tf.stack([*[x, x]])\nq = tf.add(*[x, x])\nd = {**{'a': x}, 'b': y}",
    "s = f'{n=} {n:>5}'",
    "s = f'{x.shape=}'",
    "z = y\nfor i in tf.range(3):\n    try:\n        z = z + 1\n    finally:\n        z = z * 2",
    "z = y\nfor i in range(3):\n    try:\n        z = z / (i - 1)\n    except ZeroDivisionError:\n        z = z + 5",
    "z = y\nfor i in tf.range(10):\n    if z > 5:\n        break\n    z = z + 1",
    "z = y\nfor i in tf.range(10):\n    if i % 2 == 0:\n        continue\n    z = z + tf.cast(i, tf.float32)",
    "z = y\nfor i in tf.range(3):\n    for j in tf.range(3):\n        if j > i:\n            break\n        z += 1.0\n    if z > 4.0:\n        break",
    "z = y\nfor i in tf.range(3):\n    if z > 100:\n        break\n    z += 1.0\nelse:\n    z = -z",
    "z = y\nfor i in tf.range(30):\n    if z > 5:\n        break\n    z += 1.0\nelse:\n    z = -z",
    "z = y\nwhile z < 5:\n    z += 1.0\nelse:\n    z = -z",
    "for i in range(3):\n    if i == 5:\n        break\nelse:\n    z = x",
    "def outer(a):\n    c = a\n    def inner():\n        nonlocal c\n        c = c + 1\n        return c\n    inner()\n    return inner()\nz = outer(y)",
    "def outer(a):\n    c = a\n    def inner():\n        nonlocal c\n        if a > 1:\n            c = c + 1\n        return c\n    inner()\n    return inner()\nz = outer(y)",
    "def g():\n    global total\n    total = y * 2\ng()",
    "f = lambda a: a * 2 if a > 1 else a\nz = f(y)",
    "f, g = (lambda a: a + 1 if a > 1 else a), (lambda a: a - 1 if a > 1 else a)\nz = f(y) + g(y)",
    "z = sum(k * y for k in range(3))",
    "def gen():\n    for k in range(3):\n        yield k * y\nz = [g for g in gen()]",
    "z = [k if y > 1 else -k for k in [y, y]]",
    "z = x if 1 < y < 3 else -x",
    "if 1 < y <= 3 < n + 1:\n    z = x\nelse:\n    z = -x",
    "assert x.shape == (3,)\nz = x",
    "tmp = x * 2\nz = tmp + 1\ndel tmp",
    "D = {'a': x, 'b': y}\ndel D['a']\nz = D['b']",
    "z = x if (y > 1 and not y > 5) or y < -1 else -x",
    "z = n in [1, 2, 3]",
    "z = (y == 2.0)\nw = y != 2.0",
    "i = 0\nwhile i < 3:\n    i += 1\nz = x * i",
    "def f(a):\n    if a > 1:\n        return a\n    return -a\nz = f(y)",
    "z = (x if y > 1 else -x) if y < 5 else x * 3",
    "L2 = list(L)\nL2[0:1] = [5, 6]\nz = x * L2[0]",
    "z: tf.Tensor = x * 2\nk: int",
    "def deco(f):\n    def g(a):\n        return f(a) * 2\n    return g\n@deco\ndef h(a):\n    return a + 1 if a > 0 else a\nz = h(y)",
    "größe = x * 2\nπ = 3\nα_β = größe * π",
    "class A:\n    def f(self, a):\n        return a + 1\nclass B(A):\n    def f(self, a):\n        if a > 1:\n            a = a * 2\n        return super().f(a)\nz = B().f(y)",
    "z = y\nfor e in x:\n    z += e",
    "z = len(x)",
    "z = float(n)",
    "if n > 2:\n    import math\nz = math.pi * x",
    "for a, *b in [(1, 2, 3), (4, 5, 6)]:\n    z = x * a",
    "D = {k: x * k for k in range(2)}",
    "fs = [lambda a, k=k: a * k for k in range(3)]\nz = [f(x) for f in fs]",
    "z = [[a * b for a in range(2)] for b in range(2)]",
    "try:\n    q = 1\nexcept* ValueError:\n    q = 2\nz = x",
    "for i in tf.range(3):\n    w = i * 2\nz = w",
    "f = lambda a: (b := a * 2) + b\nz = f(y)",
    "z = x[..., None]\n...",
    "m = tf.eye(2)\nm @= m",
    "def f(a):\n    if (b := a * 2) > 3:\n        return b\n    return a\nz = f(y)",
    "def f(a):\n    match n:\n        case 3:\n            a = a * 2\n    if a > 3:\n        return a * 2\n    return a\nz = f(y)",
    "import dataclasses\n@dataclasses.dataclass\nclass P:\n    a: float = 1.0\np = P()\nz = x * p.a",
]


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if tf.is_tensor(value) or isinstance(value, np.ndarray):
        return np.asarray(value).tolist()
    return value if isinstance(value, (bool, int, float, str)) else getattr(value, "__name__", None)


def left(shell: Any, run: Any, cell: str) -> dict[str, Any]:
    """What two runs leave in a notebook; what was there before is put back."""
    run(SETUP)
    before = set(shell.user_ns)
    for _ in range(2):
        run(cell)
    names = {
        n: v for n, v in shell.user_ns.items() if not n.startswith("_") and n not in ("In", "Out")
    }
    for name in set(shell.user_ns) - before:
        del shell.user_ns[name]
    return {name: plain(value) for name, value in names.items()}


@pytest.mark.parametrize("cell", SAME)
def test_it_leaves_what_an_eager_cell_leaves(run, shell, cell: str) -> None:
    eager = left(shell, run, cell)
    assert left(shell, run, "%%tf_function\n" + cell) == eager


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            "z = y if (o and (p := y > 1)) else x[0]",
            "AutoGraph leaves a function with `:=` (line 2)",
        ),
        (
            "match (n, y):\n    case (3, 2):\n        z = x\n    case _:\n        z = -x",
            "AutoGraph leaves a function with `match` (line 2)",
        ),
        (
            "z = [k for k in [1, 2, 3] if y > 1]",
            "line 2: a tensor has no value while it is traced, and a comprehension",
        ),
        (
            "z = 1\nz = [k * 2 for k in x]",
            "line 3: a tensor has no value while it is traced, and a comprehension",
        ),
        (
            "assert y > 1, 'too small'",
            "line 2: a tensor has no value while it is traced, and `assert`",
        ),
        ("a = any([y > 1])", "`any` is Python's; use tf.reduce_any"),
        ("b = max(x[0], x[1])", "`max` is Python's; use tf.maximum"),
        ("for i, e in enumerate(x):\n    y += e", "`enumerate` is Python's; use tf.range"),
        (
            "def gen(a):\n    if a > 1:\n        yield a\nz = list(gen(y))",
            "line 3: a tensor has no value while it is traced, and AutoGraph leaves generators",
        ),
        (
            "def f(a):\n    for i in tf.range(5):\n        if i > 3:\n            return a\n    return a + 1\nz = f(y)",
            "cannot be left by `return`; assign the result to a name, `break`",
        ),
        (
            "if y > 100:\n    raise ValueError('big')",
            "line 3: TensorFlow decides by a tensor whether this runs",
        ),
        (
            "try:\n    tf.debugging.assert_greater(y, 100.0)\nexcept tf.errors.InvalidArgumentError:\n    z = 5",
            "line 3: `except` catches what Python raises while the function is traced",
        ),
        (
            "s = y\nwhile True:\n    s = s * 2\n    if s > 10:\n        break",
            "begin with a tensor: `while tf.constant(True):`",
        ),
        ("if y > 1:\n    new = x", "line 2: TensorFlow decides this by a tensor"),
        (
            "for e in ds:\n    last = e\nz = last",
            "a loop that may run no turn gives `last` its first value",
        ),
    ],
)
def test_what_cannot_be_traced_is_explained(run, refused, cell: str, said: str) -> None:
    run(SETUP)
    assert said in refused("%%tf_function\n" + cell)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("z = int(y)", "line 2: `int(…)` of a tensor gives tensors here, not a number"),
        (
            "z = 0\nfor i in range(t):\n    z += i",
            "line 3: `range(…)` of a tensor gives tensors here",
        ),
        (
            "exec('q = 5')",
            "line 2: `exec(…)` ran because the cell was traced; names that it assigns",
        ),
    ],
)
def test_what_differs_is_said_by_line(run, cell: str, said: str) -> None:
    run(SETUP)
    assert said in run("%%tf_function\n" + cell).text


def test_a_raise_that_python_decides_is_pythons_own(run, refused) -> None:
    run(SETUP)
    text = refused("%%tf_function\nif n > 2:\n    raise ValueError('big')")
    assert "ValueError: big" in text
    assert "TensorFlow decides" not in text


def test_a_loop_over_a_data_set_runs_and_names_what_it_does_not_leave(run, shell) -> None:
    run(SETUP)
    run("total = tf.constant(0, tf.int64)")
    cell = "%%tf_function fit\nfor e in ds:\n    total += e\n    twice = e * 2\ntotal"
    for expected in (6, 12):
        ran = run(cell)
        assert ran.result.numpy() == expected
        for name in ("e", "twice"):
            assert f"`{name}` is not left in the notebook, because a loop gives it" in ran.text
            assert name not in shell.user_ns
    assert shell.user_ns["fit"].hits == 1
    run("%%tf_function fit\ne = tf.constant(0, tf.int64)\nfor e in ds:\n    total += e")
    assert shell.user_ns["e"].numpy() == 3


def test_classes_and_functions_of_a_cell_are_the_notebooks(run, shell) -> None:
    run(SETUP)
    for magic in ("%%tf_function made", "%%tf_function --no-autograph"):
        run(
            magic + "\nclass Box:\n    class Inner:\n        def get(self): return 1\n"
            "    @staticmethod\n    def put(): return 2\ndef f(x):\n    return lambda: x\ninner = f(1)"
        )
        box, f = shell.user_ns["Box"], shell.user_ns["f"]
        assert [box.__qualname__, box.Inner.__qualname__] == ["Box", "Box.Inner"]
        assert [box.Inner.get.__qualname__, box.put.__qualname__] == ["Box.Inner.get", "Box.put"]
        assert [f.__qualname__, shell.user_ns["inner"].__qualname__] == ["f", "f.<locals>.<lambda>"]
