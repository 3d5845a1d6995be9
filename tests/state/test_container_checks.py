"""Checks notice each change of a container, and what is at the address of a dead object."""

from __future__ import annotations

import copy
import functools
import gc
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfn.state.columns import IdentityCheck, in_columns
from nbfn.state.container_checks import container_check
from nbfn.state.values.fingerprints import content_of
from nbfn.state.values.introspection import member, reference_to

PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-3, 300), st.floats(), st.text(max_size=2))
NESTED = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=1), inner, max_size=3),
        st.builds(lambda: np.zeros(2)),
    ),
    max_leaves=8,
)


class Thing:
    pass


@settings(deadline=None)
@given(st.lists(NESTED, min_size=1, max_size=3), NESTED, st.data())
def test_a_change_anywhere_is_noticed(value: list[Any], other: Any, data: st.DataObject) -> None:
    before = content_of(value)
    check = container_check(value, lambda: value, before)
    assert check is not None
    assert check()
    place: Any = value
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        inner = place[key]
        if not (isinstance(inner, (list, dict)) and inner and data.draw(st.booleans())):
            break
        place = inner
    if isinstance(inner, np.ndarray):
        inner[0] = 1.0
    else:
        place[key] = copy.deepcopy(other)
    assert check() == (content_of(value) == before)


def test_an_equal_object_at_the_address_of_a_dead_one() -> None:
    value = [Thing()]
    check = container_check(value, lambda: value, content_of(value))
    assert check is not None
    address, others = id(value[0]), []
    value.clear()
    while id(found := Thing()) != address:
        others.append(found)
    value.append(found)
    assert not check()


def test_a_check_keeps_no_object_alive() -> None:
    owner = Thing()
    owner.part, owner.rate, owner.parts = Thing(), 2.0, [Thing()]  # type: ignore[attr-defined]
    holder = reference_to(owner)
    assert holder is not None
    part, inner = reference_to(owner.part), reference_to(owner.parts[0])  # type: ignore[attr-defined]
    assert part is not None
    assert inner is not None
    rate, found = (functools.partial(member, holder, name) for name in ("rate", "part"))
    checks = in_columns([IdentityCheck(rate, rate()), IdentityCheck(found, found(), is_weak=True)])
    assert len(checks) == 1
    fetch = functools.partial(member, holder, "parts")
    check = container_check(owner.parts, fetch, content_of(owner.parts))  # type: ignore[attr-defined]
    assert check is not None
    checks.append(check)
    assert all(check() for check in checks)
    owner.part = Thing()  # type: ignore[attr-defined]
    assert part() is None
    assert [check() for check in checks] == [False, True]
    del owner
    gc.collect()
    assert inner() is None
    assert not any(check() for check in checks)


def test_a_table_of_dispatched_types() -> None:
    kinds = [type("Kind", (), {}) for _ in range(3)]
    table: dict[Any, Any] = {(kinds[0], int): len, kinds[1]: abs, ("a", 1): None}
    check = container_check(table, lambda: table, content_of(table))
    assert check is not None
    assert check()
    table[kinds[0], float] = table.pop((kinds[0], int))
    assert not check()
    table[kinds[0], int] = table.pop((kinds[0], float))
    assert not check()  # in another order
    pairs: dict[Any, Any] = {("a", "b"): 1, "c": 2}
    check = container_check(pairs, lambda: pairs, content_of(pairs))
    assert check is not None
    pairs = {"a": 1, ("b", "c"): 2}
    assert not check()
    assert (
        container_check({Thing(): 1}, lambda: table, None) is None
    )  # its keys may have an `__eq__`
