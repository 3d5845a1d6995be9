"""Whatever the options say, a traced cell leaves what an eager cell leaves."""

from __future__ import annotations

import pytest

from tests.notebook.sides import assert_the_same

OPTIONS = [
    *("--stance eager", "--jit", "--no-autograph", "--relax", "--local-state", "--check"),
    *("--device CPU:0", "--max-traces 1 --on-limit evict", "--strategy one"),
]
SETUP = """
one = tf.distribute.OneDeviceStrategy("CPU:0")
@dataclasses.dataclass
class State:
    w: object
    step: int = 0
s = State(x); first = s
box = Box(); d = {"a": x}; keep = d; A = [x]; B = [y]
a = np.arange(4.0)
"""
CELL = """
made = Box(x * 2)
box.items.append(made)
box.n = n
def g(z): return z + x
t = g(x)
old = d
d = {**d, "b": x}
A, B = B, A
s.step += 1
s = State(s.w + 1, s.step)
view = a[1:]
a[2] = 9.0
class K:
    z = x
k = K()
"""
PROBE = "[made, box, g(y), t, old, d, keep, A, B, s, first, view, a, k.z, type(k) is K]"


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize("options", OPTIONS)
def test_it_leaves_what_an_eager_cell_leaves(shell, options: str) -> None:
    assert_the_same(shell, SETUP, CELL, PROBE, options)
