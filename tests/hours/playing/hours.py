"""What an hour is: named cells, and what a person does with them, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Expected:
    """What an action should show.

    Attributes:
        shows: Texts that nbfn shows somewhere; ``…`` stands for anything.
        hides: Texts that nbfn shows nowhere; ``…`` stands for anything.
        retraces: Number of retraces that the action makes.
        because: The causes of these retraces, each sentence once; ``…`` stands for anything.
        remedy: A text of one of their remedies.
        warns: A text of the warnings that nbfn gives; None for none.
        stale: The cells that are shown as to be run again; None for those before without what ran.
        raises: The type of the error that the last cell ends in; of two, that of plain Python and
            that of nbfn.
    """

    shows: Sequence[str] = ()
    hides: Sequence[str] = ()
    retraces: int = 0
    because: Sequence[str] | None = None
    remedy: str | None = None
    warns: str | None = None
    stale: Set[str] | None = None
    raises: str | tuple[str, str] | None = None


@dataclass(frozen=True)
class Action:
    """One thing that a person does.

    Attributes:
        verb: What is done.
        arguments: With what.
        expected: What should come of it.
        interrupt: A text: as soon as it is printed, the kernel is interrupted.
    """

    verb: str
    arguments: tuple[str, ...]
    expected: Expected = Expected()
    interrupt: str | None = None

    def __str__(self) -> str:
        return f"{self.verb}({', '.join(each.splitlines()[0][:40] for each in self.arguments)})"


def run(*cells: str, times: int = 1, interrupt: str | None = None, **expected: Any) -> Action:
    """Runs cells, one after another, so many times; what is expected is that of all together."""
    return Action("run", cells * times, _expected(expected), interrupt)


def run_all(**expected: Any) -> Action:
    """Runs all cells from the top."""
    return Action("run_all", (), _expected(expected))


def edit(cell: str, old: str, new: str) -> Action:
    """Replaces a text in a cell, which is not run."""
    return Action("edit", (cell, old, new))


def copy(cell: str, name: str) -> Action:
    """Copies a cell to a new one below it, which is not run."""
    return Action("copy", (cell, name))


def rename(old: str, new: str, *cells: str) -> Action:
    """Gives a function another name in some cells, which are not run."""
    return Action("rename", (old, new, *cells))


def beside(code: str, **expected: Any) -> Action:
    """Runs code in a cell that is used once."""
    return Action("beside", (code,), _expected(expected))


def ask(code: str, **expected: Any) -> Action:
    """Runs code in a cell that is used once, and only where nbfn is."""
    return Action("ask", (code,), _expected(expected))


def delete(name: str, **expected: Any) -> Action:
    """Deletes a name."""
    return Action("beside", (f"del {name}",), _expected(expected))


def write(file: str, text: str) -> Action:
    """Saves a file in the kernel's folder, as a helper module is saved in an editor."""
    return Action("write", (file, text))


def restart() -> Action:
    """Restarts the kernel."""
    return Action("restart", ())


def _expected(given: dict[str, Any]) -> Expected:
    for name in ("shows", "hides", "because"):
        if isinstance(given.get(name), str):
            given[name] = (given[name],)
    return Expected(**given)


@dataclass(frozen=True)
class Hour:
    """An hour in a notebook.

    Attributes:
        name: Its name.
        cells: The cells, by names that actions use, in the order of the notebook.
        actions: What is done.
        plainly: Texts of cells for the kernel without nbfn; empty for what only nbfn can do.
        rtol: How far floats may be from those of plain Python, relatively.
        traces: The most traces that a function may hold at the end.
        rows: The most retraces that are listed of a function at the end.
        uncompared: Names whose values are not compared.
    """

    name: str
    cells: Mapping[str, str]
    actions: Sequence[Action]
    plainly: Mapping[str, str] = field(default_factory=dict)
    rtol: float = 1e-4
    traces: int = 4
    rows: int = 10
    uncompared: Set[str] = frozenset()

    def __str__(self) -> str:
        return self.name
