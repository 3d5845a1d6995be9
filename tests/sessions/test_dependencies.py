"""What depends on what: stale traces, outdated cells, and what to run again."""

from __future__ import annotations

import contextlib
import gc
import weakref
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.contents.cells import CellLog
from nbfn.sessions.dependencies import dependencies_of, name_of
from nbfn.site import Cell
from nbfn.views.shown import page_of


class Notebook:
    """Cells that run, and what is noted of them."""

    def __init__(self, *cells: str) -> None:
        self.log = CellLog()
        self.names: dict[str, Any] = {"__name__": "__main__", "use": lambda *_: None}
        self.count = 0
        for code in cells:
            self.run(code)

    def run(self, code: str, id: str | None = None) -> None:
        self.count += 1
        cell = Cell(id or str(self.count), self.count)
        self.log.begin(cell, code, self.names)
        with contextlib.suppress(Exception):
            exec(code, self.names)
        self.log.note(cell, code, self.names)

    def outdated(self) -> dict[str, list[str]]:
        return {f"{ran.cell.id}": names for ran in self.log if (names := self.log.outdated(ran))}

    def again(self) -> list[str | None]:
        return [cell.id for cell in dependencies_of([], self.log).run_again]


def test_what_cannot_be_compiled_has_not_run() -> None:
    assert list(Notebook("return 1", "x =", "break").log) == []


def test_a_cell_is_outdated_when_another_has_given_what_it_read() -> None:
    notebook = Notebook("rate = 0.1", "x = rate * 2", "use(x)")
    assert notebook.outdated() == {}
    notebook.run("rate = 0.2", "1")
    assert notebook.outdated() == {"2": ["rate"]}
    assert notebook.again() == ["2", "3"]
    notebook.run("x = rate * 2", "2")
    assert notebook.outdated() == {"3": ["x"]}
    notebook.run("x = 0.2")  # it has read this value
    assert notebook.again() == []


def test_a_cell_is_outdated_when_a_value_has_changed_in_place() -> None:
    notebook = Notebook("x = [1, 2]", "y = sum(x)", "x.append(3)")
    assert notebook.outdated() == {"2": ["x"]}
    notebook.run("x.pop()")
    assert notebook.outdated() == {}


@pytest.mark.parametrize(
    ("given", "again", "is_outdated"),
    [
        ("import math as x", "import math as x", False),
        ("x = 0.1", "x = 0.1", False),
        ("x = [1, 2]", "x = [1, 2]", False),
        ("def x(): return 1", "def x(): return 1", False),
        ("class x:\n    n = 1", "class x:\n    n = 1", False),
        ("x = 0.1", "x = 0.2", True),
        ("x = 1", "x = True", True),
        ("x = [1, 2]", "x = [1, 3]", True),
        ("def x(): return 1", "def x(): return 2", True),
        ("class x:\n    n = 1", "class x:\n    n = 2", True),
        ("x = object.__new__(type('A', (), {}))", "x = object.__new__(type('A', (), {}))", True),
        ("x = 0.1", "del x", True),
    ],
)
def test_a_value_given_again_makes_nothing_outdated(
    given: str, again: str, is_outdated: bool
) -> None:
    notebook = Notebook(given, "y = [x]", "z = y")
    notebook.run(again, "1")
    assert notebook.outdated() == ({"2": ["x"]} if is_outdated else {})
    assert bool(notebook.again()) == is_outdated


@pytest.mark.parametrize("code", ["x", "x[0]", "print(f'{x:.2f}', x * 2)", "x.summary()", "len(x)"])
def test_a_cell_that_only_shows_something_is_not_run_again(code: str) -> None:
    assert Notebook("x = 1", code, f"y = {code}", "x = 2").again() == ["3"]


@pytest.mark.parametrize("code", ["step(x)", "print(step(x))", "model.fit(x)", "(y := x)"])
def test_a_cell_that_may_do_something_is_run_again(code: str) -> None:
    assert Notebook("x = 1", code, "x = 2").outdated() == {"2": ["x"]}


@pytest.mark.parametrize(
    ("definition", "call"),
    [
        ("def step(x):\n    return x * rate", "step(1)"),
        ("class Run:\n    def go(self):\n        return rate", "Run().go()"),
        ("def inner():\n    return [rate for _ in 'ab']\ndef step():\n    inner()", "step()"),
    ],
)
def test_what_is_read_through_a_function_counts_where_it_is_called(
    definition: str, call: str
) -> None:
    notebook = Notebook("rate = 0.1", definition, call, f"{definition}\n{call}", "rate = 0.2")
    assert notebook.outdated() == {"3": ["rate"], "4": ["rate"]}


