"""The record of one `nbfn run`, from which the report and the exit code are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbfn.command.collected import CollectedRecords
from nbfn.command.outcome import Exit


@dataclass
class NotebookCell:
    """One code cell of the notebook.

    Attributes:
        number: Its number among the code cells that are run, from 1.
        source: Its text.
        execution_count: The n of ``In [n]``; None before it has run.
        seconds: Its duration; None before it has ended.
        allowed_error: The error that its tag `raises-exception` allowed, if one was raised.
    """

    number: int
    source: str
    execution_count: int | None = None
    seconds: float | None = None
    allowed_error: str | None = None

    @property
    def title(self) -> str:
        """Its first line of code; after a cell magic, with the magic."""
        lines = [line.strip() for line in self.source.splitlines() if line.strip()]
        code = [line for line in lines if not line.startswith("#")] or lines
        return " ".join(code[: 2 if code[0].startswith("%%") else 1])

    @property
    def label(self) -> str:
        """Such as ``In [3]``; the cell's number if it has no execution count."""
        if self.execution_count is None:
            return f"cell {self.number}"
        return f"In [{self.execution_count}]"


@dataclass
class NotebookFailure:
    """Why a run ended early, or a requirement that was not met.

    Attributes:
        exit: The exit code.
        sentence: What happened, in one line.
        cell: The cell, if one was running.
        details: The traceback, or the last lines of a kernel that died; without colours.
    """

    exit: Exit
    sentence: str
    cell: NotebookCell | None = None
    details: str = ""

    @property
    def text(self) -> str:
        """The sentence, with the cell."""
        return self.sentence if self.cell is None else f"{self.cell.label}: {self.sentence}"


@dataclass
class NotebookRun:
    """The results of one run of a notebook.

    Attributes:
        notebook: The notebook's file.
        kernel: The name of its kernel.
        max_retraces: The maximum number of retraces, if given.
        cells: The code cells.
        collected: The records sent by the kernel.
        failure: Why it ended early, if it did.
        export: The agent's answer to the export; None if not requested.
        export_path: Target of the export, if requested.
        problems: Requirements that were not met although the notebook ran to its end.
        seconds: Duration of the whole run.
        nbfn: The version of nbfn in the kernel.
    """

    notebook: Path
    kernel: str
    max_retraces: int | None = None
    cells: list[NotebookCell] = field(default_factory=list)
    collected: CollectedRecords = field(default_factory=CollectedRecords)
    failure: NotebookFailure | None = None
    export: Mapping[str, Any] | None = None
    export_path: Path | None = None
    problems: list[NotebookFailure] = field(default_factory=list)
    seconds: float = 0.0
    nbfn: str = ""

    @property
    def exit(self) -> Exit:
        """The exit code of the first reason."""
        if self.failure is not None:
            return self.failure.exit
        return self.problems[0].exit if self.problems else Exit.SUCCESS
