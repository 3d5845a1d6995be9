"""Guards find what code reads in the many ways that Python has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbfn

THREE = tf.constant(3.0)

CODE = """
import dataclasses, enum, functools, operator, threading
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace

g = 2.0

class P:
    def __init__(self): self.k = 2.0

@dataclass
class D:
    k: float = 2.0

@dataclass(unsafe_hash=True)
class Key:
    k: float = 2.0

@dataclass
class Outer:
    inner: D

class Base:
    k = 2.0
    def __init__(self): self.own = 2.0
    def m(self): return self.own
    def __init_subclass__(cls): cls.made = g

class Sub(Base):
    def m(self): return super().m()

class Other: k = 7.0

class Meta(type):
    k = 2.0
    @property
    def found(cls): return cls.state
    def __getitem__(cls, i): return cls.state
    def __instancecheck__(cls, value): return cls.state == 2.0

class OfMeta(metaclass=Meta): state = 2.0

class Generic:
    state = 2.0
    def __class_getitem__(cls, i): return cls.state

class Odd:
    def __init__(self): self.k = 2.0
    def __getattribute__(self, name): return object.__getattribute__(self, "k")

class WithPartial:
    def m(self, scale, x): return x * scale * g
    h = functools.partialmethod(m, 1.0)

class Path:
    def __init__(self): self.k = "a"
    def __fspath__(self): return self.k

@functools.singledispatch
def chosen(value): return 1.0

@chosen.register
def _(value: int): return g

def bound(x, k=P()): return x * k.k
def bound_deep(x, *, k={"a": [P()]}): return x * k["a"][0].k
def through_globals(): return globals()["g"]

p, d, key = P(), D(), Key()
table = {Key(2.0): 2.0, Key(7.0): 7.0}
outer, tree, sub, odd, own = Outer(d), SimpleNamespace(q=p), Sub(), Odd(), WithPartial()
name, names, path = "q", ["q", "k"], Path()

class Chain:
    def __init__(self): self.k = 2.0
    def a(self): return self.b()
    def b(self): return self.c()
    def c(self): return self.d()
    def d(self): return self.k

class Cached:
    def __init__(self): self.k = 2.0
    @functools.cached_property
    def w(self): return self.k * 3.0

chain, cached, module = Chain(), Cached(), tf.Module()
module.k, kind, fallback, computed = 2.0, "a", "a_rate", "more"
rates, tensors = SimpleNamespace(a_rate=2.0), SimpleNamespace(w=tf.constant(2.0))

def look(o):
    for each in names: o = getattr(o, each)
    return o

def made_of(k):
    class OfOneName:
        r = k
    return OfOneName

One, Two = made_of(2.0), made_of(3.0)

class Entered:
    def __init__(self): self.value = g
    def __enter__(self): return self
    def __exit__(self, *_): pass

entered = Entered()
def scope(): return entered

class Kind(enum.Enum): ONE = P()

class Local(threading.local): pass