def test_who_makes_an_object_does_not_read_what_its_methods_read() -> None:
    world = "class World:\n    def __call__(self):\n        return limit"
    assert Notebook("limit = 6", world, "world = World()", "world()", "limit = 9").again() == ["4"]


def test_what_a_stale_cell_only_defines_stays_as_it_is() -> None:
    step = "def step():\n    return rate\nfirst = step()"
    notebook = Notebook("rate = 1", step, "step()", "use(first)", "rate = 2")
    notebook.run("step()", "3")
    assert notebook.again() == ["2", "4"]


def test_a_cell_does_not_depend_on_what_it_changes_itself() -> None:
    notebook = Notebook("kept = []", "kept.append(len(kept))\nuse(kept)", "kept.append(5)")
    assert notebook.again() == []
    notebook.run("kept = []", "1")
    assert notebook.again() == ["2", "3"]


def test_who_sets_something_reads_only_in_which_object() -> None:
    make = "class Run:\n    pass\nrun = Run()"
    notebook = Notebook(make, "run.rate = 1", "run.size = 2", "use(run.rate)", "run.rate = 3")
    assert notebook.again() == ["4"]
    notebook.run(make, "1")
    assert notebook.again() == ["2", "3", "4", "5"]


def test_nothing_that_was_read_is_kept_alive() -> None:
    notebook = Notebook("class A: pass", "a = {'b': [A()]}", "use(a, a['b'])")
    held = weakref.ref(notebook.names["a"]["b"][0])
    notebook.run("del a")
    gc.collect()
    assert held() is None
    assert notebook.again() == ["3"]


def test_what_depends_on_an_outdated_cell_is_run_again_too() -> None:
    cells = ("rate = 0.1", "step = lambda x: x * rate", "y = step(1)", "use(y)", "use(1)")
    notebook = Notebook(*cells)
    assert notebook.again() == []
    notebook.run("rate = 0.2", "1")
    assert notebook.again() == ["2", "3", "4"]


@pytest.mark.parametrize("code", ["x += 1", "for x in range(3): pass", "x = 1\nprint(x)"])
def test_what_a_cell_gives_itself_makes_it_not_outdated(code: str) -> None:
    assert Notebook("x = 0", code).outdated() == {}


@pytest.mark.parametrize(
    "code",
    [
        "x = 1\nprint(x)",
        "def x(): pass\nx()",
        "try: pass\nexcept ValueError as x: print(x)",
        "from math import pi as x\nuse([x for _ in 'ab'])",
    ],
)
def test_what_a_cell_gives_before_it_reads_is_its_own(code: str) -> None:
    assert Notebook(code, "x = 2").outdated() == {}
    assert Notebook("x = 0", f"print(x)\n{code}", "x = 2").outdated() == {"2": ["x"]}


def test_imports_definitions_and_other_languages() -> None:
    cells = ("import numpy as np", "def f(): pass", "class C: pass", "not (python", "use(np, f, C)")
    log = Notebook(*cells).log
    assigners = {name: by.cell.id for name, by in log.assigners(list(log)[-1]).items()}
    assert assigners == {"np": "1", "f": "2", "C": "3"}


def test_of_many_cells_and_changes_some_are_reported() -> None:
    names = [f"x{i}" for i in range(5)]
    notebook = Notebook("\n".join(f"{name} = 0" for name in names), f"y = {'+'.join(names)}")
    for i in range(20):
        notebook.run(f"y{i} = y")
    notebook.run("\n".join(f"{name} = 1" for name in names), "1")
    first, last = repr(dependencies_of([], notebook.log)).splitlines()
    assert first == "In [2] has read x0, x1, x2, 2 more, which has changed"
    assert last.startswith("run again: In [2], In [3], ")
    assert last.endswith("In [13], 9 more")


rate = 0.1


def test_a_stale_function_says_what_has_changed(monkeypatch) -> None:
    weight = tf.Variable(2.0)

    @nbfn.function
    def step(x: Any) -> Any:
        return x * rate * weight

    step(tf.ones([1]))
    log = Notebook("rate = 0.1", "step(x)").log
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
