"""What a graph leaves is what Python left: the same kinds, objects, aliases and constants."""

from __future__ import annotations

import keras
import pytest

from nbfn.functions.segments.loops import Loop
from tests.notebook.cells.conftest import RUNS

SETUP = """
import collections
inner = tf.constant([3.0]); pair = [x, inner]; nest = {"a": pair, "b": (x, 1)}; n = 3
Point = collections.namedtuple("Point", "x y"); v = tf.Variable([1.0, 2.0])
ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
sparse = tf.sparse.from_dense([[0.0, 1.0]])
def same(z): return z
def several(z): return {"z": [z * 2.0, z], "n": 5, "name": "a", "none": None, "t": (1.5, True)}
def point(z): return Point(z + 1.0, 2)
def holds(z): return [z + 1.0, v]
import keras
graph = tf.compat.v1.get_default_graph
dense = keras.layers.Dense(2, kernel_initializer="ones"); dense.build((None, 2))
"""


@pytest.mark.parametrize(
    "cell",
    [
        "y = same(x)\nz = tf.sin(x)",
        "y = tf.sin(x)\nz = y\nw = [y, z]",
        "y = same(pair)\nz = pair[1] + 1.0",
        "y = nest['a']\nz = nest['b'][0] * 2.0\nw = nest",
        "y = several(x)\nz = y['z']\nw = z[0]",
        "y = point(x)\ny.x",
        "y, z = holds(x)",
        "y = tf.sin(x)\nz = x.shape\nw = x.dtype\nq = tf.size(y)",
        "y = ragged * 2.0\nz = ragged.row_lengths()",
        "y = tf.sparse.add(sparse, sparse)",
        "x = tf.sin(x)\nx",
        "before = x\nx = x + 1.0\nx = x * before",
        "y = v + 1.0\nz = v.read_value()\nv.assign_add(x)\nw = v * 1.0",
        "y = tf.cast(x, tf.int64)\nz = y // 2\nw = z > 0",
        "y = tf.constant(['a', 'b']) + 'c'",
        "y = tf.sin(x)\nw = dense.weights[0]\nz = [w, y]\ndense.kernel",
    ],
)
def test_names_keep_their_objects(notebook, cell: str) -> None:
    assert notebook(SETUP, cell)["step"].hits >= 2


@pytest.mark.parametrize(
    ("setup", "cell", "reason"),
    [
        (
            "def where(z): return 1 if not graph().building_function else 2",
            "y = tf.sin(x)\nz = where(x)",
            "leaves `z` as 1, where a graph gives 2",
        ),
        (
            "def kind(z): return z if not graph().building_function else [z]",
            "y = tf.sin(x)\nz = kind(x + 1.0)",
            "leaves `z` as an EagerTensor",
        ),
        (
            "def wide(z): return z if not graph().building_function else tf.cast(z, tf.float64)",
            "y = tf.sin(x)\nz = wide(x * 2.0)",
            "leaves `z` as float32, where a graph gives float64",
        ),
    ],
)
def test_what_would_come_out_otherwise_is_python(
    notebook, setup: str, cell: str, reason: str
) -> None:
    lines = notebook(SETUP + setup, cell)["step"].lines
    assert lines[2] == "graph", "only the statement that wrote it is Python"
    assert reason in lines[3]


@pytest.mark.parametrize(
    ("setup", "cell", "between"),
    [
        ("total = 0.0", "total = total + tf.reduce_sum(x)\nprint(total)", ""),
        ("", "y = x * 2\nprint(y)", "x = tf.cast(x, tf.int32)"),
        ("", "y = x * 2\nprint(y)", "x = np.array(x)"),
        ("", "y = x * 2\nprint(y)", "x = tf.Variable(x)"),
        ("", "y = tf.nest.map_structure(tf.sin, x)\nprint(y)", "x = [x, x]"),
        ("k = 1", "y = x * k\nprint(type(y))", "k = 2.0"),
        ("k = 1", "y = tf.sin(x) * k\nz = k\nprint(y)", "k = True"),
    ],
)
def test_kinds_that_change_run_as_python_first(
    notebook, setup: str, cell: str, between: str
) -> None:
    notebook(setup, cell, between=between)


