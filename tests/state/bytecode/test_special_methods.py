"""Guards find state that code reads without naming it: by special methods, `getattr` and `vars`."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn

THREE = tf.constant(3.0)

CODE = """
class V:
    def __init__(self): self.k = 2.0
    def __getitem__(self, i): return self.k * i
    def __mul__(self, x): return x * self.k
    __rmul__ = __mul__
    def __add__(self, x): return x + self.k
    def __neg__(self): return -self.k
    def __len__(self): return int(self.k)
    def __enter__(self): return self.k
    def __exit__(self, *_): return None
    def __iter__(self): return iter([self.k])
    def __contains__(self, x): return self.k == x
    def __eq__(self, other): return self.k == other
    def __lt__(self, other): return self.k < other
    __hash__ = None
    def __bool__(self): return self.k == 2.0
    def __float__(self): return self.k
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return self.k
    def __matmul__(self, x): return helper(self) * x
    def __call__(self, x): return x * self.k

class Size:
    def __init__(self): self.k = 2.0
    def __len__(self): return int(self.k) - 2

def helper(v): return v.k

class Read:
    def __get__(self, owner, cls=None): return vars(owner)["k"]

class Owner:
    read = Read()
    def __init__(self): self.k = 2.0

class Table(dict):
    def __init__(self, **items): dict.__init__(self, items); self.k = 2.0
    def total(self): return self.k

v, s, o, t = V(), Size(), Owner(), Table(a=1)
"""


def traced(expression: str, methods: str) -> tuple[dict[str, Any], Any]:
    """A function of `v`, which has only these of the special methods."""
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf, "np": np}
    exec(f"{CODE}\ndef f(x):\n    {expression}", space)
    for name, value in list(vars(space["V"]).items()):
        if callable(value) and name.strip("_") not in ("init", *methods.split()):
            delattr(space["V"], name)
    return space, nbfn.function(space["f"], autograph=False)


@pytest.mark.parametrize(
    ("expression", "methods"),
    [
        ("return x * v[1]", "getitem"),
        ("return v * x", "mul rmul"),
        ("return x * float(v)", "float"),
        ("return 3.0 * v * x", "mul rmul"),
        ("return v + x", "add"),
        ("return x * -v", "neg"),
        ("return x * len(v)", "len"),
        ("return x * (1 + len(s))", ""),
        ("return x * (1 + sum(map(len, [s])))", ""),
        ("return x * (1 + [len(each) for each in [s]][0])", ""),
        ("with v as k: return x * k", "enter exit"),
        ("w = v\n    with w as k: return x * k", "enter exit"),
        ("return x * sum(v)", "iter"),
        ("return x * [k for k in v][0]", "iter"),
        ("return x if 2.0 in v else -x", "contains"),
        ("return x if v == x.shape.rank + 2.0 else -x", "eq"),
        ("return x if v < x.shape.rank + 5.0 else -x", "lt"),
        ("return x if sorted([v])[0] < 5.0 else -x", "lt"),
        ("return x if v else -x", "bool"),
        ("return x * v.anything", "getattr"),
        ("return v @ x", "matmul"),
        ("return v(x)", "call"),
        ("return x * o.read", ""),
        ("return x * t.total()", ""),
        ("return x * getattr(v, 'k')", ""),
        ("return x * getattr(v, 'k', 1.0)", ""),
        ("return x * getattr(v, 'K'.lower())", ""),
        ("return x * getattr(v, 'K'.lower(), 1.0)", ""),
        ("return x * vars(v)['k']", ""),
        ("return x * v.__dict__['k']", ""),
        ("return x * __import__('operator').attrgetter('k')(v)", ""),
    ],
)
def test_state_that_is_read_without_its_name(expression: str, methods: str) -> None:
    space, f = traced(expression, methods)
    before = float(f(THREE))
    f(THREE)
    assert (len(f.traces), f.hits) == (1, 1)
    for name in "vsot":
        space[name].k = 7.0
    now = float(f(THREE))
    assert len(f.traces) == 2
    assert now == float(space["f"](THREE))
    assert now != before
    for name in "vsot":
        space[name].k = 2.0
    assert float(f(THREE)) == before
    assert len(f.traces) == 2


def test_special_methods_that_are_defined_again_or_read_globals() -> None:
    space, f = traced("return v * x", "mul")
    assert float(f(THREE)) == 6.0
    space["V"].__mul__ = lambda self, x: x + self.k
    assert float(f(THREE)) == 5.0
    space, f = traced("return v @ x", "matmul")
    assert float(f(THREE)) == 6.0
    exec("def helper(v): return v.k + 1", space)
    assert float(f(THREE)) == 9.0


def test_an_argument_with_special_methods() -> None:
    class V:
        k = 2.0

        def __mul__(self, x: Any) -> Any:
            return x * self.k

    v = V()
    f = nbfn.function(lambda v, x: v * x)
    assert float(f(v, THREE)) == 6.0
    v.k = 7.0
    assert float(f(v, THREE)) == 21.0


@dataclasses.dataclass
class State:
    lr: float = 2.0
    step: int = 0
    mode: str = "train"


@dataclasses.dataclass
class Agent:
    lr: float = 2.0
    seen: Any = dataclasses.field(default_factory=list)

    def __len__(self) -> int:
        return len(self.seen)

    def __enter__(self) -> Agent:
        self.seen.append("entered")
        return self

    def __exit__(self, *_: object) -> None:
        self.seen.append("left")

    def __repr__(self) -> str:
        return f"{self.seen}"

    def __getattr__(self, name: str) -> Any:
        return getattr(SimpleNamespace(shift=1.0), name)


def within_a_scope(s: Any, a: Any, x: Any) -> Any:
    with tf.name_scope("a"):
        return x * s.lr * a.lr


@pytest.mark.parametrize(
    "body",
    [
        lambda s, a, x: x * s.lr * a.lr,
        lambda s, a, x: x * s.lr if s.mode == "train" else x,
        lambda s, a, x: getattr(tf.nn, "re" + "lu")(x) * s.lr * a.lr,
        lambda s, a, x: x * getattr(s, "lr") + a.shift,  # noqa: B009
        lambda s, a, x: x * s.lr * a.lr if s.mode and len(x.shape) < 1 else x,
        within_a_scope,
        lambda s, a, x: x * s.lr * a.lr if len(x.shape) < x.ndim + 1 else x,
        lambda s, a, x: x * s.lr if s is not None and a is not None else x,
    ],
)
def test_what_the_code_cannot_read_makes_no_trace(body: Any) -> None:
    state, agent = State(), Agent()
    f = nbfn.function(lambda x: body(state, agent, x), autograph=False)
    for step in range(4):
        f(THREE)
        state.step = step
        agent.seen.append(step)
    assert (len(f.traces), f.hits) == (1, 3)
    state.lr = 3.0
    f(THREE)
    assert len(f.traces) == 2


def test_state_that_special_methods_write_themselves_is_exempt() -> None:
    class Stream:
        def __init__(self) -> None:
            self.position, self.entered = 0, 0

        def __iter__(self) -> Stream:
            return self

        def __next__(self) -> float:
            self.position += 1
            return 1.0

        def __enter__(self) -> Stream:
            self.entered += 1
            return self

        def __exit__(self, *_: object) -> None:
            self.entered -= 2

    stream = Stream()

    @nbfn.function(autograph=False)
    def f(x: Any) -> Any:
        with stream:
            return x * next(stream)

    for _ in range(4):
        f(THREE)
        stream.position += 1
        stream.entered += 1
    assert len(f.traces) == 1


def test_attributes_of_functions_classes_and_slots() -> None:
    class Slotted:
        __slots__ = ("k",)

        def __mul__(self, x: Any) -> Any:
            return x * self.k

    class Options:
        rate = 2.0

    def h(x: Any) -> Any:
        return x * h.rate  # type: ignore[attr-defined]

    h.rate = 2.0  # type: ignore[attr-defined]
    slotted = Slotted()
    slotted.k = 2.0  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        return slotted * h(x) * Options.rate

    g = nbfn.function(f)
    assert float(g(THREE)) == 24.0
    for holder, name in ((h, "rate"), (slotted, "k"), (Options, "rate")):
        setattr(holder, name, 5.0)
        assert float(g(THREE)) == pytest.approx(float(f(THREE)))
    assert len(g.traces) == 4


RATE = 2.0


class Rated:
    def __enter__(self) -> float:
        return RATE

    def __exit__(self, *_: object) -> None:
        pass


def test_a_context_of_a_class_that_the_code_names(monkeypatch: pytest.MonkeyPatch) -> None:
    @nbfn.function(autograph=False)
    def f(x: Any) -> Any:
        with Rated() as rate:
            return x * rate

    assert float(f(THREE)) == 6.0
    monkeypatch.setitem(globals(), "RATE", 5.0)
    assert float(f(THREE)) == 15.0


class Scaled:
    """A descriptor that keeps its value beside, as descriptors in Python's guide do."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, obj: Any, cls: type | None = None) -> Any:
        return getattr(obj, f"_{self.name}")

    def __set__(self, obj: Any, value: float) -> None:
        setattr(obj, f"_{self.name}", value)


