"""Guards follow what containers hold, however deep, and what Python's own classes lead to."""

from __future__ import annotations

import argparse
import collections
import contextvars
import functools
import itertools
import operator
import sys
import threading
import weakref
from array import array
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

import nbfn

ONE = tf.constant(1.0)


class P:
    def __init__(self) -> None:
        self.k = 2.0


class Items(list):  # type: ignore[type-arg]
    pass


class Members(set):  # type: ignore[type-arg]
    pass


def nested(depth: int) -> tuple[Any, P]:
    inner = P()
    value: Any = inner
    for i in range(depth):
        value = [value] if i % 2 else {"a": value}
    return value, inner


def inner_of(value: Any) -> Any:
    while not isinstance(value, P):
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return value


@pytest.mark.parametrize(
    "hold",
    [
        lambda p: [P() for _ in range(150)] + [p],
        lambda p: [P() for _ in range(1500)] + [p],
        lambda p: {p},
        lambda p: frozenset({p}),
        lambda p: {p: 1},
        lambda p: {"a": (1, p)},
        lambda p: Counter({"a": p}),
        lambda p: OrderedDict(a=p),
        lambda p: defaultdict(list, a=p),
        lambda p: deque([p]),
        lambda p: Items([p]),
        lambda p: Members([p]),
        lambda p: {"a": p}.values(),
        lambda p: {p: 1}.keys(),
        lambda p: UserDict(a=p),
        lambda p: UserList([p]),
        lambda p: ChainMap({}, {"a": p}),
        lambda p: MappingProxyType({"a": p}),
        lambda p: np.array([p, None], object),
        lambda p: collections.namedtuple("N", "p")(p),
    ],
)
def test_an_object_in_a_container(hold: Callable[[P], Any]) -> None:
    p = P()
    held = [hold(p)]

    def f(x: Any) -> Any:
        [one] = held
        values = one.values() if hasattr(one, "values") else one
        keys = one if isinstance(one, dict) else ()
        return x * sum(each.k for each in [*values, *keys] if isinstance(each, P))

    g = nbfn.function(f, autograph=False)
    results = set()
    for value in (2.0, 7.0, 2.0):
        p.k = value
        results.add(float(f(ONE)))
        assert float(g(ONE)) == pytest.approx(float(f(ONE)))
    assert len(g.traces) == len(results)


@pytest.mark.parametrize("depth", [4, 10, 25])
def test_an_object_that_lies_deep(depth: int) -> None:
    value, inner = nested(depth)
    f = nbfn.function(lambda x: x * inner_of(value).k, autograph=False)
    assert float(f(ONE)) == 2.0
    inner.k = 7.0
    assert float(f(ONE)) == 7.0
    assert len(f.traces) == 2


def test_a_chain_of_objects_longer_than_calls_can_nest() -> None:
    first = last = P()
    for _ in range(1200):
        last.next = P()  # type: ignore[attr-defined]
        last = last.next  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        each = first
        while hasattr(each, "next"):
            each = each.next
        return x * each.k

    g = nbfn.function(f, autograph=False)
    assert float(g(ONE)) == 2.0
    last.k = 7.0
    assert float(g(ONE)) == 7.0


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (OrderedDict(a=2.0, b=3.0), lambda v: v.move_to_end("a")),
        (UserDict(a=2.0), lambda v: v.update(a=7.0)),
        (UserList([2.0]), lambda v: v.append(7.0)),
        (ChainMap({}, {"a": 2.0}), lambda v: v.maps[1].update(a=7.0)),
        ([[[[[[[[[[[[1.0]]]]]]]]]]]], lambda v: v[0][0][0][0][0][0][0][0][0][0][0].append(2.0)),
        ([1.0, True, "a", None], lambda v: v.__setitem__(1, 1)),
        ([1.0, 2, "a", None], lambda v: v.__setitem__(1, 2.0)),
        ([0.0], lambda v: v.__setitem__(0, -0.0)),
        ({1, 2}, lambda v: v.add(3)),
        (deque([1.0, 2.0]), lambda v: v.__setitem__(0, 5.0)),
        (deque([[1.0]]), lambda v: v[0].append(5.0)),
        (bytearray(b"ab"), lambda v: v.__setitem__(0, 9)),
        (bytearray(1 << 20), lambda v: v.__setitem__(-1, 9)),
        (array("d", [1.0, 2.0]), lambda v: v.__setitem__(1, 5.0)),
        (array("d", [1.0] * 100_000), lambda v: v.append(1.0)),
        ({(1, 2): 2.0}, lambda v: v.update({(1, 2): 7.0})),
    ],
)
def test_plain_content(value: Any, change: Callable[[Any], None]) -> None:
    runs = itertools.count()  # no two graphs are the same
    f = nbfn.function(lambda x: x + next(runs) if value is not None else -x, autograph=False)
    for _ in range(3):
        f(ONE)
    assert (len(f.traces), f.hits) == (1, 2)
    change(value)
    f(ONE)
    assert len(f.traces) == 2


