"""Columns hold exactly as long as all checks hold that are in them."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nbfn.state.columns import (
    AnyCheck,
    BuiltinsCheck,
    CodeCheck,
    IdentityCheck,
    NamesCheck,
    _or_each,
    in_columns,
)
from nbfn.state.values.introspection import closed_over, member
from nbfn.state.walk import state_of

SOURCE = """
class Base: rate = 2.0
class Thing(Base):
    scale = 3.0
    def total(self): return self.rate * self.scale
def double(x, by=2.0): return x * by
def decorated(x): return x
decorated.label = "d"
def closing():
    inner, rate = Thing(), 2.0
    def closed(x): return x * rate, inner
    def set_both(new, other):
        nonlocal inner, rate
        inner, rate = new, other
    return closed, set_both
closed, set_both = closing()
thing, other, number = Thing(), Thing(), 1.0
thing.part, thing.size = Thing(), 5
full, empty = Thing(), Thing()
full.unused = 1.0
"""


@pytest.fixture
def space() -> Any:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SOURCE, names)
    return SimpleNamespace(names=names, **names)


def checks_in(space: Any) -> list[AnyCheck]:
    """Returns checks of all kinds that columns have."""
    names = space.names
    found: list[AnyCheck] = [
        IdentityCheck(functools.partial(names.get, name, None), names[name], is_weak=is_weak)
        for name, is_weak in (("number", False), ("thing", True), ("double", True))
    ]
    for owner, name, is_weak in (
        *((space.thing, "part", True), (space.thing, "size", False)),
        *((space.Thing, "scale", False), (space.Base, "rate", False), (space.Thing, "total", True)),
    ):
        fetch = functools.partial(member, weakref.ref(owner), name)
        found.append(IdentityCheck(fetch, fetch(), is_weak=is_weak))
    for i, is_weak in ((0, True), (1, False)):
        fetch = functools.partial(closed_over, weakref.ref(space.closed), i)
        found.append(IdentityCheck(fetch, fetch(), is_weak=is_weak))
    for function in (space.double, space.decorated, space.closed):
        arguments = (function.__code__, function.__defaults__, frozenset({"rate"}))
        found.append(CodeCheck(weakref.ref(function), *arguments))
    for owner, cls, is_all in (
        *((space.thing, space.Thing, False), (space.other, space.Thing, True)),
        *((space.full, space.Thing, True), (space.empty, space.Thing, True)),
        *((space.Thing, None, False), (space.Base, None, True)),
    ):
        own = frozenset(vars(owner))
        absent = own if is_all else frozenset({"rate", "depth"}) - own
        kind = cls and weakref.ref(cls)
        found.append(NamesCheck(weakref.ref(owner), absent, kind, is_all))
    found += [BuiltinsCheck(names, frozenset(each)) for each in ({"len"}, {"sum", "len"})]
    return 2 * found  # no column is for a few checks


def reorder(space: Any) -> None:
    rate = space.Base.rate
    del space.Base.rate
    space.Base.rate = rate


CHANGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda space: space.names.update(unused=1.0),
    "a global": lambda space: space.names.update(number=1.5),
    "an equal global": lambda space: space.names.update(number=float("1.0")),
    "a deleted global": lambda space: space.names.pop("number"),
    "an object": lambda space: space.names.update(thing=space.Thing()),
    "an attribute": lambda space: setattr(space.thing, "size", 6),
    "a deleted attribute": lambda space: delattr(space.thing, "part"),
    "an attribute that hides one": lambda space: setattr(space.thing, "rate", 1.0),
    "an attribute that is not read": lambda space: setattr(space.thing, "unused", 1.0),
    "any attribute": lambda space: setattr(space.other, "unused", 1.0),
    "an attribute of a class": lambda space: setattr(space.Thing, "scale", 4.0),
    "another one of a class": lambda space: setattr(space.Thing, "depth", 4.0),
    "one of a class that is not read": lambda space: setattr(space.Thing, "unused", 4.0),
    "any of a class": lambda space: setattr(space.Base, "unused", 4.0),
    "the same attributes in another order": reorder,
    "an attribute of another object": lambda space: vars(space.empty).update(
        unused=vars(space.full).pop("unused")
    ),
    "another class": lambda space: setattr(space.other, "__class__", space.Base),
    "a closed-over number": lambda space: space.set_both(space.closed(0)[1], 3.0),
    "a closed-over object": lambda space: space.set_both(space.Thing(), space.closed(1.0)[0]),
    "code": lambda space: setattr(space.double, "__code__", (lambda x, by: x).__code__),
    "defaults": lambda space: setattr(space.double, "__defaults__", (2,)),
    "an array as default": lambda space: setattr(space.double, "__defaults__", (np.ones(2),)),
    "an attribute of a function": lambda space: setattr(space.double, "rate", 1.0),
    "one that is not read": lambda space: setattr(space.double, "unused", 1.0),
    "one of a decorated function": lambda space: setattr(space.decorated, "rate", 1.0),
    "a builtin": lambda space: space.names.update(sum=max),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_column_holds_as_its_checks_do(space: Any, change: str) -> None:
    checks = checks_in(space)
    columns = in_columns(checks)
    assert len(columns) == 6
    assert all(column() for column in columns)
    CHANGES[change](space)
    assert all(column() for column in columns) == all(check.holds() for check in checks)


def test_a_value_that_died() -> None:
    class Thing:
        pass

    namespace = {"value": Thing()}
    fetch = functools.partial(namespace.get, "value")
    (check,) = in_columns([IdentityCheck(fetch, fetch(), is_weak=True)])
    address, others = id(namespace.pop("value")), []
    while id(found := Thing()) != address:
        others.append(found)
    namespace["value"] = found
    assert not check()


def test_columns_keep_no_object_alive(space: Any) -> None:
    module = ModuleType("by_hand")
    exec(SOURCE, vars(module))
    references = [weakref.ref(getattr(module, n)) for n in ("thing", "Thing", "double", "closed")]
    columns = in_columns(checks_in(SimpleNamespace(names=vars(module), **vars(module))))
    vars(module).clear()
    gc.collect()
    assert [reference() for reference in references] == [None] * 4
    assert [column() for column in columns].count(True) == 1  # that no builtin is hidden


class Sample:
    def __init__(self, value: float) -> None:
        self.value = value


samples = [Sample(float(i)) for i in range(10)]


def test_columns_of_what_is_unchanged_decide_by_themselves() -> None:
    state = state_of([("total", lambda: sum(each.value for each in samples))])
    columns: list[Any] = [each for each in state.checks if getattr(each, "func", None) is _or_each]
    assert columns
    assert all(is_same() for is_same, _ in (each.args for each in columns))
