"""Objects that a cell reads and replaces: their tensors are arguments of the cell's function."""

from __future__ import annotations

import gc
import weakref

import pytest
import tensorflow as tf

from nbfn.notebook.cells import given
from nbfn.notebook.cells.given import Templates
from tests.notebook.sides import assert_the_same

STATE = """
@dataclasses.dataclass
class State:
    w: object
    b: object
    step: int = 0
s = State(x, y)
first = s
"""
CASES = [
    (STATE, "s = dataclasses.replace(s, w=s.w + 1, step=s.step + 1)", "[s, first]"),
    (STATE, "s.w = s.w * 2\ns = State(s.w, s.b)", "[s, first]"),
    (STATE, "old = s\ns = State(s.b, s.w)", "[s, old, old.w is s.b]"),
    (STATE, "s, t = State(s.w, s), s", "[s, t]"),
    ("b = bytearray(b'abc'); same = b", "b[0] = 120\nb += b'd'", "[bytes(b), b is same]"),
    ("p = [Box(x), {1, 2}]; first = p[0]", "p = p + [p[0]]\np[0].a = y", "[p, first]"),
    (
        "q = collections.deque([x], maxlen=2); q0 = q",
        "q.append(n)\nq = q.copy()",
        "[list(q), q0, q.maxlen]",
    ),
    ("m = Box(v); m.f = abs", "m = Box(m.a); m.g = m.a + x", "[m, m.a is v]"),
]

STEPS = """
class S:
    def __init__(self, w): self.w = w
    def next(self, z): return S(self.w + z * RATE)
def backwards(self, z): return S(self.w - z)
RATE = 1.0; s = S(x)
"""
CASES += [
    (STEPS, "s = s.next(y)", "[s, globals().__setitem__('RATE', RATE + 1.0)]"),
    (STEPS, "s = s.next(y)", "[s, setattr(S, 'next', backwards)]"),
]


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize(("setup", "cell", "probe"), CASES, ids=[cell for _, cell, _ in CASES])
def test_it_leaves_what_an_eager_cell_leaves(shell, setup: str, cell: str, probe: str) -> None:
    assert_the_same(shell, setup, cell, probe)


def test_other_tensors_find_the_trace_and_other_values_do_not(run, shell) -> None:
    run(
        "import dataclasses, nbfn\n@dataclasses.dataclass\nclass State:\n    w: object\n"
        "    n: int\ns = State(tf.constant(1.0), 1)"
    )
    cell = "%%tf_function step\ns = State(s.w * 2, s.n)"
    for _ in range(3):
        run(cell)
    step = shell.user_ns["step"]
    assert (len(step.traces), step.hits, shell.user_ns["s"].w.numpy()) == (1, 2, 8.0)
    run("s.n = 2")
    run(cell)
    assert (len(step.traces), shell.user_ns["s"].n) == (2, 2)


def test_where_all_functions_run_eagerly(run, shell) -> None:
    run("class Box: pass\nb = Box(); b.t = tf.constant(1.0); first = b; L = []")
    tf.config.run_functions_eagerly(True)
    try:
        run("%%tf_function step\nb.n = 1\nL.append(b.t)\nold = b\nb = Box()\nb.t = old.t * 2")
    finally:
        tf.config.run_functions_eagerly(False)
    names = shell.user_ns
    assert names["old"] is names["first"]
    assert (names["first"].n, names["b"].t.numpy(), len(names["L"])) == (1, 2.0, 1)


def test_an_object_that_was_given_is_not_kept(run, shell) -> None:
    run("class Box: pass\nclass Part(tf.Module): pass")
    for value in (1.0, 2.0, 3.0):
        run(f"b = Box(); b.t = tf.constant({value}); b.part = Part()")
        kept = [weakref.ref(shell.user_ns["b"]), weakref.ref(shell.user_ns["b"].part)]
        run("%%tf_function step\nold = b.t\nb = Box()")
        assert shell.user_ns["old"].numpy() == value
        gc.collect()
        assert [each() for each in kept] == [None, None]


def test_a_template_that_has_lost_something_is_not_used_again(monkeypatch) -> None:
    monkeypatch.setattr(given, "_structure", lambda *_: "the same")
    templates, value = Templates(), [tf.Module(), tf.constant(1.0)]
    template, tensors = templates.given(value)
    assert templates.given(value)[0] is template
    made = template.made_of(tensors)
    assert made is not value
    assert made[0] is value[0]
    del made
    value[0] = tf.Module()
    gc.collect()
    assert templates.given(value)[0] is not template