def test_equal_texts_are_equal_however_they_were_made() -> None:
    value = ["abc", "def"]
    f = nbfn.function(lambda x: x if value else -x, autograph=False)
    f(ONE)
    value = ["".join("abc"), "".join("def")]
    f(ONE)
    assert len(f.traces) == 1


def test_lists_dicts_and_tuples_of_a_tf_module() -> None:
    class Net(tf.Module):
        def __init__(self) -> None:
            self.rates, self.table, self.pair = [2.0], {"a": [3.0]}, (1, [P()])

        @nbfn.function
        def __call__(self, x: Any) -> Any:
            return x * self.rates[0] * self.table["a"][0] * self.pair[1][0].k

    net = Net()
    assert float(net(ONE)) == 12.0
    net.rates[0] = 1.0
    assert float(net(ONE)) == 6.0
    net.table["a"][0] = 1.0
    assert float(net(ONE)) == 2.0
    net.pair[1][0].k = 5.0
    assert float(net(ONE)) == 5.0
    net(ONE)
    assert (len(net.__call__.traces), net.__call__.hits) == (4, 1)


def test_a_configuration_of_nested_containers_in_a_tf_module() -> None:
    class Net(tf.Module):
        def __init__(self) -> None:
            self.config = {"layers": [{"rate": 2.0}, {"rate": 3.0}], "pair": (1, [4.0])}

        def __call__(self, x: Any) -> Any:
            rates = [layer["rate"] for layer in self.config["layers"]]
            return x * sum(rates) + self.config["pair"][1][0]

    net = Net()
    f = nbfn.function(net)
    assert float(f(ONE)) == 9.0
    net.config["layers"][1]["rate"] = 5.0
    assert float(f(ONE)) == 11.0
    text = str(f.retraces[-1].causes[0])
    assert text.startswith("attribute `self.config` has changed: {'layers': [{...}, {...}], ")
    net.config["pair"][1][0] = 1.0
    assert float(f(ONE)) == 8.0
    f(ONE)
    assert f.hits == 1


@pytest.mark.parametrize("wrap", [lambda method: method, functools.partial])
def test_a_method_of_a_container_reads_its_items(wrap: Any) -> None:
    class Config(dict):  # type: ignore[type-arg]
        def scale(self, x: Any) -> Any:
            return x * self["rate"]

    config = Config(rate=2.0)
    f = nbfn.function(wrap(config.scale))
    for rate in (2.0, 3.0):
        config["rate"] = rate
        assert [float(f(ONE)) for _ in range(2)] == [rate] * 2
    assert len(f.traces) == 2


def test_what_a_partial_holds_is_told_as_its_argument() -> None:
    config = {"rate": 2.0}
    f = nbfn.function(functools.partial(lambda c, x: x * c["rate"], config))
    f(ONE)
    config["rate"] = 3.0
    assert float(f(ONE)) == 3.0
    assert [str(each) for each in f.retraces[-1].causes] == [
        "attribute `partial.args` was ({'rate': 2.0},), is ({'rate': 3.0},)"
    ]


@pytest.mark.filterwarnings("ignore:.*has retraced:nbfn.NbfnWarning")
def test_references_variables_and_bound_methods() -> None:
    p, table, items = P(), {"a": 2.0}, [2.0]
    reference, get, item = weakref.ref(p), table.get, items.__getitem__
    variable: Any = contextvars.ContextVar("variable", default=2.0)
    local = threading.local()
    local.k = 2.0
    made = 2.0
    default: Any = defaultdict(lambda: made)

    def f(x: Any) -> Any:
        found = reference().k * get("a") * item(0) * variable.get()  # type: ignore
        return x * found * local.k * default.copy()["b"]

    g = nbfn.function(f, autograph=False)
    assert float(g(ONE)) == 64.0
    p.k = 3.0
    assert float(g(ONE)) == 96.0
    table["a"], items[0] = 1.0, 1.0
    assert float(g(ONE)) == 24.0
    variable.set(4.0)
    assert float(g(ONE)) == 48.0
    local.k = 1.0
    assert float(g(ONE)) == 24.0
    made = 1.0
    assert float(g(ONE)) == 12.0


def test_getters_that_are_kept() -> None:
    p = SimpleNamespace(inner=P(), give=lambda: 2.0)
    by_path, by_call = operator.attrgetter("inner.k"), operator.methodcaller("give")
    path, parts = "inner.k", ["inner", "k"]

    def f(x: Any) -> Any:
        return x * by_path(p) * by_call(p)

    g = nbfn.function(f, autograph=False)
    h = nbfn.function(lambda x: x * operator.attrgetter(path)(p), autograph=False)
    i = nbfn.function(lambda x: x * functools.reduce(getattr, parts, p))
    assert [float(each(ONE)) for each in (g, h, i)] == [4.0, 2.0, 2.0]
    p.inner.k = 3.0
    assert [float(each(ONE)) for each in (g, h, i)] == [6.0, 3.0, 3.0]
    p.give = lambda: 1.0
    assert float(g(ONE)) == 3.0