@pytest.mark.parametrize(
    ("setting", "kept", "changed", "call"),
    [
        ("floatx", "'float32'", "'float64'", "keras.ops.zeros([2])"),
        ("epsilon", "1e-7", "0.5", "keras.losses.categorical_crossentropy(x, x * 0.1)"),
        ("image_data_format", "'channels_last'", "'channels_first'", "keras.ops.max_pool(x4, 2)"),
    ],
)
def test_settings_of_keras_are_guarded(
    notebook, setting: str, kept: str, changed: str, call: str
) -> None:
    set_to = f"keras.config.set_{setting}({changed} if turn == 2 else {kept})"
    try:
        names = notebook(
            f"import keras\nturn = 0\nx4 = tf.ones([1, 4, 4, 4])\n{set_to}",
            f"y = tf.sin(x)\nz = {call}",
            between=f"turn += 1; {set_to}",
        )
        assert names["step"].hits
    finally:
        getattr(keras.config, f"set_{setting}")(eval(kept))


def test_the_names_of_nested_loops_are_left(notebook) -> None:
    cell = "for i in range(6):\n    for j in range(5):\n        x = tf.sin(x) * 1.01"
    assert notebook("", cell, between="i = j = 100")["step"].hits > 0


@pytest.mark.parametrize(
    "call", ["use(x, **how)", "use(*both)", "Holder(*both).y", "Holder(x, how=loud).y"]
)
def test_arguments_out_of_containers_may_be_anything(notebook, call: str) -> None:
    names = notebook(
        SETUP + "log = []\ndef loud(z):\n    log.append(1)\n    return z + 1.0\n"
        "def use(z, how=tf.square): return how(z)\n"
        "class Holder:\n    def __init__(self, z, how=tf.square): self.y = how(z)\n"
        "how, both = {'how': loud}, (x, loud)\n",
        f"y = tf.sin(x)\nz = {call}\nw = z + y",
    )
    assert len(names["log"]) == RUNS


@pytest.mark.parametrize(
    "code",
    [
        "x if truth else y",
        "truth and x",
        "sorted(ordered)[0].value * x",
        "max(ordered).value * x",
        "ordered.index(truth) * x",
        "x * len({*ordered, *tuple(ordered)})",
        "x * sum(map(bool, ordered))",
        "x * bool(truth)",
        "wrapped(x)",
        "functools.partial(wrapped, x)()",
    ],
)
def test_what_python_calls_by_itself_is_called(notebook, code: str) -> None:
    setup = """
import functools
log = []
class Noted:
    value = 2.0
    def __bool__(self): log.append("bool"); return True
    def __lt__(self, other): log.append("less"); return False
    def __gt__(self, other): log.append("more"); return False
    def __eq__(self, other): log.append("same"); return True
    __hash__ = object.__hash__
truth, ordered = Noted(), [Noted(), Noted()]
@functools.wraps(tf.sin)
def wrapped(z): log.append("wrapped"); return z * 2.0
"""
    notebook(SETUP + setup, f"y = tf.sin(x)\nz = {code}\nw = y + 1.0")


def test_a_descriptor_is_asked_only_when_python_asks_it(notebook) -> None:
    setup = """
asked = []
class Asks:
    def __get__(self, instance, owner=None):
        asked.append(1)
        return tf.constant(2.0)
class Box:
    kept = Asks()
box = Box()
"""
    notebook(setup, "for _ in range(3):\n    y = box.kept * x\nprint(len(asked))")


def test_a_value_that_nobody_uses_may_still_raise(notebook) -> None:
    setup = "k = tf.eye(2); runs = 0"
    between = "runs += 1\nif runs == 2: k = k * 0.0"
    notebook(setup, "print(1)\ntf.linalg.inv(k)\ny = x + 1.0", between=between)


