"""Objects, dtypes, Keras variables, data sets and globals that a traced cell meets."""

from __future__ import annotations

import pytest
import tensorflow as tf

from nbfn.notebook.cells.in_place import InPlaceError
from nbfn.notebook.cells.kinds import has_dtype, is_tensor, is_variable

SETUP = """
import collections, keras, numpy as np
x = tf.constant(2.0)
class Attributes(dict):
    __getattr__ = dict.__getitem__
class Boom:
    __slots__ = ('rate',)
    def __getattr__(self, name): raise KeyError(name)
class Steps(list):
    pass
config = Attributes(lr=0.5, nested=Attributes(lr=2.0))
boom = Boom(); boom.rate = 3.0
counter = collections.Counter('aab'); groups = collections.defaultdict(list, a=[1.0, 2.0])
ordered = collections.OrderedDict(b=1.0, a=2.0); steps = Steps([1.0, 4.0])
day = np.datetime64('2020-01-02'); days = np.array(['2020-01-02'], 'datetime64[D]')
rows = np.array([(1, 2.0)], [('n', 'i4'), ('z', 'f4')])
Pair = collections.namedtuple('Pair', 'a b'); pair = Pair(1.0, tf.constant(4.0))
def setit(v):
    global res
    res = v * 2
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x * config['lr']", 1.0),
        ("x * config.nested.lr", 4.0),
        ("x * boom.rate", 6.0),
        ("x * counter['a']", 4.0),
        ("x * groups['a'][1]", 4.0),
        ("x * ordered['a']", 4.0),
        ("x * steps[1]", 8.0),
        ("x * float(day == days[0])", 2.0),
        ("x * rows['z'][0]", 4.0),
        ("x * rows[0]['n']", 2.0),
        ("pair.a * pair.b", 4.0),
    ],
)
def test_a_cell_reads_any_object(run, code: str, expected: float) -> None:
    run(SETUP)
    for _ in range(2):
        assert float(run(f"%%tf_function\n{code}").result) == expected


def test_what_a_subclass_holds_stays_what_it_is(run) -> None:
    run(SETUP)
    run(
        "%%tf_function\ncounter['a'] += 1\ngroups['new'].append(x)\nconfig['last'] = x\nc = counter"
    )
    assert run("c is counter, counter['a'], type(groups).__name__").result == (
        True,
        3,
        "defaultdict",
    )
    assert float(run("groups['new'][0]").result) == float(run("config['last']").result) == 2.0


def test_a_new_value_in_a_subclass_is_heeded(run) -> None:
    run(SETUP)
    for rate in (0.5, 3.0):
        run(f"config['lr'] = {rate}")
        assert float(run("%%tf_function\nx * config['lr']").result) == 2 * rate


def test_kinds_run_no_code_of_the_users() -> None:
    class Loud:
        def __getattr__(self, name: str) -> None:
            raise AssertionError(name)

    assert not is_tensor(Loud())
    assert not is_variable(Loud())
    assert is_tensor(tf.constant(1))
    assert is_tensor(tf.ragged.constant([[1]]))
    assert not is_tensor(tf.Variable(1))
    assert is_variable(tf.Variable(1))


def test_dtypes() -> None:
    import numpy as np

    assert has_dtype(np.float32(1))
    assert has_dtype(np.array(["a"]))
    for each in (np.datetime64("2020"), np.array([None]), np.zeros(1, [("a", int)])):
        assert not has_dtype(each)


KERAS = (
    SETUP
    + """