def test_what_is_not_read_of_objects_in_containers_makes_no_trace() -> None:
    layers = {"a": [P() for _ in range(150)]}
    f = nbfn.function(lambda x: x * sum(each.k for each in layers["a"]), autograph=False)
    for step in range(3):
        f(ONE)
        layers["a"][140].calls = step  # type: ignore[attr-defined]
    assert (len(f.traces), f.hits) == (1, 2)


STATE: dict[Any, Any] = {}


def half(x: Any) -> Any:
    return x * STATE["inner"]["rate"] / 2.0


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda: STATE.update(step=1), False),
        (lambda: STATE["log"].append(1.0), False),
        (lambda: STATE.update(rate=3.0), True),
        (lambda: STATE["inner"].update(rate=5.0), True),
        (lambda: STATE.pop("log"), False),
        (lambda: STATE.update({1: 7.0}), True),
    ],
)
def test_of_a_dictionary_the_items_that_are_read(change: Any, seen: bool) -> None:
    STATE.clear()
    STATE.update({"rate": 2.0, "step": 0, "log": [], "inner": {"rate": 1.0}, 1: 1.0})
    f = nbfn.function(lambda x: half(x) * STATE["rate"] + STATE[1], autograph=False)
    for _ in range(2):
        f(ONE)
    change()
    assert float(f(ONE)) == float(half(ONE) * STATE["rate"] + STATE[1])
    assert (len(f.traces), f.hits) == ((2, 1) if seen else (1, 2))


def test_a_dictionary_that_is_read_otherwise_too_counts_as_a_whole() -> None:
    STATE.clear()
    STATE.update({"rate": 2.0, "step": 0})
    f = nbfn.function(lambda x: x * STATE["rate"] + len(STATE) + STATE.get("step"), autograph=False)
    f(ONE)
    STATE["step"] = 4
    assert float(f(ONE)) == 8.0
    g = nbfn.function(lambda x: x * STATE["rate"], autograph=False)
    g(ONE)
    STATE.pop("rate")
    with pytest.raises(KeyError):
        g(ONE)
    STATE["rate"] = 3.0
    assert float(g(ONE)) == 3.0
    assert g.retraces[-1].causes[0].path == "STATE['rate']"


@pytest.mark.parametrize("kind", [SimpleNamespace, argparse.Namespace])
def test_of_a_namespace_what_is_read(kind: Callable[..., Any]) -> None:
    settings = kind(rate=2.0, step=0, inner=kind(p=P()))
    f = nbfn.function(lambda x: x * settings.rate * settings.inner.p.k, autograph=False)
    for _ in range(3):
        f(ONE)
        settings.step += 1
    assert (len(f.traces), f.hits) == (1, 2)
    settings.rate = 3.0
    assert float(f(ONE)) == 6.0
    settings.inner.p.k = 3.0
    assert float(f(ONE)) == 9.0


def test_an_object_that_is_a_key_is_compared_with() -> None:
    class Key:
        def __init__(self, name: str) -> None:
            self.name = name

        def __hash__(self) -> int:
            return 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and self.name == other.name

    wanted, gains, chosen = Key("a"), {Key("b"): 3.0}, {Key("b")}

    @nbfn.function
    def scaled(x: Any) -> Any:
        return x * gains.get(wanted, 1.0) + (10.0 if chosen.issuperset([wanted]) else 0.0)

    assert scaled(ONE) == 1.0
    wanted.name = "b"
    assert scaled(ONE) == 13.0
    next(iter(gains)).name = "c"
    assert scaled(ONE) == 11.0


def test_an_item_that_a_default_dictionary_has_made_is_read() -> None:
    gains: defaultdict[str, float] = defaultdict(lambda: 2.0)

    @nbfn.function
    def scaled(x: Any) -> Any:
        return x * gains["rate"]

    assert [scaled(ONE) == 2.0 for _ in range(3)] == [True] * 3
    assert len(scaled.retraces) == 0
    gains["rate"] = 7.0
    assert scaled(ONE) == 7.0


def test_a_module_that_was_made_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ModuleType("made_by_hand")
    monkeypatch.setitem(sys.modules, "made_by_hand", made)
    made.GAIN = 1.0  # type: ignore[attr-defined]
    scaled = nbfn.function(lambda x: x * made.GAIN)
    assert scaled(ONE) == 1.0
    made.GAIN = 5.0  # type: ignore[attr-defined]
    assert scaled(ONE) == 5.0


def test_a_cause_shows_what_the_user_stored_in_a_named_tuple() -> None:
    class Settings(NamedTuple):
        rates: list[float]
        name: str

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.settings = Settings([1.0, 2.0], "a")

        @nbfn.function
        def scaled(self, x: Any) -> Any:
            return x * self.settings.rates[0]

    model = Model()
    model.scaled(ONE)
    model.settings = Settings([3.0, 2.0], "a")
    assert float(model.scaled(ONE)) == 3.0
    (cause,) = model.scaled.retraces[-1].causes
    assert cause.old == "Settings(rates=[1.0, 2.0], name='a')"
    assert cause.new == "Settings(rates=[3.0, 2.0], name='a')"
