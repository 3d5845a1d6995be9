"""User code that a statement runs without a call in its text has its effects in each run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import keras
import pytest
import tensorflow as tf

from nbfn.functions import TracedFunction
from nbfn.functions.effects.call_inspector import reaches_user_code
from nbfn.functions.effects.statement import inspector_of

SETUP = """
import collections, dataclasses, functools, itertools, operator, keras
log = []
def noisy(z): log.append(1); return z * 2.0
def quiet(z): return z * 3.0
class Acts:
    def bump(self, z): log.append(1); return z * 2.0
    def __call__(self, z): return self.bump(z)
    def __add__(self, z): return self.bump(z)
    __radd__ = __add__
    def __setitem__(self, key, value): log.append(1)
    def __getitem__(self, key): return self.bump(2.0)
    def __iter__(self): log.append(1); return iter([2.0, 3.0])
    def __len__(self): log.append(1); return 3
    def __contains__(self, key): log.append(1); return True
    def __bool__(self): log.append(1); return True
    def __index__(self): log.append(1); return 1
    def __format__(self, text): log.append(1); return "abc"
    def __getattr__(self, name):
        if name != "missing": raise AttributeError(name)
        log.append(1); return 2.0
    @property
    def level(self): log.append(1); return 2.0
    @level.setter
    def level(self, value): log.append(1)
class Inherits(Acts): pass
class Made(type):
    def __call__(cls, *args): log.append(1); return super().__call__(*args)
class OfMade(metaclass=Made): pass
class Super(Acts):
    def bump(self, z): return super().bump(z)
    def both(self, z): return super(Super, self).bump(z)
    def __call__(self, z): return super().__call__(z)
    def late(self, z): parent = super(); return parent.bump(z)
    @property
    def level(self): return super().level
    def raised(self): super().__setitem__(0, 1.0); return 2.0
class Twice(Super):
    def bump(self, z): return super().bump(z)
class Deep(keras.layers.Layer):
    def __call__(self, z): log.append(1); return super().__call__(z)
    def call(self, z): return z
class Middle(Deep):
    def call(self, z): return z * 2.0
class Deepest(Middle):
    def call(self, z): return z * 3.0
sup = Super(); twice = Twice()
class New:
    def __new__(cls): log.append(1); return super().__new__(cls)
def default(): log.append(1); return 2.0
@dataclasses.dataclass
class Data:
    k: float = dataclasses.field(default_factory=default)
class OfClass:
    def __get__(self, owner, cls=None): log.append(1); return 2.0
class Has: value = OfClass()
acts = Acts()
@functools.singledispatch
def kinds(z): return z
@kinds.register
def _(z: float): log.append(1); return z
"""
KERAS = """
deepest = Deepest(); deepest(tf.ones([2])); row = tf.ones([1, 2])
scaled = keras.layers.Dense(1, activation=noisy); scaled.build([None, 2])
changed = keras.Sequential([keras.layers.Lambda(noisy)]); changed(tf.ones([1, 2]))
class Loss(keras.losses.Loss):
    def call(self, y, z): log.append(1); return y - z
loss = Loss()
"""
_OF_KERAS = re.compile(r"\b(deepest|row)\b")


@pytest.mark.parametrize(
    "expression",
    [
        *("Acts().bump(z)", "Acts()(z)", "Acts() + z", "z[0] + Acts()", "z * Acts().level"),
        *("z * Acts()[0]", "z * Inherits().missing", "z * len(Acts())", "z * sum(Acts())"),
        *("z * 2.0 if acts else z", "z * 2.0 if 1 in acts else z", "z * [1.0, 2.0][acts]"),
        *("z * len(f'{acts}')", "z * len([*acts])", "z * max(*acts)"),
        *("z if OfMade() else z", "z if New() else z", "z * Data().k", "z * Has.value"),
        *("scaled(row)", "changed(row)", "loss(row, row * 2.0)", "z * kinds(2.0)"),
        "tf.switch_case(tf.constant(0), [lambda: noisy(z), lambda: z])",
        "tf.case([(z[0] > 0.0, lambda: noisy(z))], default=lambda: z)",
        *("tf.map_fn(noisy, z)", "tf.recompute_grad(noisy)(z)", "(quiet, noisy)[1](z)"),
        "functools.reduce(lambda a, b: noisy(a) + b, [z, z])",
        *(
            "sup.bump(z)",
            "sup.both(z)",
            "sup(z)",
            "sup.late(z)",
            "twice.bump(z)",
            "Super().bump(z)",
        ),
        *("z * sup.level", "z * sup.raised()", "deepest(z)"),
    ],
)
def test_effects_of_code_that_is_called_by_others(notebook, expression: str) -> None:
    keras_too = KERAS if _OF_KERAS.search(expression) else ""  # takes longer than all the rest
    setup = f"{SETUP}{keras_too}def helper(z): return {expression}\n"
    notebook(setup, "u = tf.sin(x)\ny = helper(x)\nw = u + 1.0\nprint(len(log))")


@pytest.mark.parametrize(
    "cell",
    [
        *("acts.level = x", "acts[0] = x", "y = x + acts", "a, b = acts\ny = x * a", "y = x[acts]"),
        *(
            "y = x * acts.level",
            "y = x * max(*acts)",
            "y: noisy(1) = x * 2.0",
            "for k in acts: y = x * k",
        ),
        "y = [f for f in (noisy,)][0](x)",
    ],
)
def test_effects_in_statements_of_the_cell(notebook, cell: str) -> None:
    notebook(SETUP, f"u = tf.sin(x)\n{cell}\nw = u + 1.0\nprint(len(log))")


@pytest.mark.parametrize(
    "body",
    [
        "for each in groups.values(): each.append(z)",
        "for _, each in groups.items(): each.append(z)",
        "for each in rows[:1]: each.append(z)",
        "groups.get('none', rows[0]).append(z)",
        "acc = []\n    for i in range(2):\n        acc.append(1)\n        acc = rows[0]",
        "acc = []\n    while len(acc) < 2:\n        acc.append(1)\n        acc = rows[0]",
    ],
)
def test_a_container_that_was_there_is_changed_in_each_run(notebook, body: str) -> None:
    setup = "groups = {'a': [x]}; rows = [[x], [x]]\n"
    helper = f"def helper(z):\n    {body}\n    return z * 2.0\n"
    notebook(setup + helper, "y = helper(x)\nw = y + 1.0\nprint(len(groups['a']), len(rows[0]))")


@pytest.mark.parametrize(
    "expression",
    [
        *("z * len(str(z))", "z * len(repr(z))", "tf.constant(f'{z[0]}')", "z * len('%s' % (z,))"),
        *("tf.constant('{}'.format(z))", "z * len(z.__str__())", "z * len(str(v))"),
        *("z * len(z.device)", "z * 2.0 if z is x else z", "z * known.get(z.ref(), 3.0)"),
        "z * 2.0 if isinstance(z, Eager) else z",
        "z * 2.0 if z.__class__.__name__ == 'EagerTensor' else z",
    ],
)
def test_a_tensor_is_what_it_is_in_python(notebook, expression: str) -> None:
    setup = "v = tf.Variable(1.0); known = {x.ref(): 5.0}; Eager = type(x)\n"
    notebook(f"{setup}def helper(z): return {expression}\n", "y = helper(x)\nw = x + 1.0")


@pytest.mark.parametrize(
    "cell",
    [
        "items = box.items\nz = x + items[0]\nprint(items is box.items)",
        "items = given()\nz = x + items[0]\nitems.append(x)\nprint(len(box.items))",
        "y, items = both(x)\nz = x + y\nprint(items is box.items)",
        "pair = box.pair\nz = x + pair[0]\nprint(pair is box.pair)",
        "empty = box.empty\nz = x + 1.0\nempty.append(z)\nprint(len(box.empty))",
    ],
)
def test_a_name_keeps_the_container_that_was_there(notebook, cell: str) -> None:
    setup = """
