"""Whatever a cell changes in place is changed as an eager cell changes it."""

from __future__ import annotations

import pytest

from tests.notebook.sides import assert_the_same

CASES = [
    ("a = [x]; a.append(a)", "b = a[0] * 2\na.append(b)", "(b, len(a), a[1] is a)"),
    ("import weakref\no = Box(); r = weakref.ref(o)", "r().a = x * 2", "o.a"),
    ("a = np.zeros(300_000)", "a[7] = n\na[9] = -0.0", "[float(a[7]), str(a[9]), a.sum()]"),
    (
        "a = np.zeros(300_000, np.float32); far = 12_347; k = iter(range(9))",
        "a[7] = n",
        "[a[far].item(), a[7].item(), a.__setitem__(far, next(k)), a.__setitem__(7, 0)]",
    ),
    ("a = np.ones((3, 4))[:, ::2]", "a[1] = 5.0\na *= 2", "a"),
    (
        "class T:\n    v = None\n    def step(self, z):\n        if self.v is None:\n"
        "            self.v = tf.Variable(z)\n        self.last = z\n        return self.v + z\n"
        "t = T()",
        "r = t.step(y)",
        "[r, t]",
    ),
    (
        "w = None\ndef once():\n    global w\n    if w is None:\n        w = tf.Variable(y)\n"
        "    return w",
        "r = once() + x",
        "[r, w]",
    ),
    ("class M: pass\nm = M(); del M", "type(m).last = x * 2", "type(m).last"),
    ("vs = []", "if not vs:\n    vs.append(tf.Variable(1.0))\nz = vs[0] * x", "z"),
    (
        "def decided(z):\n    if tf.reduce_sum(z) > 4:\n        z = z + 1\n    return z\nL = []",
        "if n > 2:\n    L.append(decided(x))",
        "L",
    ),
    (
        "import array; a = array.array('d', [1.0, 2.0]); b = a",
        "a[0] = a[0] + n\na.append(5.0)\nc = array.array('i', [n])",
        "[list(a), list(c), b is a]",
    ),
    (
        "ns = types.SimpleNamespace(a=1)",
        """ns.b = x * 2
ns.a += 1""",
        "ns",
    ),
    (
        "ns = argparse.Namespace(a=1)",
        "ns.b = x * 2",
        "ns",
    ),
    (
        "class K: pass",
        """K.last = x * 2
K.n = getattr(K, 'n', 0) + 1""",
        "[K.last, K.n]",
    ),
    (
        "def f(z): return z",
        "f.last = x * 2",
        "f.last",
    ),
    (
        "m = types.ModuleType('m')",
        "m.last = x * 2",
        "m.last",
    ),
    (
        """class S:
    __slots__ = ('a', 'b')
s = S(); s.a = 1""",
        """s.b = x * 2
s.a += 1""",
        "s",
    ),
    (
        """class AD(dict): pass
ad = AD(q=1)""",
        """ad.last = x * 2
ad['r'] = x""",
        "ad",
    ),
    (
        "dq = collections.deque([1], maxlen=2)",
        """dq.append(x)
dq2 = collections.deque([x, x, n], maxlen=2)""",
        "(([dq, dq2]), dq.maxlen, dq2.maxlen)",
    ),
    (
        "",
        """def g(z):
    '''Doc.'''
    g.calls = getattr(g, 'calls', 0) + 1
    return z + x
t = g(x)""",
        "[g(y), g.calls, g.__doc__]",
    ),
    (
        """class T:
    def __init__(self): self.v = tf.Variable(1.0); self.log = []
    def step(self, q):
        self.v.assign_add(1.0); self.log.append(q); self.last = q
        return q * 2
tr = T()""",
        """o = tr.step(x)
m = tr.step""",
        "((tr), m.__self__ is tr)",
    ),
    (
        """class Parent:
    count = 0
    def bump(self): Parent.count += 1; return x * Parent.count
pp = Parent()""",
        "o = pp.bump()",
        "[o, Parent.count]",
    ),
    (
        "cfg = {'a': {'b': [x]}}; inner = cfg['a']",
        """inner['c'] = x
cfg['a']['b'].append(x * 2)
z = cfg['a']""",
        "[cfg, inner, z]",
    ),
    (
        """import collections
cm = collections.ChainMap({'a': x}, {'b': y})""",
        """cm['c'] = x * 2
cm2 = cm.new_child({'z': x})""",
        "((dict(cm)), (dict(cm2)))",
    ),
    (
        """class W:
    def __init__(self): self._d = {}
    def __setitem__(self, k, v): self._d[k] = v
    def __getattr__(self, k):
        if k.startswith('_'): raise AttributeError(k)
        return self._d[k]
w = W()""",
        """w['k'] = x * 2
q = w.k""",
        "[w, q]",
    ),
    (
        """class Box:
    def __init__(self, a): self.a = a
box = Box(1)""",
        """box.inner = Box(x)
box.inner.up = box
q = box.inner""",
        "[box, q]",
    ),
    (
        """def counter():
    c = 0
    def inc():
        nonlocal c
        c += 1
        return c
    return inc""",
        """k = counter()
k(); k()""",
        "(k())",
    ),
    (
        """def counter():
    c = 0
    def inc():
        nonlocal c
        c += 1
        return c
    return inc
k = counter()""",
        "r = k()",
        "(r)",
    ),
    (
        "class Base: registry = []",
        """class Sub(Base):
    def __init_subclass__(cls): Base.registry.append(cls.__name__)
class Sub2(Sub): k = x""",
        "[Base.registry, Sub2.k]",
    ),
    (
        "",
        """class M:
    table = {}
    hits = 0
    def put(self, k, z):
        self.table[k] = z
        M.hits += 1
        type(self).last = z
m = M(); m.put('a', x)""",
        "[M.table, M.hits, M.last, m]",
    ),
    (
        """class Tr:
    def __init__(self):
        self.v = tf.Variable([0.0, 0.0]); self.steps = 0
    def fit(self, z):
        for i in range(2):
            self.v.assign_add(z); self.steps += 1
        return self
tr = Tr()""",
        "tr2 = tr.fit(x)",
        "((tr), tr2 is tr)",
    ),
    (
        "a = np.zeros(3); v2 = a[1:]",
        """v2 += n
w2 = v2[::-1]""",
        "(a.tolist(), v2.tolist(), w2.tolist(), np.shares_memory(a, w2), np.shares_memory(a, v2))",
    ),
    (
        """def f(z, acc=[]):
    acc.append(z)
    return acc""",
        "r = f(x)",
        "[r, f.__defaults__[0]]",
    ),
]


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize(("setup", "cell", "probe"), CASES, ids=[cell for _, cell, _ in CASES])
def test_it_leaves_what_an_eager_cell_leaves(shell, setup: str, cell: str, probe: str) -> None:
    assert_the_same(shell, setup, cell, probe)
