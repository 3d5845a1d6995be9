"""Random cells for property tests: small programs over a notebook with something of everything."""

from __future__ import annotations

import re
import textwrap

from hypothesis import strategies as st

SETUP = """
a = tf.constant([1.0, 2.0]); b = tf.constant([0.5, -1.0]); c = tf.constant(3.0)
m, n, f, flag, word = 2, 3, 0.5, True, "w"
v = tf.Variable(1.0); w = tf.Variable([1.0, 1.0])
items = [a]; log = []; named = {"a": a}; array = np.array([1.0, 2.0], np.float32)
total, count = 0.0, 0

class Box:
    def __init__(self, value):
        self.value, self.reads = value, 0

    @property
    def read(self):
        self.reads += 1
        return self.value

    def __call__(self, t):
        return t + self.value

box = Box(tf.constant(2.0))

def pure(t, k=2.0):
    if isinstance(k, int):
        return t + k
    return tf.tanh(t) * k

def noting(t):
    log.append(t)
    return t + 1.0

def counting(t):
    global count
    count += 1
    return t * count

def of_globals(t):
    return t * m + a

def of_variable(t):
    return t * v + w

def bump(variable, t):
    variable.assign_add(tf.ones_like(variable) * tf.reduce_mean(t))
    return variable + 0.0

def extended(container, t):
    container.append(t)
    return container
"""
"""All tensors of it are of shape `()` or `(2,)`, so that any two of them go together."""

_TENSORS = ("a", "b", "c")
_NUMBERS = ("m", "n")

_leaves = st.sampled_from(
    [*_TENSORS * 3, "w", "v", "items[-1]", "named['a']", "box.value", "box.read", "tf.constant(f)"]
)
_numbers = st.sampled_from(
    [
        *[
            "m",
            "n",
            "m + 1",
            "n * n % 100003",
            "n - m",
            "len(items)",
            "a.shape.rank",
            "-m",
            "m / 2",
        ],
        *[
            "2",
            "f",
            "f * m",
            "n // 2",
            "max(m, n)",
            "[1, 2, 3][int(m) % 3]",
            "int(flag)",
            "2 ** 33 % n1",
        ],
    ]
).map(lambda text: text.replace("n1", "(abs(n) + 1)"))


def _of_tensors(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} + {}".format, inner, inner),
        st.builds("({}) * ({})".format, inner, _numbers),
        st.builds("{} - {}".format, inner, st.sampled_from(["1.0", "m", "f", "b"])),
        st.builds("tf.maximum({}, {})".format, inner, inner),
        st.builds("tf.reduce_sum({})".format, inner),
        st.builds("tf.where({0} > 1.0, {0}, {1})".format, inner, inner),
        st.builds("tf.cast({} > {}, tf.float32)".format, inner, inner),
        st.builds(
            "{}({})".format,
            st.sampled_from(
                ["pure", "of_globals", "of_variable", "box", "tf.square", "tf.identity", "-"]
            ),
            inner,
        ),
        st.builds("{}({})".format, st.sampled_from(["noting", "counting"]), inner),
        st.builds("pure({}, {})".format, inner, _numbers),
        st.builds("bump({}, {})".format, st.sampled_from(["v", "w"]), inner),
        st.builds("tf.stack([{0}, {1}])[0]".format, *[st.sampled_from(["a", "b", "w"])] * 2),
        st.builds("({} if flag else {})".format, inner, inner),
        st.builds("sum([{}, {}])".format, inner, inner),
        st.builds("(lambda t: t * m)({})".format, inner),
        st.just("tf.convert_to_tensor(array)"),
        st.just("tf.random.uniform(())"),
    )


tensors = st.recursive(_leaves, _of_tensors, max_leaves=3)
conditions = st.one_of(
    st.sampled_from(["flag", "m > 2", "n % 2 == 0", "len(items) < 4", "count", "not flag"]),
    st.builds("tf.reduce_sum({}) > {}".format, tensors, st.sampled_from(["0.0", "3.0", "m"])),
)
_names = st.sampled_from(_TENSORS)
_anything = st.one_of(tensors, _numbers, st.sampled_from(["items", "named", "(a, n)", "word"]))

