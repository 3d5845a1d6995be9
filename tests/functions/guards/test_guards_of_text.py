"""Guards find state that is read where an object becomes text."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.bytecode.reads import reads

THREE = tf.constant(3.0)

CODE = """
import string
from dataclasses import dataclass
from types import SimpleNamespace

class R:
    def __init__(self): self.k, self.unread = 2.0, 0
    def __repr__(self): return str(self.k)

class F(R):
    def __format__(self, specification): return str(self.k)

@dataclass
class D:
    k: float = 2.0

@dataclass
class Outer:
    inner: D

def show(o): return f"{o}"
def show_one(*values, **named): return f"{values[0]}"
def get(): return r

r, form, d = R(), F(), D()
listed, outer, holder = [r], Outer(d), SimpleNamespace(item=r)
"""


def traced(body: str) -> tuple[dict[str, Any], Any]:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf}
    exec(f"{CODE}\ndef f(x):\n    {body}", space)
    return space, nbfn.function(space["f"], autograph=False)


@pytest.mark.parametrize(
    "body",
    [
        "return x * float(str(r))",
        "return x * float(repr(r))",
        "return x * float(f'{r}')",
        "return x * float(f'{r!r}')",
        "return x * float('%s' % r)",
        "return x * float('%s%s' % (1, r))",
        "return x * float('{}'.format(r))",
        "return x * float('{a}'.format(a=r))",
        "return x * float('{0.k}'.format(r))",
        "return x * float(format(r))",
        "return x * float(r.__str__())",
        "return x * float(f'{form:>3}')",
        "return x * float(format(form, '>3'))",
        "return x * float(string.Template('$a').substitute(a=r))",
        "return x * float(list(map(str, [r]))[0])",
        "return x * float(''.join(str(each) for each in listed))",
        "return x * float(f'{listed}'[1:-1])",
        "return x * float(f'{holder.item}')",
        "return x * float(f'{get()}')",
        "return x * float(f'{r if x.shape.rank == 0 else 1}')",
        "return x * float(str(None or r))",
        "return x * float(show(r))",
        "return x * float(show_one(r))",
        "o = r\n    return x * float(f'{o}')",
        "o = r\n    def inner(): return float(f'{o}')\n    return x * inner()",
        "o, _ = r, 1\n    return x * float(f'{o}')",
        "o = []\n    o.append(r)\n    return x * float(f'{o}'[1:-1])",
        "for o in listed: text = f'{o}'\n    return x * float(text)",
        "for _, o in enumerate(listed): text = f'{o}'\n    return x * float(text)",
        "return x * {'2.0': 1.0, '7.125': 9.0}[str(r)]",
        "return x * len(repr(d))",
        "return x * len(f'{outer}')",
        "return x * len(f'{holder}')",
    ],
)
def test_the_text_of_an_object(body: str) -> None:
    space, f = traced(body)
    before = float(f(THREE))
    f(THREE)
    assert (len(f.traces), f.hits) == (1, 1)
    for name in ("r", "form", "d"):
        space[name].k = 7.125
    now = float(f(THREE))
    assert now == pytest.approx(float(space["f"](THREE)))
    assert now != before
    assert len(f.traces) == 2


def test_the_text_of_an_argument() -> None:
    space, _ = traced("return x")
    f = nbfn.function(lambda o, x: x * float(f"{o}"))
    assert float(f(space["r"], THREE)) == 6.0
    space["r"].k = 7.0
    assert float(f(space["r"], THREE)) == 21.0


STATE = """
from dataclasses import dataclass, field

@dataclass
class State:
    lr: float = 2.0
    step: int = 0

class Layer:
    def __init__(self): self.k, self.calls, self.name = 2.0, 0, "a"
    def __repr__(self): return f"Layer({self.calls})"

s, layers = State(), [Layer(), Layer()]
"""


@pytest.mark.parametrize(
    "body",
    [
        "print('tracing with', x, s)",
        "print(f'tracing with {s}')",
        "y = x * 2.0; print(f'{y} of {x.shape}')",
        "with tf.name_scope(f'a_{x.shape.rank}'): pass",
        "for i in range(2):\n        with tf.name_scope(f'layer_{i}'): x = x * layers[i].k",
        "for i in range(2):\n        with tf.name_scope('layer_%d' % i): x = x * layers[i].k",
        "for i, _ in enumerate(layers): f'{i}'",
        "for layer in layers: f'{layer.name} {layer.k:.3f}'",
        "['{}'.format(i) for i in range(2)]",
        "[f'{each.name}' for each in layers]",
        "k = [f'{i}{j}' for i in range(2) for j in range(2)]",
        "assert x.shape.rank == 0, f'{s} with {x}'",
        "if x.shape.rank: raise ValueError(f'{s} with {x}')",
        "isinstance(x, str), isinstance(x, (str, bytes))",
        "f'{s.lr} {len(layers)} {tf.rank(x)}'",
        "import time; f'{time.time()}'",
        "k = s.lr; str(k)",
        "n = 3 % 2; (x.shape.rank + 1) % n",
    ],
)
def test_what_is_no_part_of_a_text_makes_no_trace(body: str) -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf}
    exec(f"{STATE}\ndef f(x):\n    {body}\n    return x * s.lr", space)
    f = nbfn.function(space["f"], autograph=False)
    for _ in range(3):
        f(THREE)
        space["s"].step += 1
        space["layers"][0].calls += 1
    assert len(f.traces) == 1
    space["s"].lr = 3.0
    f(THREE)
    assert len(f.traces) == 2


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("return f'{o} {a.b!r} {a.b[0]} {x}'", {"o", "b", "x"}),
        ("return f'{o.k * 2} {len(o)} {tf.rank(x)} {get(o):.3f}'", {"tf()", "get()"}),
        ("k = o\n    k = get(o)\n    return f'{k}'", {"o", "get()"}),
        ("k = o\n    def g(): return f'{k}'\n    return g()", {"o"}),
        ("return [f'{i}' for i in range(3)], [f'{each}' for each in a.b]", {"b"}),
        ("while x: x = f'{x}'", {"x"}),
    ],
)
def test_which_values_become_text(body: str, names: set[str]) -> None:
    space: dict[str, Any] = {}
    exec(f"def f(x):\n    {body}", space)
    found = reads(space["f"].__code__, is_traced=True).attributes
    assert {name[8:] for name in found if name.startswith("__str__ ")} == names
    assert "__str__" not in found
