"""Each kind of statement that is Python's says so, with its reason, and runs as Python."""

from __future__ import annotations

import re

import pytest

SETUP = """
import functools, itertools, random, time
v = tf.Variable(1.0); d = {}; arr = np.ones(2, "float32"); seen = []; n = 3
it = iter(tf.data.Dataset.range(1000)); w = tf.ones([2, 2])
counter = itertools.count(1); pairs = (x * k for k in range(6))
def mode(z): return z if tf.executing_eagerly() else -z
def eager(z): return z if hasattr(z, "shape") and hasattr(z, "numpy") else -z
def made(z): return z if type(z).__name__ == "EagerTensor" else -z
class Box:
    @property
    def kept(self):
        seen.append(1)
        return x
    def __add__(self, other):
        seen.append(1)
        return x
    def __getitem__(self, key):
        seen.append(1)
        return x
log = tf.constant(0.0)
def matches(z):
    match seen:
        case [*log]:
            log.append(z)
    return z
box = Box()
def helper(z):
    seen.append(1)
    return z
def adds(z):
    global n
    n += 1
    return z
def tries(z):
    try:
        return z + 1
    except ValueError:
        return z
"""
KERAS = """
metric = tf.keras.metrics.Mean(); optimizer = tf.keras.optimizers.SGD(0.1)
plain = tf.keras.layers.Dense(2); plain.build([2, 2])
regular = tf.keras.layers.Dense(1, kernel_regularizer="l2"); regular(w)
symbolic = tf.keras.Input((2,)); model = tf.keras.Model(symbolic, plain(symbolic))
"""
_OF_KERAS = re.compile(r"\b(metric|optimizer|plain|regular|symbolic|model)\b")


def setup_of(cell: str) -> str:
    """Makes what the cell may name; Keras's objects take longer than all the rest."""
    return SETUP + KERAS if _OF_KERAS.search(cell) else SETUP


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("print(x)", "prints"),
        ("display(x)", "displays"),
        ("float(x[0]);", "float() of a value"),
        ("str(x);", "str() of a value"),
        ("len(x);", "len() of a value"),
        ("x.numpy();", "calls .numpy()"),
        ("f'{x}';", "formats a string"),
        ("'%s' % x;", "formats a string"),
        ("box.a = x", "stores into `box`"),
        ("optimizer.learning_rate = 0.5", "stores into `optimizer`"),
        ("import math", "imports"),
        ("def f(): return x", "defines a function"),
        ("g = lambda: x", "makes a function"),
        ("del y", "deletes a name"),
        ("plain(symbolic);", "builds a Keras model"),
        ("metric = [plain(each) for each in [symbolic]]", "builds a Keras model"),
        ("plain(model.output);", "builds a Keras model"),
        ("assert x[0] > 0", "asserts"),
        ("q: int", "declares a name"),
        ("n = 3", "uses no tensor"),
        ("made = tf.Variable(x)", "makes a Variable"),
        ("made = tf.keras.layers.Dense(2)", "makes a Dense"),
        ("made = tf.keras.optimizers.Adam()", "makes an Adam"),
        ("metric.reset_state()", "calls metric.reset_state() of a Mean"),
        ("regular(w);", "keep a loss of its regularizer"),
        ("np.sin(x);", "calls np.sin() of numpy"),
        ("arr * 2;", "computes with a NumPy array"),
        ("random.seed(1)", "draws from Python's random numbers"),
        ("tf.random.normal([2]);", "draws random numbers"),
        ("sum(a * k for a, k in zip(x, counter));", "takes from an iterator"),
        ("*rest, = pairs", "takes from an iterator"),
        ("tf.stack([*zip(x, counter)][0]);", "takes from an iterator"),
        ("counter.__next__() + x;", "calls counter.__next__()"),
        ("mode(x);", "`mode` asks whether it is in a graph"),
        ("eager(x);", "`eager` tests the kind of a tensor with hasattr()"),
        ("made(x);", "`made` tests the kind of a tensor with type()"),
        ("tf.config.list_physical_devices();", "calls tf.config.list_physical_devices"),
        ("made = tf.data.Dataset.range(3)", "calls tf.data.Dataset.range"),
        ("next(it);", "takes from an iterator"),
        ("seen.append(x)", "calls seen.append()"),
        ("seen += [x]", "changes `seen` in place"),
        ("helper(x);", "`helper` calls seen.append()"),
        ("matches(x);", "`matches` calls log.append()"),
        ("tf.map_fn(helper, x);", "`helper` calls seen.append()"),
        ("functools.partial(helper, x)();", "`helper` calls seen.append()"),
        ("x + box.kept;", "`kept` calls seen.append()"),
        ("box + x;", "`__add__` calls seen.append()"),
        ("box[0];", "` calls seen.append()"),
        ("adds(x);", "`adds` writes the name `n`"),
        ("tries(x);", "`tries` catches errors"),
        ("tf.numpy_function(abs, [x], tf.float32);", "calls back into Python"),
    ],
)
def test_python_has_its_reason(notebook, statement: str, reason: str) -> None:
    names = notebook(setup_of(statement), f"y = tf.sin(x)\n{statement}\nz = x * 2.0")
    lines = names["step"].lines
    assert reason in lines[3]
    assert (lines[2], lines[4]) == ("graph", "graph")
    assert names["step"].hits == 4


