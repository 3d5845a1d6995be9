"""The objects that a cell makes are left as an eager cell leaves them, made anew each time."""

from __future__ import annotations

import pytest

from tests.notebook.sides import assert_the_same

CASES = [
    (
        "",
        """try:
    try:
        {}["a"]
    except KeyError as missing:
        raise ValueError("v") from missing
except ValueError as error:
    kept = error""",
        "(type(kept.__cause__).__name__, kept.args, vars(kept))",
    ),
    (
        "class S:\n    def __init__(self, w): self.fn = lambda: w * 2",
        "s = S(x * 1.0)",
        "s.fn()",
    ),
    (
        "",
        """c = collections.Counter('hello')
c['t'] = x * 2""",
        "c",
    ),
    (
        """class Box:
    def __init__(self, a): self.a = a; self.items = []""",
        """b = Box(x * 2)
b.items.append(x)""",
        "b",
    ),
    (
        """class Box:
    def __init__(self, a): self.a = a; self.items = []""",
        "b = Box(1)",
        "((b), b.items.append(3))",
    ),
    (
        """@dataclasses.dataclass
class P:
    a: object
    b: int = 3""",
        """p = P(x * 2)
q = dataclasses.replace(p, b=n)""",
        "[p, q]",
    ),
    (
        """@dataclasses.dataclass(frozen=True, slots=True)
class P:
    a: object
    b: int = 3""",
        "p = P(x * 2)",
        "[p]",
    ),
    (
        "",
        "ns = types.SimpleNamespace(a=x * 2, l=[x])",
        "ns",
    ),
    (
        "dq = collections.deque([1], maxlen=2)",
        """dq.append(x)
dq2 = collections.deque([x, x, n], maxlen=2)""",
        "(([dq, dq2]), dq.maxlen, dq2.maxlen)",
    ),
    (
        "",
        """od = collections.OrderedDict(a=x, b=1)
dd = collections.defaultdict(list)
dd['q'].append(x)""",
        "(([od, dd]), type(dd['new']))",
    ),
    (
        """class Hist(list):
    pass""",
        """h = Hist([x])
h.name = 'q'""",
        "h",
    ),
    (
        """class Node:
    def __init__(self, val, nxt=None): self.val = val; self.nxt = nxt""",
        "a = Node(x); b = Node(x * 2, a); a.nxt = b",
        "[a, b]",
    ),
    (
        "import enum",
        """class E(enum.Enum):
    A = 1
    B = 2
e = E.A""",
        "(e is E.A, E.B.value, e.name)",
    ),
    (
        "from typing import NamedTuple",
        """class Pt(NamedTuple):
    a: object
    b: int = 2
p = Pt(x * 2)""",
        "((p.a), p.b, type(p) is Pt, isinstance(p, Pt))",
    ),
    (
        "",
        "e = ValueError('no', n)",
        "(type(e), e.args)",
    ),
    (
        "",
        """it = iter([1, 2, 3])
first = next(it)""",
        "(first, next(it))",
    ),
    (
        "",
        """import random
r = random.Random(3)
z = r.random()""",
        "(z, r.random())",
    ),
    (
        "",
        """rng = np.random.default_rng(3)
z = rng.normal()""",
        "(z, rng.normal())",
    ),
    (
        "",
        "s = {1, 2}; fz = frozenset([n]); by = bytearray(b'ab'); mv = memoryview(by)",
        "(s, fz, by, bytes(mv))",
    ),
    (
        "",
        "ud = collections.UserDict(a=x); ul = collections.UserList([x])",
        "((dict(ud)), (list(ul)))",
    ),
    (
        "",
        """class A:
    __slots__ = ('q', '__dict__')
a = A(); a.q = x; a.z = n""",
        "[a]",
    ),
    (
        "",
        """class V:
    def __init__(self, val): self._v = val
    @property
    def v(self): return self._v * 2
    @v.setter
    def v(self, q): self._v = q
    def __eq__(self, o): raise RuntimeError
    __hash__ = None
a = V(x); a.v = x + 1; r = a.v""",
        "[a, r, a.v]",
    ),
    (
        "",
        """class S:
    _inst = None
    def __new__(cls):
        if cls._inst is None: cls._inst = super().__new__(cls)
        return cls._inst
s1 = S(); s2 = S(); s1.a = x""",
        "[s1, s2, S._inst]",
    ),
    (
        """class S:
    _inst = None
    def __new__(cls):
        if cls._inst is None: cls._inst = super().__new__(cls)
        return cls._inst""",
        "s1 = S(); s2 = S(); s1.a = x",
        "[s1, s2, S._inst]",
    ),
    (
        "",
        """import dataclasses as dc
@dc.dataclass
class C:
    items: list = dc.field(default_factory=list)
    t: object = None
c = C(); c.items.append(x); c2 = C(t=c)""",
        "[c, c2]",
    ),
    (
        "import numpy as np",
        """arr = np.array([x.shape[0], 2], dtype=object)
arr[1] = x * 2
mat = np.eye(2)[::-1]""",
        "((arr[1]), mat.tolist(), mat.flags.writeable)",
    ),
    (
        "L = [1, 2, 3]",
        """it = iter(L)
z = next(it)
L.append(x.shape[0])""",
        "(z, list(it))",
    ),
    (
        "",
        """class Cfg: lr = 0.1
cfg = Cfg()
cfg.lr = n * 0.1""",
        "(cfg.lr, Cfg.lr, isinstance(cfg, Cfg))",
    ),
    (
        """import enum
class Mode(enum.Enum):
    A = 1
    B = 2""",
        """m = Mode.A
ms = [m, Mode.B]""",
        "(m is Mode.A, ms[1] is Mode.B)",
    ),
    (
        "cb = {'f': lambda z: z + 1}",
        """g = cb['f']
t = g(x)""",
        "(g is cb['f'])",
    ),
    (
        "A = [1, 2]; B = A",
        """A = A + [x]
A.append(y)""",
        "[A, B]",
    ),
    (
        "",
        """t = tuple([x, [y]]); s = slice(1, 2); rg = range(n); el = ...
nt = collections.namedtuple('Nt', 'a b')(x, 1)""",
        "((t), s, rg, el, (nt.a), type(nt).__name__)",
    ),
]


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize(("setup", "cell", "probe"), CASES, ids=[cell for _, cell, _ in CASES])
def test_it_leaves_what_an_eager_cell_leaves(shell, setup: str, cell: str, probe: str) -> None:
    assert_the_same(shell, setup, cell, probe)
