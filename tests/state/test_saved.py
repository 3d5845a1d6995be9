"""Python state that is saved, compared and put back."""

from __future__ import annotations

import functools
from collections import UserDict
from types import SimpleNamespace
from typing import Any

from nbfn.state.helpers import with_helpers
from nbfn.state.saved import SavedState


class Slotted:
    __slots__ = ("count", "log")

    def __init__(self) -> None:
        self.count = 0
        self.log: list[int] = []


class Plain:
    def __init__(self) -> None:
        self.count = 0
        self.slotted = Slotted()
        self.table: UserDict[str, int] = UserDict(a=1)
        self.space = SimpleNamespace(n=1)


def saved(value: Any) -> SavedState:
    return SavedState((), {"value": value})


def test_attributes_of_all_kinds_are_put_back() -> None:
    value = Plain()
    state = saved(value)
    value.count = 3
    value.slotted.count = 4
    value.slotted.log.append(1)
    value.table["a"] = 2
    value.space.n = 5
    value.extra = 1  # type: ignore[attr-defined]
    assert set(state.changes()) >= {
        *("value.count", "value.extra", "value.slotted.count", "value.slotted.log"),
        *("value.table.data", "value.space.n"),
    }
    state.restore()
    assert state.changes() == {}
    assert (value.count, value.slotted.count, value.slotted.log) == (0, 0, [])
    assert (value.table["a"], value.space.n, hasattr(value, "extra")) == (1, 1, False)


def test_an_attribute_that_was_deleted_comes_back() -> None:
    value = Plain()
    state = saved(value)
    del value.count
    del value.slotted.count
    state.restore()
    assert (value.count, value.slotted.count) == (0, 0)


def test_helpers_are_found_through_partials_and_decorators() -> None:
    def inner(n: int) -> int:
        return n

    def decorated(n: int) -> int:
        return n + 1

    @functools.wraps(decorated)
    def wrapper(n: int) -> int:
        return decorated(n)

    bound = functools.partial(inner, 1)

    def outer() -> int:
        return bound() + wrapper(1)

    names = {each.__code__.co_name for each in with_helpers(outer)}
    assert names == {"outer", "inner", "wrapper", "decorated"}