@pytest.mark.parametrize(
    ("cell", "line", "reason"),
    [
        ("try:\n    y = x * 2.0\nexcept ValueError:\n    pass", 3, "is inside `try`"),
        ("for i in range(2):\n    print(i)\n    y = x * i", 2, "a loop"),
        ("if n:\n    y = x * 2.0\n    print(1)", 2, "a branch"),
        ("with tf.device('CPU:0'):\n    y = x * 2.0\n    print(y)", 2, "enters a context"),
    ],
)
def test_what_has_a_body_is_python_and_its_body_is_looked_into(
    notebook, cell: str, line: int, reason: str
) -> None:
    lines = notebook(SETUP, cell)["step"].lines
    assert reason in lines[line]
    if not cell.startswith("try"):
        assert "graph" in lines.values()


@pytest.mark.parametrize(
    "cell",
    [
        "y = tf.sin(x) + 1",
        "v.assign(x[0])\ny = x + 1.0",
        "total += 1",
        "y = turn(x)",
        "y = decides(x)",
        "a, b = tf.split(x, 2)",
        "y = {'a': [tf.sin(x)], 'b': (x, 2)}",
        "y = [tf.sin(x) for _ in range(2)]",
        "y = plain(w)",
        "metric.update_state(x);",
        "y = tf.random.stateless_normal([2], [1, 2])",
        "y = tf.cond(x[0] > 0, one, two)",
    ],
)
def test_what_is_no_python(notebook, cell: str) -> None:
    setup = setup_of(cell) + (
        "total = tf.zeros([2])\ndef one(): return x * 2.0\ndef two(): return -x\n"
        "def turn(z):\n    for i in tf.range(3):\n        z = tf.sin(z)\n    return z\n"
        "def decides(z):\n    if z[0] > 0:\n        return z * 2.0\n    return -z\n"
    )
    step = notebook(setup, cell)["step"]
    assert (len(step.traces), step.hits) == (1, 2)


LOGGED = """
import functools, operator, collections
from dataclasses import dataclass
log, queue, kept, counts = [], collections.deque(), [], {}
def quiet(z): return z * 3.0
def noisy(z):
    log.append(1)
    return z * 2.0
def note():
    log.append(2)
    return 1.0
def keeping(function):
    kept.append(function)
    return function
def deco(function):
    @functools.wraps(function)
    def wrapper(*args): return function(*args)
    return wrapper
first, second = deco(quiet), deco(noisy)
def push(items, z):
    items.append(1)
    return z * 2.0
pushing = functools.partial(push, log)
class Counted:
    n = 0
    def go(self, z):
        type(self).n += 1
        return z * 2.0
    def get(self): return log
@dataclass(frozen=True)
class Frozen:
    n: int = 0
counted, frozen = Counted(), Frozen()
class Missing(dict):
    def __missing__(self, key):
        log.append(3)
        return 2.0
missing = Missing()
"""


@pytest.mark.parametrize(
    "body",
    [
        "return second(first(z))",
        "return {'a': quiet, 'b': noisy}['b'](z)",
        "fns = [quiet, noisy]\n    for g in fns: z = g(z)\n    return z",
        "ls = [log]; ls[0].append(1); return z * 2.0",
        "return pushing(z)",
        "return counted.go(z)",
        "getattr(counted, 'get')().append(1); return z * 2.0",
        "max(log, kept, key=len).append(1); return z * 2.0",
        "list.append(log, 1); return z * 2.0",
        "object.__setattr__(frozen, 'n', frozen.n + 1); return z * 2.0",
        "operator.iadd(log, [1]); return z * 2.0",
        "operator.ior(counts, {len(counts): 1}); return z * 2.0",
        "def inner(a=note()): return a\n    return z * inner()",
        "@keeping\n    def inner(a): return a\n    return inner(z)",
        "global queue\n    queue += [1]; return z * 2.0",
        "return z * missing['k']",
        "return sum(map(pushing, [z, z]))",
    ],
)
def test_an_effect_of_a_helper_is_seen(notebook, body: str) -> None:
    shown = "print(y, log, queue, len(kept), counts, counted.n, frozen.n)"
    notebook(f"{LOGGED}\ndef helper(z):\n    {body}", f"y = helper(x)\n{shown}")


@pytest.mark.parametrize("store", ["a[noisy()] = 1", "a[noisy()] += 1", "del a[noisy()]"])
def test_an_effect_in_the_index_of_a_store_is_seen(notebook, store: str) -> None:
    setup = f"""
count = [0]
def noisy():
    count[0] += 1
    return 0
def helper(z):
    a = [0, 0]
    {store}
    return z * 2.0
"""
    notebook(setup, "y = helper(x)\nprint(count)")


def test_draws_of_the_cell_are_reported_by_the_trace(notebook) -> None:
    cell = "tf.random.set_seed(3)\ny = tf.nn.dropout(x, 0.5)\nz = x + 1.0"
    lines = notebook("", cell)["step"].lines
    assert (lines[3], lines[4]) == ("draws random numbers", "graph")
