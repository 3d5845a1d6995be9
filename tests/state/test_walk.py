"""A walk finds what code reads, also after its helpers are defined again."""

from __future__ import annotations

from typing import Any

import pytest

from nbfn.state.walk import Walk, state_of


def test_a_walk_begins_with_the_names_that_its_code_was_found_to_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(
        "class Part: a = 1.0\n"
        "class Whole: part = Part()\n"
        "part, whole = Part(), Whole()\n"
        "def read(each): return each.part.a\n"
        "def helper(): return read(whole)\n"
        "def root(): return helper()",
        space,
    )
    rounds: list[Walk] = []
    walk = Walk.walk

    def counted(self: Walk) -> None:
        rounds.append(self)
        walk(self)

    monkeypatch.setattr(Walk, "walk", counted)

    def names() -> set[str]:
        rounds.clear()
        return {source.name for source in state_of([("root", space["root"])]).fingerprints}

    first = names()
    assert "Part.a" in first
    assert len(rounds) > 1
    assert names() == first
    assert len(rounds) == 1
    exec("def helper(): return whole", space)
    assert "Part.a" not in names()
    exec("def helper(): return read(whole)", space)
    assert names() == first


def test_code_beyond_the_limits_is_walked_once_when_it_is_known(monkeypatch) -> None:
    numbers = range(600)
    lines = ["class Holder: pass", "a = Holder()"]
    lines += [f"def h{n}(): return {n}\na.a{n} = h{n}" for n in numbers]
    lines += [f"def g{n}(): return a.a{n}" for n in numbers]
    lines += [f"def every(): return [{', '.join(f'g{n}' for n in numbers)}]"]
    space: dict[str, Any] = {"__name__": "__main__"}
    exec("\n".join([*lines, "def f(): return a, every()"]), space)
    state_of([("f", space["f"])])
    walks = []
    whole = Walk.walk
    monkeypatch.setattr(Walk, "walk", lambda self: walks.append(whole(self)))  # type: ignore[func-returns-value]
    state_of([("f", space["f"])])
    assert len(walks) == 1