@pytest.mark.parametrize("base", [object, tf.Module, keras.layers.Layer, keras.Model])
def test_a_private_attribute_behind_a_descriptor(base: type) -> None:
    class Model(base):  # type: ignore[misc]
        gain = Scaled()

        def __call__(self, x: Any) -> Any:
            return x * self.gain

    model = Model()
    model.gain = 2.0
    f = nbfn.function(lambda x: model(x))
    assert [float(f(THREE)) for _ in range(3)] == [6.0] * 3
    model.gain = 5.0
    assert [float(f(THREE)) for _ in range(3)] == [15.0] * 3
    assert len(f.traces) == 2


def test_what_keras_notes_in_a_model_is_not_read_by_any_name() -> None:
    class Model(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.layer1, self.layer2 = keras.layers.Dense(2), keras.layers.Dense(1)
            self.factor3 = 1.0

        def call(self, x: Any) -> Any:
            for i in (1, 2):
                x = getattr(self, f"layer{i}")(x)
            return x * getattr(self, f"factor{i + 1}")

    model = Model()
    model.compile("sgd", "mse")
    f = nbfn.function(lambda x: model(x))
    x = np.ones([4, 3], "float32")
    f(x)
    traces = len(f.traces)
    for _ in range(2):
        model.fit(x, x[:, :1], verbose=0)
        model.evaluate(x, x[:, :1], verbose=0)
        model.predict(x, verbose=0)
        assert np.allclose(f(x), model(x))
    assert len(f.traces) == traces
    model.factor3 = 2.0
    assert np.allclose(f(x), model(x))
    assert len(f.traces) == traces + 1
