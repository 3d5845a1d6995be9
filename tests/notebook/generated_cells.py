"""Cells for property tests: what users write, over a notebook with something of everything."""

from __future__ import annotations

from hypothesis import strategies as st

SETUP = """
import contextlib
import numpy as np
import tensorflow as tf

class Box:
    def __init__(self):
        self.count = 0
        self.items = []

x = tf.constant([1.0, 2.0]); y = tf.constant([3.0, 4.0])
n = 3; k = 2; text = 'abc'
v = tf.Variable([1.0, 1.0]); w = tf.Variable(2.0)
L = [tf.constant([1.0, 1.0]), tf.constant([2.0, 2.0])]
empty = []; mixed = [Box(), 1]; numbers = [1, 2]; pairs = [[x], [y]]; row = None
d = {'a': tf.constant([1.0, 1.0]), 'b': tf.constant([5.0, 6.0])}
a = np.array([1.0, 2.0], np.float32)
box = Box(); history = []; counter = 0; seen = set()
alias = mixed
gone = 1
def twice(z): return z * k
def log(z):
    history.append(z)
    return z + 1
def remember(container, key, z): container[key] = z
def count():
    global counter
    counter += 1
    return counter
"""

TAPE = "with tf.GradientTape() as tape:"

tensors = st.sampled_from(
    [
        *["x", "y", "x + y", "x * n", "twice(x)", "v * x", "w + y", "L[0]", "L[-1]", "d['a'] + x"],
        *[
            "sum(L)",
            "log(x)",
            "tf.stack(L)[0]",
            "x[::-1]",
            "-y",
            "x if n > 2 else y",
            "y * a.mean()",
        ],
        *["tf.nn.relu(x - 1.5)", "tf.where(x > 1, x, y)", "x + sum([m for m in numbers])"],
    ]
)
numbers = st.sampled_from(
    [
        *["n", "k + 1", "len(L)", "x.shape[0]", "n * 2.5", "text.upper()", "[n, k]", "{'p': n}"],
        *["(n, k)", "n > 2", "None", "len(numbers)", "[i * n for i in range(3)]", "box.count"],
    ]
)
conditions = st.sampled_from(
    [
        *["n > 2", "n > 5", "len(empty) == 0", "tf.reduce_sum(x) > 1", "tf.reduce_sum(x) > 100"],
    ]
)
targets = st.sampled_from(["x", "y", "z", "t"])
simple = st.one_of(
    st.builds("{} = {}".format, targets, tensors),
    st.builds("{} += {}".format, st.sampled_from(["x", "y"]), tensors),
    st.builds("{} = {}".format, st.sampled_from(["n", "p", "q"]), numbers.filter(bool)),
    st.builds("z, (t, *rest) = {}, [{}, {}]".format, tensors, tensors, numbers),
    st.builds("v.assign_add({})".format, tensors),
    st.builds("u = w.assign_sub({})".format, st.sampled_from(["1.0", "tf.reduce_sum(x)"])),
    st.builds("{}.append({})".format, st.sampled_from(["L", "empty", "history"]), tensors),
    st.builds("{}.append({})".format, st.sampled_from(["mixed", "numbers"]), numbers),
    st.builds("L += [{}]".format, tensors),
    st.builds("d['c'] = {}".format, tensors),
    st.builds("remember(d, 'b', {})".format, tensors),
    st.builds("remember(L, 0, {})".format, tensors),
    st.builds("box.last = {}".format, tensors),
    st.builds("box.items.append({})".format, tensors),
    st.builds("made = Box(); made.last = {}; box.inner = made".format, tensors),
    st.builds("Box.kind = {}".format, tensors),
    st.builds("twice.last = {}".format, tensors),
    st.builds("def g(z, k={}): return z + k\nt = g({})".format, tensors, tensors),
    st.builds("pairs[0].append({}); first = pairs[0]".format, tensors),
    st.sampled_from(
        [
            *["box.count += 1", "seen.add(n)", "del gone", "a[0] = 7.0", "also = mixed", "M = L"],
            *["pair = [x, y]; other = pair", "import math as m; p = m.floor(2.5)", "p = count()"],
            *["ys = [each * 2 for each in L]", "zs = {key: each + 1 for key, each in d.items()}"],
            *["total = (half := x / 2) + y", "b = a.sum()", "f = lambda z: z * n; t = f(x)"],
            *["sorted = sorted([n, k])", "numbers.sort(reverse=True)", "L.reverse()", "d.pop('a')"],
            *["with contextlib.suppress(KeyError):\n    p = {}['no']", "note = '''one\n  two'''"],
            *["def g(z):\n    return z + n\nt = g(x)", "class K:\n    size = n\np = K.size"],
            *["pairs[0], pairs[1] = pairs[1], pairs[0]", "L, empty = empty, L"],
            *["old = d; d = {**d}", "old = box; box = Box()", "row = a[:1]", "row = a; a = a * 2"],
            *["each = [Box() for i in range(2)]; each[0].up = each", "box.other = alias"],
            *["p = (n +\n  k)", "p = n + \\\n  k", "note = f'''{n}\n{k}'''", "assert n"],
            *["try:\n    p = 1 / 0\nexcept ZeroDivisionError as gone:\n    p = 0"],
            *["try:\n    p = 1\nexcept ZeroDivisionError as gone:\n    p = 0"],
            *[f"{TAPE}\n    loss = tf.reduce_sum(v * x)\ng = tape.gradient(loss, v)"],
        ]
    ),
)


def _indented(code: str) -> str:
    quoted = "'''" in code
    return code if quoted else "\n".join("    " + line for line in code.split("\n"))


# AutoGraph does not know that an exception's name is taken away in a branch.
flat = simple.filter(lambda code: "'''" not in code and "as gone" not in code)
blocks = st.one_of(
    st.builds("if {}:\n{}".format, st.sampled_from(["n > 2", "n > 5"]), flat.map(_indented)),
    st.builds(
        "if {}:\n    {target} = {}\nelse:\n    {target} = {}".format,
        conditions,
        tensors,
        tensors,
        target=targets,
    ),
    st.builds("if {}:\n    x = {}".format, conditions, tensors),
    st.builds("for i in range(2):\n{}".format, flat.map(_indented)),
    st.builds("for i in tf.range(2):\n    x = x + {}".format, st.sampled_from(["y", "1.0"])),
    st.builds("for each in L:\n    y = y + each".format),
    st.builds("while tf.reduce_sum(x) < {}:\n    x = x + 1.0".format, st.integers(0, 9)),
    st.builds("while n < {}:\n    n += 1\n    y = y + n".format, st.integers(0, 6)),
    st.builds("if {}:\n    del gone".format, st.sampled_from(["n > 2", "n > 5"])),
)
statements = st.one_of(simple, simple, blocks)
endings = st.one_of(
    st.just(""), tensors, numbers, st.sampled_from(["v.assign_add(x)", "L", "d", "x;", "pair"])
)
cells = st.builds(
    lambda body, end: "\n".join([*body, end]).strip("\n"),
    st.lists(statements, min_size=1, max_size=4),
    endings,
)