l = keras.layers.Dense(1, use_bias=False, kernel_initializer='ones'); l.build((1, 1))
"""
)


def test_keras_variables_stay_the_variables_they_are(run) -> None:
    run(KERAS)
    for _ in range(2):
        run("%%tf_function\nw = l.kernel\nws = l.trainable_variables\nd = {'w': w}\nw * x")
        assert run("w is l.kernel, ws[0] is l.kernel, d['w'] is l.kernel").result == (True,) * 3


def test_a_loop_over_keras_variables_updates_them(run) -> None:
    run(KERAS)
    code = "%%tf_function sgd\nfor v in l.trainable_variables:\n    v.assign_sub(x * 0.25)"
    for expected in (0.5, 0.0, -0.5):
        run(code)
        assert run("v is l.kernel").result
        assert float(run("l.kernel.numpy()[0, 0]").result) == expected
    assert run("sgd.hits").result >= 1


def test_a_global_that_a_function_assigns_is_read_after_it(run) -> None:
    run(SETUP)
    for value in (2.0, 5.0, 7.0):
        run(f"x = tf.constant({value})")
        assert float(run("%%tf_function\nsetit(x)\nres").result) == 2 * value
        assert float(run("res").result) == 2 * value


def test_a_global_of_the_cells_own_function(run) -> None:
    run(SETUP)
    cell = "%%tf_function\ndef own():\n    global res\n    res = x + 1\nown()\nres * 1"
    for value in (2.0, 5.0):
        run(f"x = tf.constant({value})")
        assert float(run(cell).result) == value + 1


def test_a_name_that_both_assign_is_refused(run) -> None:
    run(SETUP)
    with pytest.raises(InPlaceError, match="`res` is assigned by the cell, and by `global`"):
        run("%%tf_function\nres = x\nsetit(x)\nres")
    assert "res" not in run("list(globals())").result


def test_data_sets_of_a_cell_can_be_read_after_it(run) -> None:
    run(
        SETUP + "ds = tf.data.Dataset.range(3); it = iter(ds); "
        "ta = tf.TensorArray(tf.float32, 1)\nclass Holder: __slots__ = ('ds',)\n"
        "holder = Holder(); holder.ds = ds"
    )
    cell = (
        "%%tf_function\nbigger = ds.map(lambda q: q + 1)\n"
        "made = {'two': tf.data.Dataset.from_tensor_slices([1, 2])}\n"
        "same = ds, it, ta, holder.ds\nbigger"
    )
    for _ in range(2):
        result = run(cell).result
        assert run("[int(q) for q in bigger]").result == [1, 2, 3]
        assert [int(q) for q in result] == [1, 2, 3]
        assert run("[int(q) for q in made['two']]").result == [1, 2]
        assert run("[a is b for a, b in zip(same, (ds, it, ta, ds))]").result == [True] * 4


@pytest.mark.parametrize(
    "made", ["tf.TensorArray(tf.float32, 1).write(0, x)", "iter(tf.data.Dataset.range(3))"]
)
def test_what_ends_with_the_trace_is_not_left(run, made: str) -> None:
    run(SETUP)
    ran = run(f"%%tf_function\nthing = {made}\ny = x + 1")
    assert "`thing` ended with the trace, and is not left in the notebook" in ran.text
    assert run("'thing' in globals(), float(y)").result == (False, 3.0)


def test_a_last_value_that_ends_with_the_trace_is_named(run) -> None:
    run(SETUP)
    ran = run("%%tf_function\ntf.TensorArray(tf.float32, 1)")
    assert ran.result is None
    assert "the value of the last line ended with the trace" in ran.text


@pytest.mark.parametrize(
    "call", ["tf.print('said', x)", "tf.debugging.assert_positive(x)", "tf.group()"]
)
def test_an_operation_has_no_value(run, call: str) -> None:
    run(SETUP)
    for _ in range(2):
        ran = run(f"%%tf_function\nr = {call}\n{call}")
        assert ran.result is None
        assert "Operation" not in ran.text
        assert run("r is None").result


def test_an_assertion_that_leaves_nothing_still_runs(run) -> None:
    run(SETUP)
    cell = "%%tf_function\ntf.debugging.assert_positive(x)"
    run(cell)
    run("x = tf.constant(-1.0)")
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(cell)