local, by_name, wide, options = Local(), P(), P(), {}
local.r, by_name.amount = 2.0, Decimal(2)
vars(wide).update({f"a{i}": i for i in range(300)})
context = ContextVar("context", default=P())
"""


@pytest.mark.parametrize(
    ("body", "change"),
    [
        ("return x * sub.m()", "sub.own = 7.0"),
        ("return x * sub.k", "sub.__class__ = Other"),
        ("return bound(x)", "bound.__defaults__[0].k = 7.0"),
        ("return bound_deep(x)", "bound_deep.__kwdefaults__['k']['a'][0].k = 7.0"),
        ("return own.h(x)", "g = 7.0"),
        ("return own.h(x)", "WithPartial.h = functools.partialmethod(WithPartial.m, 7.0)"),
        ("return x * chosen(1)", "g = 7.0"),
        ("return x * chosen(1)", "chosen.register(int)(lambda value: 7.0)"),
        ("match d:\n        case D(k=v): return x * v", "d.k = 7.0"),
        ("match d:\n        case D(v): return x * v", "d.k = 7.0"),
        ("return x * table[key]", "key.k = 7.0"),
        ("return x * OfMeta.k", "Meta.k = 7.0"),
        ("return x * OfMeta.found", "OfMeta.state = 7.0"),
        ("return x * OfMeta['a']", "OfMeta.state = 7.0"),
        ("return x if isinstance(1, OfMeta) else -x", "OfMeta.state = 7.0"),
        ("return x * Generic['a']", "Generic.state = 7.0"),
        ("return x * odd.anything", "odd.k = 7.0"),
        ("class Q(Base): pass\n    return x * Q.made", "g = 7.0"),
        ("return x * globals()['g']", "g = 7.0"),
        ("return x * through_globals()", "g = 7.0"),
        ("return x if 'late' in globals() else -x", "late = 1"),
        ("return x * eval('g + 1')", "g = 7.0"),
        ("return x * sum([eval('g') for _ in range(1)])", "g = 7.0"),
        ("return x * (lambda: eval('g'))()", "g = 7.0"),
        ("return x * len([1, 2])", "len = lambda value: 7"),
        ("return x * len(__import__('os').fspath(path))", "path.k = 'abc'"),
        ("return x * len(dir(p))", "p.more = 1"),
        ("return x * getattr(tree, name).k", "p.k = 7.0"),
        ("return x * look(tree)", "p.k = 7.0"),
        ("return x * chain.a()", "chain.k = 7.0"),
        ("return x * getattr(rates, kind + '_rate')", "rates.a_rate = 7.0"),
        ("return x * getattr(rates, f'{kind}_rate')", "rates.a_rate = 7.0"),
        ("return x * getattr(rates, fallback, 'none')", "rates.a_rate = 7.0"),
        ("return x * getattr(rates, {'key': fallback}['key'])", "rates.a_rate = 7.0"),
        ("return x * operator.attrgetter(kind + '_rate')(rates)", "rates.a_rate = 7.0"),
        ("return x if hasattr(p, computed) else -x", "p.more = 1"),
        ("return x * sum(vars(tensors).values())", "tensors.w = tf.constant(7.0)"),
        ("return x * module.k", "module.k = 7.0"),
        ("return x * cached.w", "cached.k = 7.0; del cached.w"),
        ("return x * sum(each.k for each in vars(tree).values())", "p.k = 7.0"),
        ("return x * dataclasses.asdict(outer)['inner']['k']", "d.k = 7.0"),
        ("return x * operator.attrgetter('q.k')(tree)", "p.k = 7.0"),
        ("return x * One.r * Two.r", "Two.r = 5.0"),
        ("with scope() as s:\n        return x * s.value", "entered.value = 5.0"),
        ("return x * type(entered)().value", "g = 7.0"),
        ("return x * Kind.ONE.value.k", "Kind.ONE.value.k = 7.0"),
        ("return x * local.r", "local.r = 7.0"),
        ("return x * context.get().k", "context.get().k = 7.0"),
        ("return x * options.get('k', 2.0)", "options = __import__('collections').Counter(k=7.0)"),
        ("return x * getattr(wide, 'rate', 2.0)", "wide.rate = 7.0"),
        ("return x * float(getattr(by_name, 'amo' + 'unt'))", "by_name.amount = Decimal(7)"),
    ],
)
def test_a_way_to_read(body: str, change: str) -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf}
    exec(f"{CODE}\ndef f(x):\n    {body}", space)
    f = nbfn.function(space["f"], autograph=False)
    before = float(f(THREE))
    f(THREE)
    assert (len(f.traces), f.hits) == (1, 1)
    exec(change, space)
    now = float(f(THREE))
    assert now == pytest.approx(float(space["f"](THREE)))
    assert now != before
    assert len(f.traces) == 2
    f(THREE)
    assert (len(f.traces), f.hits) == (2, 2)


@pytest.mark.parametrize(
    "body",
    [
        "import settings_of_guards\n    return x * settings_of_guards.rate",
        "from settings_of_guards import rate\n    return x * rate",
        "import settings_of_guards as s\n    return s.times(x)",
        "return named.times(x)",
        "return x * named.rate",
    ],
)
def test_a_module_that_the_code_imports(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "rate, unread = 2.0, 0\ndef times(x): return x * rate"
    (tmp_path / "settings_of_guards.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    import settings_of_guards as settings  # type: ignore[import-not-found]

    space: dict[str, Any] = {"__name__": "__main__", "named": settings}
    exec(f"def f(x):\n    {body}", space)
    f = nbfn.function(space["f"], autograph=False)
    assert float(f(THREE)) == 6.0
    settings.unread = 1
    f(THREE)
    assert len(f.traces) == 1
    settings.rate = 5.0
    assert float(f(THREE)) == 15.0
    del sys.modules["settings_of_guards"]


def test_no_code_of_an_object_runs() -> None:
    asked = []

    class Curious:
        @property
        def __class__(self) -> Any:
            asked.append("class")
            return dict

        def __getattribute__(self, name: str) -> Any:
            if not name.startswith("__"):
                asked.append(name)
            return object.__getattribute__(self, name)

        def __iter__(self) -> Any:
            asked.append("iter")
            return iter(())

    curious = [Curious()]
    f = nbfn.function(lambda x: x if curious else -x, autograph=False)
    assert [float(f(THREE)) for _ in range(3)] == [3.0] * 3
    assert asked == []


def test_a_path_whose_text_is_made_while_it_is_traced() -> None:
    path = Path("a")
    f = nbfn.function(lambda x: x * len(str(path)), autograph=False)
    assert float(f(THREE)) == 3.0
    path = Path("abc")
    assert float(f(THREE)) == 9.0
