"""What the user does between two runs stays, and what the trace depends on is seen."""

from __future__ import annotations

import pytest

from tests.notebook.sides import assert_the_same

DEEP = """
L = [3, 1, 2]; o = types.SimpleNamespace(nest=[[[[[[L]]]]]])
def innermost(each):
    while isinstance(each[0], list): each = each[0]
    return each
"""
"""A list that lies deeper than guards look."""

CASES = [
    (DEEP, "innermost(o.nest).append(n)", "[L, L.insert(0, 7)]"),
    (DEEP, "innermost(o.nest).sort()", "[L, L.append(0)]"),
    (
        """CFG={'made':0,'lr':.1}
class M:
    def __init__(s): CFG['made']+=1""",
        "m=M()",
        "(dict(CFG), CFG.__setitem__('lr', CFG['lr'] + 5), CFG.__setitem__('user', 'x'))",
    ),
    (
        """G=1
class A:
    def __init__(s): s.v=G*2""",
        "a=A()",
        "(a.v, globals().__setitem__('G', G + 4))",
    ),
    (
        "",
        """def acc():
    t = x
    def add(z):
        nonlocal t
        t = t + z
        return t
    def get(): return t
    return add, get
add, get = acc()
r = add(x)""",
        "[r, add(y), get()]",
    ),
    (
        """class S:
    def __init__(s, w): s.w = w; s.fn = lambda: s.w * 2""",
        "st = S(x)",
        "((st.fn()), st.fn.__closure__[0].cell_contents is st)",
    ),
    (
        """import enum
class Color(enum.Enum):
    R = 1
    G = 2
d = {Color.R: x, Color.G: y}""",
        """d2 = {k: v * 2 for k, v in d.items()}
s = d[Color.R] + 1""",
        "([(v) for v in d2.values()], (s))",
    ),
    (
        "oo = types.SimpleNamespace()",
        """if not hasattr(oo, 'v'):
    oo.v = tf.Variable(y)
oo.v.assign_add(x)""",
        "[oo]",
    ),
    (
        """class C:
    def go(s, z, acc=[]):
        acc.append(z)
        return acc
c = C()""",
        "r = c.go(x)",
        "[r, C.go.__defaults__[0] is r]",
    ),
    (
        """lst = []
ap = lst.append""",
        "ap(x)",
        "[lst]",
    ),
    (
        """st = {'n': 0}
def f(s): s['n'] += 1; return s['n']
p = functools.partial(f, st)""",
        "a = p()",
        "[a, st]",
    ),
    (
        """@dataclasses.dataclass
class Cfg:
    v: int = 1
    w: object = None
cfg = Cfg()""",
        "c = dataclasses.replace(cfg, w=x)",
        "[c, setattr(cfg, 'v', cfg.v + 1)]",
    ),
    (
        "o = types.SimpleNamespace(l=[0] * 5000)",
        "o.l[4500] = n",
        "(o.l[4500], o.l[4000], o.l.__setitem__(4000, o.l[4000] + 9))",
    ),
    (
        """@dataclasses.dataclass
class St:
    w: object
    a: object
st = St(x, np.zeros(3))""",
        "st = dataclasses.replace(st, w=st.w + 1, a=st.a.copy())",
        "[st]",
    ),
    (
        "L = [3, 1, 2]; box = types.SimpleNamespace(l=L)",
        """box.l.sort()
box.l.insert(0, n)""",
        "[L, L.append(0)]",
    ),
]


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize(("setup", "cell", "probe"), CASES, ids=[cell for _, cell, _ in CASES])
def test_it_leaves_what_an_eager_cell_leaves(shell, setup: str, cell: str, probe: str) -> None:
    assert_the_same(shell, setup, cell, probe)


def test_arrays_of_a_state_need_no_new_trace(run, shell) -> None:
    run(
        "import dataclasses\nimport numpy as np\n@dataclasses.dataclass\nclass State:\n"
        "    w: object\n    a: object\ns = State(tf.constant(1.0), np.zeros(3))"
    )
    for _ in range(3):
        run("%%tf_function step\ns = State(s.w + 1, s.a.copy())")
    assert (len(shell.user_ns["step"].traces), shell.user_ns["s"].w.numpy()) == (1, 4.0)