def test_what_tracing_gave_to_objects_is_put_back(notebook) -> None:
    setup = """
class Adds(tf.keras.layers.Layer):
    def call(self, z):
        self.add_loss(tf.reduce_sum(z))
        return z * 2.0
layer = Adds(); model = tf.keras.Sequential([tf.keras.layers.Dense(1), layer]); w = tf.ones([1, 2])
"""
    names = notebook(setup, "y = model(w)\nz = tf.add_n(model.losses)\nprint(len(model.losses))")
    assert float(names["z"]) == float(names["y"][0, 0]) / 2.0


@pytest.mark.parametrize(
    ("helper", "cell"),
    [
        ("if tf.norm(z) > 4.0: z = z / 2.0\n    return z, w", "y, q = helper(x, x)"),
        ("while tf.norm(z) > 4.0: z = z / 2.0\n    return z, w", "y, q = helper(x, x)"),
        ("return (z, w) if tf.norm(z) < tf.norm(w) else (w, z)", "low, high = helper(x, far)"),
        ("return z if tf.norm(z) < 4.0 else w", "y = x * 2.0\nnear = helper(y, near)"),
        (
            "return z if tf.norm(z['a']) < 4.0 else w",
            "y = {'a': x * 2.0}\nbest = helper(y, best)",
        ),
        (
            "return z if tf.norm(z) < 4.0 else w",
            "y = ragged * x[0]\nq = helper(y.values, ragged.values)",
        ),
    ],
)
def test_a_value_decides_which_object_comes_back(notebook, helper: str, cell: str) -> None:
    setup = f"{SETUP}far = x * 3.0; near = x; best = {{'a': x}}\ndef helper(z, w):\n    {helper}\n"
    notebook(setup, cell, between="x = x * 2.0")


def test_one_object_under_two_names_may_be_two_later(notebook) -> None:
    names = notebook("a = x", "z = x + a\ny = a\nw = [a, z]", between="a = x * 5.0")
    assert names["step"].hits >= 1


def test_a_loop_keeps_what_its_turns_leave_as_one(notebook) -> None:
    cell = """
u = x
for n in range(8):
    new = u * 0.5 + 1.0
    u = new
    base = x
"""
    assert notebook("", cell)["step"].lines[4] == "graph"


def test_a_number_of_a_range_may_be_bound_again(notebook) -> None:
    notebook("s = tf.constant(0.0)", "for i in range(6):\n    s = s + 1.0\n    i = s * 2.0")


@pytest.mark.parametrize(
    "cell",
    [
        "for flag in phases():\n    y = norm(w, training=True) * 2.0",
        "g = phases()\nfor flag in g:\n    y = norm(w, training=True) * 2.0",
        "g = phases()\nfor i, flag in enumerate(g):\n    y = norm(w, training=True) * 2.0",
        "for flag in (True, False, True):\n    with mode(flag):\n"
        "        y = norm(w, training=True) * 2.0\n    z = norm(w, training=True) * 2.0",
    ],
)
def test_what_a_context_or_a_generator_changes_is_seen(notebook, cell: str) -> None:
    setup = """
import contextlib
norm = keras.layers.BatchNormalization(); w = tf.constant([[1.0, 2.0], [3.0, 5.0]]); norm(w)
def phases():
    for flag in (True, False, True, False, True):
        norm.trainable = flag
        yield flag
@contextlib.contextmanager
def mode(flag):
    norm.trainable = flag
    yield
    norm.trainable = not flag
"""
    notebook(SETUP + setup, cell)


def test_a_loop_that_no_graph_can_have_is_tried_once(notebook, monkeypatch) -> None:
    tried = []
    learn = Loop.learn
    monkeypatch.setattr(Loop, "learn", lambda *given: (tried.append(1), learn(*given)))
    cell = "w = x\nfor i in range(8):\n    w = tf.sin(w) + x * i"
    step = notebook("", cell)["step"]
    step()
    assert (len(tried), step.lines[4]) == (1, "graph")
