"""What is one object after an eager cell is one after a traced cell."""

from __future__ import annotations

import pytest

from tests.notebook.sides import assert_the_same

CASES = [
    ("A = [x]; A0 = A", "class K: pass\nk = K()\nk.p = A\nA = [n]", "[A, A0, k]"),
    (
        "A = [x]; B = [y]; A0 = A",
        "A, B = B, A\nclass K: pass\nk = K()\nk.p = A; k.q = B",
        "[A, B, A0, k]",
    ),
    (
        "A = [x]; B = [y]; A0 = A; B0 = B",
        "A, B = B, A",
        "[A, B, A0, B0]",
    ),
    (
        "cur = {'a': x}; keep = cur",
        """prev = cur
cur = {'a': cur['a'] + 1}""",
        "[prev, cur, keep]",
    ),
    (
        "cur = {'a': x}; keep = cur",
        """cur['b'] = x * 2
prev = cur
cur = {'a': cur['a'] + 1}""",
        "[prev, cur, keep]",
    ),
    (
        "d = {'l': [x], 't': x}; old = d",
        """d = {**d}
d['u'] = x""",
        "[d, old]",
    ),
    (
        "a = np.arange(6.0).reshape(2, 3)",
        """row = a[0]
b = a.T
a[0, 0] += 1""",
        "(row.tolist(), b.tolist(), row.base is not None, [row.__setitem__(0, 50.0), a.tolist()])",
    ),
    (
        "",
        """c = np.zeros(4)
d = c[1:3]
d[0] = n""",
        "(c.tolist(), d.tolist(), [d.__setitem__(0, 50.0), c.tolist()])",
    ),
    (
        """class Box: pass
b = Box(); b.l = [x]; other = b.l""",
        """b.l = b.l + [x]
c = b.l""",
        "[b, c, other]",
    ),
    (
        "L = [[x], [y]]",
        """L[0], L[1] = L[1], L[0]
first = L[0]
first.append(x)""",
        "[L, first]",
    ),
    (
        "a = np.zeros(3); A2 = a",
        "a = a + 1",
        "(a.tolist() if hasattr(a,'tolist') else a.numpy().tolist(), A2.tolist())",
    ),
    (
        """class Box:
    def __init__(self, a): self.a = a
hist = []""",
        """b = Box(x * 2)
hist.append(b)
hist[-1].c = n""",
        "[hist, b]",
    ),
    (
        "import logging",
        """log = logging.getLogger('q'); e = None
try:
    raise KeyError('k')
except KeyError as err:
    e = err""",
        "(log is logging.getLogger('q'), e.args, type(e))",
    ),
    (
        "P = types.SimpleNamespace(w=x, b=y, hist=[])",
        """for i in range(2):
    P.w = P.w - 0.1 * P.b
    P.hist.append(P.w)""",
        "P",
    ),
    (
        """class Box: pass
b1 = Box(); b1.v = tf.Variable(1.0); b1.opt = tf.keras.optimizers.SGD(0.1)""",
        """o = b1.opt
vv = b1.v
vv.assign_add(1.0)""",
        "(o is b1.opt, vv is b1.v, float(vv))",
    ),
    (
        "",
        """with tf.GradientTape() as tape:
    tape.watch(x)
    l = x * x
class Keep: pass
k = Keep(); k.tape = tape; k.g = tape.gradient(l, x)""",
        "[k.g]",
    ),
    (
        "cfg = {'lr': 0.1}; lst = [cfg, cfg]",
        """lst[0]['lr'] = 0.5
c2 = lst[1]""",
        "([cfg, c2], c2 is cfg, lst[0] is lst[1])",
    ),
]


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize(("setup", "cell", "probe"), CASES, ids=[cell for _, cell, _ in CASES])
def test_it_leaves_what_an_eager_cell_leaves(shell, setup: str, cell: str, probe: str) -> None:
    assert_the_same(shell, setup, cell, probe)


def test_what_a_function_is_given_is_among_its_results(run) -> None:
    run("import nbfn\nx = tf.constant(1.0); cur = {'a': x}")
    run("%%tf_function step\nprev = cur\ncur = {'a': cur['a'] + 1}\nfirst = prev['a']")
    returned = run("step({'a': tf.constant(5.0)})").result
    assert (returned["prev"]["a"].numpy(), returned["cur"]["a"].numpy()) == (5.0, 6.0)
    assert returned["first"].numpy() == 5.0
