"""The record of one `nbfn run`: what the report and the exit code are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbfn.command.known import Known
from nbfn.command.outcome import Exit


@dataclass
class CellRun:
    """One code cell of the notebook.

    Attributes:
        number: Its number among the code cells that are run, from 1.
        source: Its text.
        execution_count: The n of ``In [n]``; None as long as it has not run.
        seconds: What it took; None as long as it has not ended.
        allowed_error: The error that its tag `raises-exception` allowed, if it raised one.
    """

    number: int
    source: str
    execution_count: int | None = None
    seconds: float | None = None
    allowed_error: str | None = None

    @property
    def title(self) -> str:
        """What stands for it: its first line with code, after the magic if it has one."""
        lines = [line.strip() for line in self.source.splitlines() if line.strip()]
        code = [line for line in lines if not line.startswith("#")] or lines
        return " ".join(code[: 2 if code[0].startswith("%%") else 1])

    @property
    def label(self) -> str:
        """Such as ``In [3]``; the number of the cell where the kernel gave it none."""
        if self.execution_count is None:
            return f"cell {self.number}"
        return f"In [{self.execution_count}]"


@dataclass
class Failure:
    """Why a run ended before the notebook did; or what was asked for and does not hold.

    Attributes:
        exit: The reason.
        sentence: What happened, in one line.
        cell: The cell, if one ran.
        details: The traceback, or the last words of a kernel that died; without colours.
    """

    exit: Exit
    sentence: str
    cell: CellRun | None = None
    details: str = ""

    @property
    def text(self) -> str:
        """The sentence, with the cell that it is about."""
        return self.sentence if self.cell is None else f"{self.cell.label}: {self.sentence}"


@dataclass
class Record:
    """What one run of a notebook did.

    Attributes:
        notebook: The notebook's file.
        kernel: The name of its kernel.
        max_retraces: The budget, if there is one.
        cells: The code cells.
        known: What the kernel has told.
        failure: Why it ended early, if it did.
        export: What was exported, as the agent says it; None if nothing was asked for.
        export_path: Where the export was to go, if one was asked for.
        problems: What was asked for and does not hold, although the notebook ran to its end.
        seconds: What everything took.
        nbfn: The version of nbfn in the kernel.
    """

    notebook: Path
    kernel: str
    max_retraces: int | None = None
    cells: list[CellRun] = field(default_factory=list)
    known: Known = field(default_factory=Known)
    failure: Failure | None = None
    export: Mapping[str, Any] | None = None
    export_path: Path | None = None
    problems: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    nbfn: str = ""

    @property
    def exit(self) -> Exit:
        """The exit code: of several reasons the first."""
        if self.failure is not None:
            return self.failure.exit
        return self.problems[0].exit if self.problems else Exit.SUCCESS