class Box: pass
box = Box(); box.items = [x, x]; box.pair = (x, x); box.empty = []
def given(): return box.items
def both(z): return z * 2.0, box.items
"""
    notebook(setup, cell)


def test_methods_through_super_are_looked_at(notebook) -> None:
    setup = """
import keras
rate = 2.0
class Scaled(keras.layers.Layer):
    def call(self, z): return z * rate
class Shifted(Scaled):
    def call(self, z): return super().call(z) + 1.0
class Wrapped(keras.layers.Dense):
    def call(self, z): return super(Wrapped, self).call(z) * rate
class Plain:
    def scale(self, z): return z * rate
class Further(Plain):
    def scale(self, z): return super().scale(z) + 1.0
shifted = Shifted(); wrapped = Wrapped(2, kernel_initializer="ones"); further = Further()
wrapped(tf.ones([1, 2]))
"""
    cell = "u = shifted(x)\nv = wrapped(tf.ones([1, 2]))\nw = further.scale(x)"
    step = notebook(setup, cell, between="rate += 1.0")["step"]
    assert isinstance(step, TracedFunction)  # the whole cell is one graph


def test_a_module_that_is_not_imported_is_the_users(notebook) -> None:
    setup = "import types\nm = types.ModuleType('by_hand'); m.k = 1.0\ndef f(z): return z * m.k\n"
    notebook(setup, "y = f(x)\nz = x * m.k", between="m.k += 1.0")


def test_an_unknown_function_must_not_read_what_the_cell_writes(notebook) -> None:
    setup = "import keras\nrate = x\nlayer = keras.layers.Lambda(lambda z: z * rate)\n"
    notebook(setup, "rate = rate + 1.0\ny = layer(x)\nz = y + 1.0")


def test_the_line_of_such_a_call_is_python(notebook) -> None:
    cell = "u = tf.sin(x)\ny = u * has.value\nw = u * 2.0"
    lines = notebook(f"{SETUP}\nhas = Has()", cell)["step"].lines
    assert (lines[2], lines[4]) == ("graph", "graph")
    assert "`__get__` calls log.append()" in lines[3]


def test_only_what_holds_user_code_has_its_calls_inspected() -> None:
    model = keras.Sequential([keras.layers.Dense(2, activation="relu")])
    model.compile(keras.optimizers.Adam(), keras.losses.MeanSquaredError())
    model.fit(tf.ones([2, 3]), tf.ones([2, 2]), verbose=0)
    assert not reaches_user_code([model, tf.Variable(1.0), tf.nn.relu], ())
    assert reaches_user_code([keras.layers.Lambda(lambda z: z)], ())
    assert reaches_user_code([{"f": [test_only_what_holds_user_code_has_its_calls_inspected]}], ())


ended: list[int] = []


class Box:
    pass


def rows() -> Iterator[int]:
    try:
        yield 1
    finally:
        ended.append(1)


def test_a_generator_that_is_deleted_meanwhile_ends_as_usual() -> None:
    text, space = "y = box", {"box": Box()}
    suspended = rows()
    next(suspended)
    inspector = inspector_of(ast.parse(text).body, compile(text, "", "exec"), space, space, ["y"])
    with inspector.inspecting():
        del suspended
    assert ended == [1]
