"""Functions and classes that a cell defines read the notebook, as those of an eager cell do."""

from __future__ import annotations

import pytest

from tests.notebook.sides import assert_the_same

CASES = [
    (
        "",
        """def g(z): return z + x
t = g(x)""",
        "g(y)",
    ),
    (
        "",
        """w = x * 2
g = lambda z: z + w
t = g(x)""",
        "[g(y), w]",
    ),
    (
        "",
        """w = x * 2
g = lambda z: z + w
t = g(x)
w = x * 3""",
        "[g(y), w]",
    ),
    (
        "",
        """def make(k):
    def inner(z): return z * k
    return inner
g = make(x * 2)
t = g(x)""",
        "g(y)",
    ),
    (
        "",
        """fs = [lambda z, i=i: z + i for i in range(3)]
t = fs[1](x)""",
        "[fs[2](y), t]",
    ),
    (
        "",
        """class K:
    scale = x * 2
    def f(self, z): return z + x * self.scale
t = K().f(x)""",
        "K().f(y)",
    ),
    (
        "",
        """class K:
    def __init__(self, a): self.a = a
    def f(self, z): return z + self.a + x
k = K(x * 2)
t = k.f(x)""",
        "[k.f(y), k]",
    ),
    (
        "",
        """@dataclasses.dataclass
class D:
    a: object
    b: int = 1
    def twice(self): return self.a * 2
d = D(x)
t = d.twice()""",
        "[d, d.twice(), isinstance(d, D)]",
    ),
    (
        "",
        """class Base:
    def f(self): return x
class Sub(Base):
    def f(self): return super().f() + 1
s = Sub()
t = s.f()""",
        "[s.f(), isinstance(s, Base)]",
    ),
    (
        "",
        """def g(z, k=x * 2, *, m=n): return z + k + m
t = g(x)""",
        "[g(y), g.__defaults__, g.__kwdefaults__]",
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
        "",
        """def fact(k): return 1 if k == 0 else k * fact(k - 1)
t = fact(n)""",
        "[fact(4), t]",
    ),
    (
        "",
        """if n > 2:
    def g(z): return z + x
else:
    def g(z): return z - x
t = g(x)""",
        "g(y)",
    ),
    (
        "",
        """@functools.lru_cache
def g(k): return k + n
t = g(2)""",
        "[g(5), t]",
    ),
    (
        "",
        """@tf.function
def g(z): return z + x
t = g(x)""",
        "g(y)",
    ),
    (
        "",
        """def deco(f):
    @functools.wraps(f)
    def wrapped(*a): return f(*a) + 1
    return wrapped
@deco
def g(z): return z + x
t = g(x)""",
        "[g(y), g.__name__]",
    ),
    (
        "",
        """p = functools.partial(lambda a, z: a + z, x * 2)
t = p(x)""",
        "p(y)",
    ),
    (
        "import abc",
        """class AB(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
class Im(AB):
    @property
    def p(self): return x
    @staticmethod
    def st(z): return z + x
    @classmethod
    def cl(cls, z): return z * x
    def f(self): return 1
i = Im(); t = i.p""",
        "[i.p, i.st(y), Im.cl(y), i]",
    ),
    (
        "",
        """class Net(tf.keras.Model):
    def __init__(self):
        super().__init__(); self.d = tf.keras.layers.Dense(2, kernel_initializer='ones')
    def call(self, z): return self.d(z) + x
net = Net()
o = net(tf.ones([1, 2]))""",
        "((o), type(net) is Net, isinstance(net, Net), (net(tf.ones([1,2]))))",
    ),
    (
        """REG = {}
def register(f): REG[f.__name__] = f; return f""",
        """@register
def g(z): return z + x
t = g(x)""",
        "[g(y), REG['g'](y), REG['g'] is g, len(REG)]",
    ),
    (
        "",
        """fs = {'a': lambda z: z + 1, 'b': lambda z: z * 2, 'c': lambda z: z + x}
t = fs['b'](x)""",
        "[fs['a'](y), fs['b'](y), fs['c'](y)]",
    ),
    (
        "",
        "fs = [lambda z: z + x, lambda z: z * x]",
        "[f(y) for f in fs]",
    ),
    (
        "",
        """def outer(k):
    def mid(z):
        def inner(q): return q + k + n
        return inner(z)
    return mid
g = outer(x); h = outer(y)""",
        "[g(y), h(y)]",
    ),
    (
        "",
        """def g(z):
    "Doc."
    if tf.reduce_sum(z) > 3:
        return z + x
    return z - x
t = g(x)""",
        "[g(y), g(x), g.__doc__]",
    ),
    (
        "",
        """g = functools.lru_cache(None)(lambda k: k * n)
t = g(3)""",
        "[g(4), t]",
    ),
    (
        "",
        """import math
from functools import reduce
sq = lambda q: q ** 2
r = reduce(lambda a, b: a + sq(b), [1, 2, 3])
m = map(sq, [1, 2])
z = list(zip([1], [x]))""",
        "(r, list(m), (z), math.pi)",
    ),
]


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize(("setup", "cell", "probe"), CASES, ids=[cell for _, cell, _ in CASES])
def test_it_leaves_what_an_eager_cell_leaves(shell, setup: str, cell: str, probe: str) -> None:
    assert_the_same(shell, setup, cell, probe)