_assignments = st.one_of(
    st.builds("{} = {}".format, _names, tensors),
    st.builds("{} = {}".format, _names, tensors),
    st.builds("{} {}= {}".format, _names, st.sampled_from(["+", "-", "*"]), tensors),
    st.builds("{} = {}".format, st.sampled_from(_NUMBERS), _numbers),
    st.builds("{} = {}".format, _names, _names),
    st.builds("{}, {} = {}, {}".format, _names, _names, _names, tensors),
    st.builds("{} = {}, {}".format, st.just("pair"), tensors, _anything),
    st.builds("x = y = {}".format, _anything),
    st.builds("first, *others = {}, {}, {}".format, tensors, _anything, _names),
    st.builds("if (half := {} / 2) is not None: c = half + 1".format, tensors),
)
_python = st.one_of(
    st.builds("print({})".format, st.sampled_from(["m", "n", "count", "len(items)", "word"])),
    st.builds('print(f"{{tf.reduce_sum({}):.4f}}", {})'.format, tensors, _numbers),
    st.builds("print({}.numpy())".format, _names),
    st.builds("total += float(tf.reduce_sum({}))".format, tensors),
    st.builds("total = total + tf.reduce_sum({})".format, tensors),
    st.builds("f = float(tf.reduce_mean({}))".format, tensors),
    st.builds("n = int(tf.reduce_sum({})) % 7".format, tensors),
    st.builds("flag = {}".format, conditions),
    st.builds("array = np.ones(2, np.float32) * {}.numpy()".format, _names),
    st.builds("number = np.sum({})".format, tensors),
    st.sampled_from(
        [
            *[
                "count += 1",
                "m += 1",
                "f *= 0.5",
                "array[0] = m",
                "array += 1.0",
                "word = word + 'w'",
            ],
            *[
                "box.reads = 0",
                "shape = a.shape",
                "size = tf.size(a)",
                "del c",
                "items = items[-2:]",
            ],
            *["m, n = n, m", "whole = tf.constant(m) * 2", "tf.random.set_seed(m)", "assert flag"],
            *["g = lambda t, k=m: t * k + n\na = g(a)", "def g(t):\n    return t + m\nb = g(b)"],
        ]
    ),
)
_changes = st.one_of(
    st.builds("v.assign_add(tf.reduce_mean({}))".format, tensors),
    st.builds("w.assign(tf.ones(2) * ({}))".format, tensors),
    st.builds("b = w.assign_sub(tf.ones(2) * ({}))".format, tensors),
    st.builds("items.append({})".format, tensors),
    st.builds("items[-1] = {}".format, tensors),
    st.builds("same = extended(items, {})".format, tensors),
    st.builds("made = extended([], {})".format, tensors),
    st.builds("named[{!r}] = {}".format, st.sampled_from(["a", "b"]), tensors),
    st.builds("box.value = {}".format, tensors),
    st.builds("box = Box({})".format, tensors),
    st.builds("u = tf.Variable({})".format, tensors),
    st.builds("{}".format, tensors),
)
_simple = st.one_of(_assignments, _assignments, _changes, _python)


def _indented(statements: list[str]) -> str:
    """A block; the counters of the loops in it get other names than that of the loop around it."""
    text = re.sub(r"\bk(\d)", lambda found: f"k{int(found[1]) + 1}", "\n".join(statements))
    return textwrap.indent(text, "    ")


def _compound(statement: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    block = st.lists(statement, min_size=1, max_size=3).map(_indented)
    tape = "with tf.GradientTape({}) as tape:\n{}\n    loss = tf.reduce_sum({} * v * w)\n"
    caught = "try:\n{}\n    {}\nexcept Exception as error:\n    caught = error\n"
    failing = st.sampled_from(["n / 0", "tf.gather(a, 9)", "raise KeyError(m)"])
    errors = st.sampled_from(["ZeroDivisionError", "Exception", "(NameError, ValueError)"])
    left = st.sampled_from(["continue", "break", "pass"])
    return st.one_of(
        st.builds("if {}:\n{}".format, conditions, block),
        st.builds("if {}:\n{}\nelse:\n{}".format, conditions, block, block),
        st.builds("for i in range({}):\n{}".format, st.sampled_from([2, 3, 5]), block),
        st.builds("for i in range(4):\n{}\n    if {}:\n        {}\n{}".format,
                  block, conditions, left, block),
        st.builds("for i in tf.range(3):\n{}".format, block),
        st.builds("for item in items[:2]:\n{}\n    a = a + item".format, block),
        st.builds("k0 = 0\nwhile k0 < 3:\n    k0 += 1\n{}\nelse:\n    done = k0".format, block),
        st.builds("k0 = tf.constant(0)\nwhile k0 < 4:\n    k0 += 1\n{}".format, block),
        st.builds("try:\n{}\nexcept {} as error:\n    print(type(error).__name__)".format,
                  block, errors),
        st.builds((caught + "finally:\n{}").format, block, failing, block),
        st.builds("with tf.name_scope('scope'):\n{}".format, block),
        st.builds((tape + "d = tape.gradient(loss, {})").format, st.just(""), block, _names,
                  st.sampled_from(["v", "[v, w]", "a"])),
        st.builds((tape + "d, e = tape.gradient(loss, w), tape.gradient(loss, b)").format,
                  st.just("persistent=True"), block, _names),
    )  # fmt: skip


_statements = st.recursive(_simple, _compound, max_leaves=4)
_failures = st.sampled_from(
    [
        *["n / 0", "tf.gather(a, m + 5)", "tf.linalg.inv([[1.0, 1.0], [1.0, 1.0]])", "a @ b"],
        *["raise ValueError(f'm is {m}')", "unknown + a", "tf.debugging.assert_less(a, b)", "b[7]"],
    ]
)
_endings = st.one_of(st.just(""), _anything, tensors, _failures)


def cells() -> st.SearchStrategy[str]:
    """Cells that run after the setup; one in some raises an error, the same each time."""
    bodies = st.lists(_statements, min_size=1, max_size=6)
    return st.builds(lambda body, end: "\n".join([*body, end]), bodies, _endings)
