"""What depends on what: stale traces, outdated cells, and what to run again."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.contents.cells import CellLog
from nbfn.sessions.dependencies import dependencies_of, name_of
from nbfn.site import Cell
from nbfn.views.pages import page_of


def log_of(*cells: str) -> CellLog:
    log = CellLog()
    for number, code in enumerate(cells, 1):
        log.note(Cell(str(number), number), code, {})
    return log


def outdated(log: CellLog) -> dict[str, list[str]]:
    return {f"{ran.cell.id}": names for ran in log if (names := log.outdated(ran))}


def test_what_cannot_be_compiled_has_not_run() -> None:
    assert list(log_of("return 1", "x =", "break")) == []


def test_a_cell_is_outdated_when_another_has_given_what_it_read() -> None:
    log = log_of("rate = 0.1", "x = rate * 2", "use(x)")
    assert outdated(log) == {}
    log.note(Cell("1", 4), "rate = 0.2", {})
    assert outdated(log) == {"2": ["rate"]}
    log.note(Cell("2", 5), "x = rate * 2", {})
    assert outdated(log) == {"3": ["x"]}


@pytest.mark.parametrize(
    ("given", "again", "is_outdated"),
    [
        ("import math as x", "import math as x", False),
        ("x = 0.1", "x = 0.1", False),
        ("x = [1, 2]", "x = [1, 2]", False),
        ("def x(): return 1", "def x(): return 1", False),
        ("x = 0.1", "x = 0.2", True),
        ("x = 1", "x = True", True),
        ("x = [1, 2]", "x = [1, 3]", True),
        ("def x(): return 1", "def x(): return 2", True),
        ("x = object.__new__(type('A', (), {}))", "x = object.__new__(type('A', (), {}))", True),
    ],
)
def test_a_value_given_again_makes_nothing_outdated(
    given: str, again: str, is_outdated: bool
) -> None:
    log, names = CellLog(), {"__name__": "__main__"}
    for number, code in enumerate([given, "y = [x]", "z = y", again], 1):
        exec(code, names)
        log.note(Cell(str(min(number, 4) % 4 or 1), number), code, names)
    assert outdated(log) == ({"2": ["x"]} if is_outdated else {})
    assert bool(dependencies_of([], log).run_again) == is_outdated


@pytest.mark.parametrize("code", ["x", "x[0]", "print(f'{x:.2f}', x * 2)", "x.summary()", "len(x)"])
def test_a_cell_that_only_shows_something_is_not_run_again(code: str) -> None:
    log = log_of("x = 1", code, f"y = {code}", "x = 2")
    assert outdated(log) == {"3": ["x"]}
    assert [cell.id for cell in dependencies_of([], log).run_again] == ["3"]


@pytest.mark.parametrize("code", ["step(x)", "print(step(x))", "model.fit(x)", "(y := x)"])
def test_a_cell_that_may_do_something_is_run_again(code: str) -> None:
    assert outdated(log_of("x = 1", code, "x = 2")) == {"2": ["x"]}


@pytest.mark.parametrize(
    "definition",
    [
        "def step(x):\n    return x * rate",
        "class step:\n    def run(self):\n        return rate",
        "def inner():\n    return [rate for _ in range(3)]\ndef step(x):\n    return inner()",
    ],
)
def test_what_is_read_through_a_function_counts_where_it_is_called(definition: str) -> None:
    log = log_of("rate = 0.1", definition, "step(1)", "rate = 0.2")
    calls = outdated(log)
    assert calls == {"3": ["rate"]}


def test_what_depends_on_an_outdated_cell_is_run_again_too() -> None:
    log = log_of("rate = 0.1", "step = lambda x: x * rate", "y = step(1)", "use(y)", "use(1)")
    assert dependencies_of([], log).run_again == ()
    log.note(Cell("1", 6), "rate = 0.2", {})
    again = dependencies_of([], log).run_again
    assert [cell.id for cell in again] == ["2", "3", "4"]


@pytest.mark.parametrize("code", ["x += 1", "for x in range(3): pass", "x = 1\nprint(x)"])
def test_what_a_cell_gives_itself_makes_it_not_outdated(code: str) -> None:
    assert outdated(log_of("x = 0", code)) == {}


@pytest.mark.parametrize(
    "code",
    [
        "x = 1\nprint(x)",
        "def x(): pass\nx()",
        "try: pass\nexcept ValueError as x: print(x)",
        "import x\nprint([x for _ in 'ab'])",
    ],
)
def test_what_a_cell_gives_before_it_reads_is_its_own(code: str) -> None:
    assert outdated(log_of(code, "x = 2")) == {}
    assert outdated(log_of("x = 0", f"print(x)\n{code}", "x = 2")) == {"2": ["x"]}


def test_imports_definitions_and_other_languages() -> None:
    log = log_of("import numpy as np", "def f(): pass", "class C: pass", "not (python", "f(np, C)")
    givers = {name: by.cell.id for name, by in log.givers(list(log)[-1]).items()}
    assert givers == {"np": "1", "f": "2", "C": "3"}


rate = 0.1


def test_a_stale_function_says_what_has_changed(monkeypatch) -> None:
    weight = tf.Variable(2.0)

    @nbfn.function
    def step(x: Any) -> Any:
        return x * rate * weight

    step(tf.ones([1]))
    log = log_of("rate = 0.1", "step(x)")
    (before,) = dependencies_of([("step", step)], log).functions
    assert (before.is_stale, before.values) == (False, ("rate", "weight"))
    assert before.variables == ("weight",)
    monkeypatch.setitem(globals(), "rate", 0.2)
    found = dependencies_of([("step", step)], log)
    (change,) = found.functions[0].changes
    assert change.sentence == "global `rate` was 0.1, is 0.2"
    assert name_of(change.given_by) == "In [1]"
    assert "global `rate` was 0.1, is 0.2" in repr(found)
    step(tf.ones([1]))
    assert not dependencies_of([("step", step)], log).functions[0].is_stale
    monkeypatch.setitem(globals(), "rate", 0.1)
    assert not dependencies_of([("step", step)], log).functions[0].is_stale


def test_nothing_is_stale_in_an_empty_session() -> None:
    found = dependencies_of([], CellLog())
    assert (repr(found), found.run_again) == ("nothing is stale", ())
    assert page_of(found).diagram is None
