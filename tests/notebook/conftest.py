"""A shell of its own for each test, with nbfn loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from nbfn.functions.segments.speed import SegmentTimes
from tests.harness.shells import bare_shell
from tests.programs.environments import HERE, OTHERS, Environment


@pytest.fixture(scope="module", params=(HERE, *OTHERS), ids=lambda each: each.name)
def environment(request: pytest.FixtureRequest) -> Environment:
    """Each Python and IPython that is there."""
    chosen: Environment = request.param
    if not chosen.is_there:
        pytest.skip(
            f"there is no {chosen.name} here: python tests/programs/environments.py --install"
        )
    return chosen


@dataclass
class Ran:
    """What a cell did."""

    result: Any
    displayed: list[Any]
    stdout: str

    @property
    def text(self) -> str:
        """Everything that it printed or displayed, as text."""
        return self.stdout + "".join(each.data.get("text/plain", "") for each in self.displayed)


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    with bare_shell() as made:
        made.run_cell("%load_ext nbfn").raise_error()
        made.run_cell("import tensorflow as tf").raise_error()
        yield made


@pytest.fixture
def run(shell: InteractiveShell) -> Callable[[str], Ran]:
    """Runs a cell; what it raises is raised here."""

    def run_(cell: str) -> Ran:
        with capture_output(display=True) as captured:
            result = shell.run_cell(cell, store_history=True)
        result.raise_error()
        return Ran(result.result, list(captured.outputs), captured.stdout)

    return run_


@pytest.fixture
def refused(shell: InteractiveShell) -> Callable[[str], str]:
    """Runs a cell that must fail, and returns all that the user sees of it."""

    def refused_(cell: str) -> str:
        with capture_output(display=True) as captured:
            result = shell.run_cell(cell, store_history=True)
        assert not result.success
        return re.sub(r"\x1b\[[0-9;]*m", "", str(captured.stdout) + str(captured.stderr))

    return refused_


MACHINERY = (
    "site-packages",
    "nbfn/functions",
    "nbfn/notebook",
    "nbfn/_tensorflow",
    "autograph",
    "run_cell_magic",
    "polymorphic",
)


def shown(text: str) -> list[str]:
    """The lines of code that an error points at."""
    assert [word for word in MACHINERY if word in text] == []
    return [" ".join(line[5:].split()) for line in text.splitlines() if line.startswith("---->")]


@pytest.fixture
def always_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever may be a graph is traced after its first run and stays one, however short it is."""
    monkeypatch.setattr(SegmentTimes, "misses_too_often", lambda self: self.misses >= 3)
    for name, answer in (
        ("is_worth_a_trace", True),
        ("amortizes_tracing", True),
        ("is_long", True),
        ("is_known_to_be_short", False),
        ("is_slower_as_graph", False),
        ("needs_sample", False),
    ):
        monkeypatch.setattr(SegmentTimes, name, lambda _, answer=answer: answer)
